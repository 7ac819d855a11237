// Package apitest makes servers, logs and histories for the tests of the API.
package apitest

import (
	"crypto/rand"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"

	"hecate/commands"
	"hecate/domain/clock"
	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/eventstore"
	"hecate/eventstore/sqlite"
)

// Executor returns an executor over a new log in memory.
func Executor(t testing.TB, policies ...permission.Policy) *commands.Executor {
	t.Helper()
	store, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &commands.Executor{
		Store: store, Clock: clock.System{}, Policies: policies, ModelCallsMax: 8,
		NewID:   func() [16]byte { return uuid.Must(uuid.NewV7()) },
		NewSalt: func() (s [16]byte) { _, _ = rand.Read(s[:]); return s },
	}
}

// T0 is when the histories of tests happen.
var T0 = time.Date(2026, 2, 3, 9, 30, 0, 0, time.UTC)

// Append adds events to a stream as they are. Ids, times and salts depend on the
// position alone, so that golden files can hold them.
func Append(t testing.TB, store eventstore.Store, stream string, payloads ...event.Payload) eventstore.Appended {
	t.Helper()
	head, err := store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sa := eventstore.StreamAppend{Stream: stream, Expected: eventstore.AnyVersion}
	for i, p := range payloads {
		n := uint64(head) + uint64(i) + 1
		numbered := func() (id [16]byte) {
			id[6] = 0x70
			binary.BigEndian.PutUint64(id[8:], n)
			return id
		}
		enc, err := event.Encode(p, numbered)
		if err != nil {
			t.Fatal(err)
		}
		sa.Events = append(sa.Events, eventstore.Event{
			ID: numbered(), Type: enc.Type, Schema: enc.Schema, At: T0.Add(time.Duration(n) * time.Second),
			Data: enc.Data, Salt: numbered(), Blobs: enc.Blobs,
		})
	}
	done, err := store.Append(t.Context(), eventstore.Batch{Streams: []eventstore.StreamAppend{sa}, Actor: eventstore.Actor{Kind: "system"}})
	if err != nil {
		t.Fatal(err)
	}
	return done
}
