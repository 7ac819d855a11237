package eventstore_test

import (
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"hecate/eventstore"
)

func sample() eventstore.Record {
	return eventstore.Record{
		Position: 99, Stream: "run-1", Version: 3, ID: [16]byte{1, 2, 15: 16}, Type: "run.finished", Schema: 2,
		At:    time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC),
		Actor: eventstore.Actor{Kind: "worker", Name: "w-1", Org: "o"}, CausedBy: 98, CommandID: "cmd-1", Trace: "00-aa-bb-01",
		Data: []byte(`{"answer":"\u0000"}`), Salt: [16]byte{15: 9},
	}
}

// The encoding is for ever: whoever changes it makes every log look forged. A new
// encoding needs a new tag, and this one stays readable.
func TestCanonicalGolden(t *testing.T) {
	const canonical = "000000106865636174652e7265636f72642e76310000000572756e2d3101020000000000000000000000000010000000" +
		"0c72756e2e66696e697368656400000000000000020006475ef64cf34600000006776f726b657200000003772d310000" +
		"00016f000000000000006200000005636d642d310000000b30302d61612d62622d30315903b69fa098cdf0714c586c6e" +
		"33d45776f101b084287f3a2278af546d58e9e90000000000000003"
	const hash = "e38f0febd32cebf1564f1f994be166f4bafee4ff8a024a83732d3337d54fceb7"
	if got := hex.EncodeToString(eventstore.Canonical(sample())); got != canonical {
		t.Errorf("canonical form\n%s, want\n%s", got, canonical)
	}
	h := eventstore.Hash(sample())
	if got := hex.EncodeToString(h[:]); got != hash {
		t.Errorf("hash %s, want %s", got, hash)
	}
}

// Everything but the position moves the hash.
func TestHashCoversRecord(t *testing.T) {
	seen := map[[32]byte]string{eventstore.Hash(sample()): "nothing"}
	for name, change := range map[string]func(*eventstore.Record){
		"stream":     func(r *eventstore.Record) { r.Stream = "run-2" },
		"version":    func(r *eventstore.Record) { r.Version++ },
		"id":         func(r *eventstore.Record) { r.ID[0]++ },
		"type":       func(r *eventstore.Record) { r.Type += "x" },
		"schema":     func(r *eventstore.Record) { r.Schema++ },
		"time":       func(r *eventstore.Record) { r.At = r.At.Add(time.Microsecond) },
		"actor kind": func(r *eventstore.Record) { r.Actor.Kind = "client" },
		"actor name": func(r *eventstore.Record) { r.Actor.Name = "w-2" },
		"actor org":  func(r *eventstore.Record) { r.Actor.Org = "" },
		"cause":      func(r *eventstore.Record) { r.CausedBy++ },
		"command":    func(r *eventstore.Record) { r.CommandID = "cmd-2" },
		"trace":      func(r *eventstore.Record) { r.Trace = "" },
		"data":       func(r *eventstore.Record) { r.Data = []byte(`{"answer":""}`) },
		"salt":       func(r *eventstore.Record) { r.Salt[0]++ },
		"shifted":    func(r *eventstore.Record) { r.Actor.Kind, r.Actor.Name = "workerw", "-1" },
	} {
		r := sample()
		r.Hash = eventstore.Hash(r)
		change(&r)
		if err := eventstore.Verify(r); !errors.Is(err, eventstore.ErrTampered) {
			t.Errorf("%s: %v, want ErrTampered", name, err)
		}
		if other, dup := seen[eventstore.Hash(r)]; dup {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[eventstore.Hash(r)] = name
	}
	r := sample()
	r.Hash = eventstore.Hash(r)
	r.Position++
	if err := eventstore.Verify(r); err != nil {
		t.Errorf("the position is not part of the hash: %v", err)
	}
}
