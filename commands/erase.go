package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hecate/domain/erasure"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// EraseRequest says whose content is to be erased: that of a task with all its runs, of one
// run, or of single records.
type EraseRequest struct {
	TaskID     string
	RunID      string
	Operations []string // ids of operations on the workspaces of the task or run, which stand in streams of their own
	Positions  []int64  // of single records of tasks, runs, operations or callers, ascending
	Reason     string   // what to tell those who find it missing; a request needs one
	Policy     string   // of retention: its name; "" if somebody has asked
}

// EraseResult says what was erased.
type EraseResult struct {
	Erasures []int64 // positions of the records that say so; none if nothing was left to erase
	Records  int
	Contents int // large ones
	Position int64
}

// Erase takes away what records say and leaves that they were there. Nothing is erased of a run
// that goes on. What was erased before is passed over, so that a repeated request does no harm.
func (x *Executor) Erase(ctx context.Context, m Meta, q EraseRequest) (EraseResult, error) {
	rule := erasure.RuleRequest
	if q.Policy != "" {
		rule = erasure.RuleRetention
	} else if strings.TrimSpace(q.Reason) == "" {
		return EraseResult{}, fault.Invalid("invalid_request", "an erasure needs a reason: it stands in the log instead of what was there")
	}
	if len(q.Reason) > erasure.ReasonMax {
		return EraseResult{}, fault.Invalid("invalid_request", "the reason has %d bytes, at most %d", len(q.Reason), erasure.ReasonMax)
	}
	m.CommandID = "" // each piece is an append of its own; to repeat an erasure does no harm anyway
	e := eraser{x: x, q: q, owners: map[string]string{}, event: erasure.Erased{Rule: rule, Policy: q.Policy, Reason: q.Reason, Subject: q.subject()}}
	each, err := e.records(ctx)
	if err != nil {
		return EraseResult{}, err
	}
	err = each(func(r eventstore.Record) error { return e.take(ctx, m, r) })
	if err == nil {
		err = e.append(ctx, m)
	}
	return e.result, err
}

func (q EraseRequest) subject() string {
	switch {
	case q.TaskID != "":
		return "task " + q.TaskID
	case q.RunID != "":
		return "run " + q.RunID
	case q.Policy != "":
		return q.Policy
	}
	return "single records"
}

// eraser gathers records until they fill an erasure.
type eraser struct {
	x       *Executor
	q       EraseRequest
	owners  map[string]string // tasks of streams
	version int64             // of the stream of erasures, as far as it is known
	event   erasure.Erased
	erase   eventstore.Erasure
	result  EraseResult
}

// positionsAtOnce is how many single records are read at once.
const positionsAtOnce = 100

// walk hands records to do.
type walk func(do func(eventstore.Record) error) error

// records checks that what was asked for may be erased, and returns how to go through it.
func (e *eraser) records(ctx context.Context) (walk, error) {
	switch q := e.q; {
	case q.TaskID != "":
		t, _, err := e.x.loadTask(ctx, q.TaskID)
		if err != nil {
			return nil, err
		}
		return e.task(ctx, t)
	case q.RunID != "":
		return e.run(ctx, q.RunID)
	}
	positions := slices.Compact(slices.Sorted(slices.Values(e.q.Positions)))
	return func(do func(eventstore.Record) error) error {
		for chunk := range slices.Chunk(positions, positionsAtOnce) {
			records, err := e.x.Store.ReadAt(ctx, chunk)
			if err != nil {
				return err
			}
			for i, position := range chunk {
				if i == len(records) || records[i].Position != position {
					return fault.NotFound("not_found", "there is no record %d", position)
				}
				if err := do(records[i]); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil
}

func (e *eraser) task(ctx context.Context, t task.State) (walk, error) {
	if !t.Exists {
		return nil, fault.NotFound("not_found", "task not found")
	}
	if t.OpenRun != "" {
		return nil, fault.Conflict("conflict", "run %s of the task goes on; cancel it first", t.OpenRun)
	}
	streams := []string{TaskStream(e.q.TaskID)}
	for _, id := range t.Runs {
		streams = append(streams, RunStream(id), ExternalStream(id))
	}
	return e.streams(ctx, streams)
}

func (e *eraser) run(ctx context.Context, id string) (walk, error) {
	s := run.New(id)
	if err := e.x.outline(ctx, &s); err != nil {
		return nil, err
	}
	if !s.Status.Terminal() {
		return nil, fault.Conflict("conflict", "run %s goes on; cancel it first", id)
	}
	return e.streams(ctx, []string{RunStream(id), ExternalStream(id)})
}

// streams goes through whole streams, and those of the operations.
func (e *eraser) streams(ctx context.Context, streams []string) (walk, error) {
	for _, id := range e.q.Operations {
		if err := e.operation(ctx, id, streams); err != nil {
			return nil, err
		}
		streams = append(streams, OperationStream(id))
	}
	return func(do func(eventstore.Record) error) error {
		for _, s := range streams {
			for after := int64(0); ; {
				page, err := e.x.Store.ReadStream(ctx, s, after, readPage)
				if err != nil {
					return err
				}
				for _, r := range page {
					after = r.Version
					if err := do(r); err != nil {
						return err
					}
				}
				if len(page) < readPage {
					break
				}
			}
		}
		return nil
	}, nil
}

// operation checks that an operation belongs to one of the runs and is over.
func (e *eraser) operation(ctx context.Context, id string, streams []string) error {
	belongs, over := false, false
	err := e.x.read(ctx, OperationStream(id), 0, nil, func(ev event.Event) {
		switch p := ev.Payload.(type) {
		case operation.Requested:
			belongs = slices.Contains(streams, RunStream(p.RunID))
		case operation.Completed:
			over = true
		}
	})
	switch {
	case err != nil:
		return err
	case !belongs:
		return fault.NotFound("not_found", "operation %s is none on these workspaces", id)
	case !over:
		return fault.Conflict("conflict", "operation %s on the workspace is not over yet", id)
	}
	return nil
}

// take adds a record, and carries out what has gathered if that is enough.
func (e *eraser) take(ctx context.Context, m Meta, r eventstore.Record) error {
	if r.Erased != 0 {
		return nil
	}
	owner, err := e.owner(ctx, r)
	if err != nil {
		return err
	}
	form, contents, err := event.Erase(r.Type, r.Data)
	if err != nil {
		return err
	}
	if string(form) == string(r.Data) {
		return nil // nothing in it that could be erased
	}
	if len(e.erase.Records) == erasure.RecordsMax || len(e.erase.Contents)+len(contents) > erasure.ContentsMax {
		if err := e.append(ctx, m); err != nil {
			return err
		}
	}
	e.erase.Records = append(e.erase.Records, eventstore.ErasedRecord{Position: r.Position, Salt: r.Salt, Digest: r.DataDigest(), Form: form})
	for _, c := range contents {
		if !slices.Contains(e.erase.Contents, c.Digest) {
			e.erase.Contents = append(e.erase.Contents, c.Digest)
		}
	}
	if !slices.Contains(e.event.Types, r.Type) {
		e.event.Types = append(e.event.Types, r.Type)
	}
	if owner != "" && !slices.Contains(e.event.TaskIDs, owner) {
		e.event.TaskIDs = append(e.event.TaskIDs, owner)
	}
	return nil
}

// append makes what has gathered one erasure. Records may come from several streams, and
// the log wants them in order.
func (e *eraser) append(ctx context.Context, m Meta) error {
	if len(e.erase.Records) == 0 {
		return nil
	}
	slices.SortFunc(e.erase.Records, func(a, b eventstore.ErasedRecord) int { return cmp.Compare(a.Position, b.Position) })
	p := e.event
	for _, r := range e.erase.Records {
		p.Records = append(p.Records, erasure.Record{Position: r.Position, Form: eventstore.FormDigest(r.Form)})
	}
	p.Contents = e.erase.Contents
	slices.Sort(p.Contents)
	slices.Sort(p.Types)
	slices.Sort(p.TaskIDs)
	done, err := retry(ctx, func() (eventstore.Appended, error) {
		done, err := e.x.appendBatch(ctx, m, &e.erase, part{stream: erasure.Stream, expected: e.version, events: e.x.now(e.version, p)})
		var moved *eventstore.ConflictError
		if errors.As(err, &moved) { // nothing was decided on it: the records themselves must be as they were read
			e.version = moved.Actual
		}
		return done, err
	})
	if errors.Is(err, eventstore.ErrInvalid) {
		return fault.Conflict("conflict", "somebody else erases the same just now (%v); try again", err)
	}
	if err != nil {
		return fmt.Errorf("erase %s: %w", e.event.Subject, err)
	}
	e.version++
	e.result.Erasures = append(e.result.Erasures, done.Last)
	e.result.Records += len(p.Records)
	e.result.Contents += len(p.Contents)
	e.result.Position = done.Last
	e.erase, e.event.Types, e.event.TaskIDs = eventstore.Erasure{}, nil, nil
	return nil
}

// owner returns the task that a record belongs to. Settings, permissions and what the log says
// about itself have none, and are not erased.
func (e *eraser) owner(ctx context.Context, r eventstore.Record) (string, error) {
	if owner, ok := e.owners[r.Stream]; ok {
		return owner, nil
	}
	kind, id, _ := strings.Cut(r.Stream, "-")
	var owner string
	var err error
	switch kind + "-" {
	case TaskStream(""):
		owner = id
	case RunStream(""), ExternalStream(""):
		owner, err = e.ofRun(ctx, id)
	case OperationStream(""):
		err = e.x.first(ctx, r.Stream, func(p event.Payload) {
			if c, ok := p.(operation.Requested); ok {
				owner = c.TaskID
			}
		})
	default:
		err = fault.Invalid("invalid_request", "record %d is of %s: only what tasks, runs and operations on workspaces record, and what callers add, can be erased", r.Position, r.Stream)
	}
	if err == nil {
		e.owners[r.Stream] = owner
	}
	return owner, err
}

// ofRun returns the task of a run. What somebody asks for is not erased while the run goes on.
func (e *eraser) ofRun(ctx context.Context, id string) (owner string, err error) {
	if e.q.Policy == "" {
		s := run.New(id)
		if err := e.x.outline(ctx, &s); err != nil {
			return "", err
		}
		if !s.Status.Terminal() {
			return "", fault.Conflict("conflict", "run %s goes on; cancel it first", id)
		}
		return s.TaskID, nil
	}
	err = e.x.first(ctx, RunStream(id), func(p event.Payload) {
		if c, ok := p.(run.Created); ok {
			owner = c.TaskID
		}
	})
	return owner, err
}

// first reads the first event of a stream.
func (x *Executor) first(ctx context.Context, stream string, do func(event.Payload)) error {
	page, err := x.Store.ReadStream(ctx, stream, 0, 1)
	if err != nil || len(page) == 0 {
		return err
	}
	p, err := event.Decode(page[0].Type, page[0].Schema, page[0].Data, nil)
	if err == nil {
		do(p)
	}
	return err
}
