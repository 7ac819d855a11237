// Package projectiontest feeds read models in tests: a log in memory whose times and
// ids are the same in every run, and histories as runs leave them.
package projectiontest

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/eventstore/sqlite"
)

// Start is the time of a log's first event; each one after it is a millisecond later.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Log is a log in memory that tests append to.
type Log struct {
	eventstore.Store
	t     testing.TB
	count uint64
}

// New returns an empty log that is closed when the test ends.
func New(t testing.TB) *Log {
	t.Helper()
	store, err := sqlite.OpenMemory(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return Over(t, store)
}

// Over is New on a store of the caller's choice, which is closed when the test ends.
func Over(t testing.TB, store eventstore.Store) *Log {
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Log{Store: store, t: t}
}

// Fact is a payload and the stream that it goes to.
type Fact struct {
	Stream  string
	Payload event.Payload
}

// Add appends payloads to a stream in one batch.
func (l *Log) Add(stream string, payloads ...event.Payload) {
	l.t.Helper()
	facts := make([]Fact, len(payloads))
	for i, p := range payloads {
		facts[i] = Fact{stream, p}
	}
	l.AddAll(facts)
}

// AddAll appends facts in their order, in as few batches as that allows.
func (l *Log) AddAll(facts []Fact) {
	l.t.Helper()
	for len(facts) > 0 {
		n := 1
		for n < len(facts) && n < eventstore.EventsMax && facts[n].Stream == facts[0].Stream {
			n++
		}
		l.append(facts[:n])
		facts = facts[n:]
	}
}

func (l *Log) append(facts []Fact) {
	l.t.Helper()
	events := make([]eventstore.Event, len(facts))
	for i, f := range facts {
		e, err := event.Encode(f.Payload, l.salt)
		if err != nil {
			l.t.Fatal(err)
		}
		events[i] = l.Event(e.Type, e.Data)
		events[i].Schema, events[i].Blobs = e.Schema, e.Blobs
	}
	l.Raw(facts[0].Stream, events...)
}

// Event is an event as bytes, also such as no build of ours would write.
func (l *Log) Event(typ string, data []byte) eventstore.Event {
	l.count++
	var id [16]byte
	binary.BigEndian.PutUint64(id[8:], l.count)
	return eventstore.Event{ID: id, Type: typ, Schema: 1, At: Start.Add(time.Duration(l.count-1) * time.Millisecond), Data: data, Salt: id}
}

// Raw appends events to a stream.
func (l *Log) Raw(stream string, events ...eventstore.Event) {
	l.t.Helper()
	_, err := l.Append(context.Background(), eventstore.Batch{
		Actor:   eventstore.Actor{Kind: "system"},
		Streams: []eventstore.StreamAppend{{Stream: stream, Expected: eventstore.AnyVersion, Events: events}},
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// Records returns the whole log.
func (l *Log) Records() []eventstore.Record {
	l.t.Helper()
	var all []eventstore.Record
	for {
		more, err := l.ReadAll(context.Background(), int64(len(all)), 1000)
		if err != nil {
			l.t.Fatal(err)
		}
		if len(more) == 0 {
			return all
		}
		all = append(all, more...)
	}
}

func (l *Log) salt() (s [16]byte) {
	binary.BigEndian.PutUint64(s[:], l.count+1)
	return s
}
