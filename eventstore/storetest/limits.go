package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hecate/domain/event"
	"hecate/eventstore"
)

func testLimits(t *testing.T, l Log) {
	s := open(t, l)
	streams := func(n int) (b eventstore.Batch) {
		for i := range n {
			b.Streams = append(b.Streams, eventstore.StreamAppend{Stream: fmt.Sprintf("run-%d", i), Events: NewEvents(1)})
		}
		return b
	}
	one := func(change func(*eventstore.Event)) eventstore.Batch {
		e := NewEvent("test.happened", "{}")
		change(&e)
		return To("run-x", 0, e)
	}
	twice := streams(2)
	twice.Streams[1].Stream = twice.Streams[0].Stream
	work := To("run-x", 0)
	work.Streams[0].Work = eventstore.WorkOpen
	for name, b := range map[string]eventstore.Batch{
		"streams":        streams(eventstore.StreamsMax + 1),
		"events":         To("run-x", 0, NewEvents(eventstore.EventsMax+1)...),
		"a stream twice": twice,
		"data too large": one(func(e *eventstore.Event) { e.Data = make([]byte, eventstore.DataMax+1) }),
		"no data":        one(func(e *eventstore.Event) { e.Data = nil }),
		"no id":          one(func(e *eventstore.Event) { e.ID = [16]byte{} }),
		"no schema":      one(func(e *eventstore.Event) { e.Schema = 0 }),
		"no time":        one(func(e *eventstore.Event) { e.At = time.Time{} }),
		"a false digest": one(func(e *eventstore.Event) {
			e.Blobs = []event.Blob{{Ref: event.Ref{Digest: "00"}, Content: []byte("x")}}
		}),
		"version":         To("run-x", -2, NewEvents(1)...),
		"open for naught": work,
		"caused by":       {CausedBy: -1},
	} {
		if _, err := s.Append(withPatience(t), b); !errors.Is(err, eventstore.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if head, err := s.Head(withPatience(t)); head != 0 || err != nil {
		t.Fatalf("head %d, %v: something was written", head, err)
	}
	mustAppend(t, s, streams(eventstore.StreamsMax))
	mustAppend(t, s, To("run-y", 0, NewEvents(eventstore.EventsMax)...))
	mustAppend(t, s, one(func(e *eventstore.Event) { e.Data = bytes.Repeat([]byte("x"), eventstore.DataMax) }))
	verify(t, readAll(t, s), eventstore.StreamsMax+eventstore.EventsMax+1)
}

// Empty, blank, over-long and broken names are refused wherever a name stands;
// odd ones that people do use come back as they were.
func testNames(t *testing.T, l Log) {
	s := open(t, l)
	for _, name := range []string{" ", "a\x00b", "a\nb", " run-1", "run-1 ", "\xff\xfe", "a\u0085b", strings.Repeat("n", eventstore.NameMax+1)} {
		typ := NewEvent(name, "{}")
		for where, b := range map[string]eventstore.Batch{
			"stream":  To(name, 0, NewEvents(1)...),
			"type":    To("run-1", 0, typ),
			"command": {CommandID: name},
			"actor":   {Actor: eventstore.Actor{Kind: name}},
			"name":    {Actor: eventstore.Actor{Name: name}},
		} {
			if _, err := s.Append(withPatience(t), b); !errors.Is(err, eventstore.ErrInvalid) {
				t.Errorf("%s %q: %v, want ErrInvalid", where, name, err)
			}
		}
	}
	if _, err := s.Append(withPatience(t), To("", 0, NewEvents(1)...)); !errors.Is(err, eventstore.ErrInvalid) {
		t.Errorf("no stream: %v, want ErrInvalid", err)
	}
	names := []string{"e\u0301", "\u00e9", "E", "e", "grants-C:\\x'y\"z", "日本", "a b", strings.Repeat("n", eventstore.NameMax)}
	for _, name := range names {
		mustAppend(t, s, To(name, eventstore.NoStream, NewEvents(1)...))
	}
	for i, r := range readAll(t, s) {
		if r.Stream != names[i] {
			t.Errorf("%q came back as %q", names[i], r.Stream)
		}
	}
}
