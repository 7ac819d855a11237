// Package commands has one file per use case. A command loads what it decides on,
// asks the domain and appends what the domain says; it knows nothing of HTTP and
// reads no read model, because those lag.
package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hecate/domain/clock"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/secret"
	"hecate/domain/task"
	"hecate/domain/trace"
	"hecate/eventstore"
)

// triesMax is how often a command is decided anew after losing a race. A run that
// works hard appends every few milliseconds, and a cancel must still get through.
const triesMax = 25

// Executor carries out commands. Only it appends to the log.
type Executor struct {
	Store    eventstore.Store
	Clock    clock.Clock
	NewID    func() [16]byte // event ids, UUIDv7
	NewSalt  func() [16]byte
	Policies []permission.Policy // what waits for a person on this server
	// ModelCallsMax bounds the model calls of one run in the runtime posture, RoundsMax
	// of one in the levels posture; 0 there is the constant of that name.
	ModelCallsMax int64
	RoundsMax     int64
	// Secrets are what must not get into the log; nil: nothing.
	Secrets *secret.Set
	// LevelsForbidden refuses tasks that want the levels posture.
	LevelsForbidden bool
}

// Meta says who wants a command and in which request.
type Meta struct {
	Actor     eventstore.Actor
	CommandID string // makes a repeated command harmless; may be empty
	RequestID string
	Trace     string        // W3C traceparent, may be empty
	Carried   trace.Carried // what the caller's trace brings along

	causedBy int64 // position of the newest event that was decided on, 0 if there was none
}

// dueTo is m of a decision about a stream as it was at a position.
func (m Meta) dueTo(position int64) Meta {
	m.causedBy = position
	return m
}

// TaskStream, RunStream and ExternalStream name the streams of a task, of a run and
// of what callers add to a run.
func TaskStream(id string) string     { return "task-" + id }
func RunStream(id string) string      { return "run-" + id }
func ExternalStream(id string) string { return "external-" + id }

// readPage is how many records one read of a stream asks for.
const readPage = 1000

// Load reads a stream's events after the given version, texts included.
func (x *Executor) Load(ctx context.Context, stream string, after int64, each func(event.Event)) error {
	return x.read(ctx, stream, after, x.fetch(ctx), each)
}

// read is Load with a choice: without fetch, texts in blobs stay references.
func (x *Executor) read(ctx context.Context, stream string, after int64, fetch event.Fetch, each func(event.Event)) error {
	for {
		recs, err := x.Store.ReadStream(ctx, stream, after, readPage)
		if err != nil {
			return fmt.Errorf("read %s: %w", stream, err)
		}
		for _, r := range recs {
			p, err := event.Decode(r.Type, r.Schema, r.Data, fetch)
			if err != nil {
				return fmt.Errorf("read %s at version %d: %w", stream, r.Version, err)
			}
			_, withheld := event.SplitWithheld(r.Data)
			each(event.Event{ID: r.ID, Position: r.Position, Version: r.Version, At: r.At, Payload: p, Withheld: withheld})
			after = r.Version
		}
		if len(recs) < readPage {
			return nil
		}
	}
}

func (x *Executor) fetch(ctx context.Context) event.Fetch {
	return func(r event.Ref) ([]byte, error) { return x.Store.Blob(ctx, r.Digest) }
}

// LoadRun folds a run with the whole conversation that its model is sent, inherited
// messages included. A run without events is a not-found fault.
func (x *Executor) LoadRun(ctx context.Context, id string) (*run.State, error) {
	s, err := x.foldRun(ctx, id)
	if err != nil || len(s.Inherited) == 0 {
		return s, err
	}
	inherited, err := x.messages(ctx, s.Inherited)
	if err != nil {
		return nil, fmt.Errorf("load what run %s inherits: %w", id, err)
	}
	s.Conversation = append(inherited, s.Conversation...)
	return s, nil
}

// foldRun folds a run's own events, texts included.
func (x *Executor) foldRun(ctx context.Context, id string) (*run.State, error) {
	s := run.New(id)
	if err := x.Load(ctx, RunStream(id), 0, s.Apply); err != nil {
		return nil, err
	}
	if s.Version == 0 {
		return nil, fault.NotFound("not_found", "task run not found")
	}
	return &s, nil
}

// messages reads what stands in other runs' streams.
func (x *Executor) messages(ctx context.Context, segments []run.Segment) ([]run.Message, error) {
	var out []run.Message
	for _, seg := range segments {
		if len(seg.Versions) == 0 {
			continue
		}
		next := 0 // in seg.Versions
		err := x.Load(ctx, RunStream(seg.RunID), seg.Versions[0]-1, func(e event.Event) {
			if next < len(seg.Versions) && e.Version == seg.Versions[next] {
				out = append(out, run.MessagesOf(e.Payload)...)
				next++
			}
		})
		if err != nil {
			return nil, err
		}
		if next < len(seg.Versions) {
			return nil, fmt.Errorf("run %s has no event at version %d", seg.RunID, seg.Versions[next])
		}
	}
	return out, nil
}

// outline folds a run without the texts that stand in blobs: enough to decide on its
// end or on an approval. Called again it adds what has happened since.
func (x *Executor) outline(ctx context.Context, s *run.State) error {
	if err := x.read(ctx, RunStream(s.ID), s.Version, nil, s.Apply); err != nil {
		return err
	}
	if s.Version == 0 {
		return fault.NotFound("not_found", "task run not found")
	}
	return nil
}

// loadTask folds a task and returns its version; a missing one has version 0.
func (x *Executor) loadTask(ctx context.Context, id string) (task.State, int64, error) {
	var s task.State
	var version int64
	err := x.Load(ctx, TaskStream(id), 0, func(e event.Event) {
		s.Apply(e)
		version = e.Version
	})
	return s, version, err
}

// part is what one command adds to one stream.
type part struct {
	stream   string
	expected int64
	work     eventstore.Work
	epoch    int64         // of the worker's claim, 0 for everybody else
	events   []event.Event // in order; versions are given here if the stream's is known
}

// now numbers payloads that happen at this moment.
func (x *Executor) now(expected int64, payloads ...event.Payload) []event.Event {
	at := x.Clock.Now()
	out := make([]event.Event, len(payloads))
	for i, p := range payloads {
		out[i] = x.Withhold(event.Event{Version: expected + int64(i) + 1, At: at, Payload: p})
	}
	return out
}

// Withhold returns an event as it may be recorded: without the secrets in its payload. Who
// folds an event before it is appended has to fold this one. An append sees to it for all
// that comes to it.
func (x *Executor) Withhold(e event.Event) event.Event {
	if x.Secrets == nil {
		return e
	}
	return e.Without(x.Secrets.Withhold)
}

// append makes the parts durable in one atomic batch.
func (x *Executor) append(ctx context.Context, m Meta, parts ...part) (eventstore.Appended, error) {
	return x.appendBatch(ctx, m, nil, parts...)
}

// appendBatch is append with something that is taken away in the same batch.
func (x *Executor) appendBatch(ctx context.Context, m Meta, erase *eventstore.Erasure, parts ...part) (eventstore.Appended, error) {
	m.Actor.Name, _ = x.Secrets.Withhold(m.Actor.Name) // a client may call itself anything
	b := eventstore.Batch{CommandID: m.CommandID, Actor: m.Actor, CausedBy: m.causedBy, Trace: m.Trace, Erase: erase}
	for _, p := range parts {
		if _, names := x.Secrets.Withhold(p.stream); len(names) > 0 {
			return eventstore.Appended{}, fault.Invalid("invalid_request", "the id holds the secret %s of the server; choose another one", strings.Join(names, ", "))
		}
		sa := eventstore.StreamAppend{Stream: p.stream, Expected: p.expected, Work: p.work, Epoch: p.epoch}
		for _, e := range p.events {
			enc, err := x.Withhold(e).Encode(x.NewSalt)
			if err != nil {
				return eventstore.Appended{}, err
			}
			id := e.ID
			if id == [16]byte{} {
				id = x.NewID()
			}
			sa.Events = append(sa.Events, eventstore.Event{
				ID: id, Type: enc.Type, Schema: enc.Schema, At: e.At, Data: enc.Data, Salt: x.NewSalt(), Blobs: enc.Blobs,
			})
		}
		b.Streams = append(b.Streams, sa)
	}
	return x.Store.Append(ctx, b)
}

// retry decides anew as long as somebody else was faster, a bounded number of times.
func retry[T any](ctx context.Context, decide func() (T, error)) (T, error) {
	var out T
	var err error
	for range triesMax {
		out, err = decide()
		var lost *eventstore.ConflictError
		if !errors.As(err, &lost) || ctx.Err() != nil {
			return out, err
		}
	}
	return out, fault.Conflict("conflict", "others kept changing the same thing; try again")
}
