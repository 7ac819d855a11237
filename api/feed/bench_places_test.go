package feed_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hecate/api/feed"
	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
)

var benchEvents = flag.Int64("events", 20_000, "records of the log that places are read from")

// BenchmarkPlaces reads the records of a page that a search has found, as far from each
// other as can be: what is left of a page of the audit once the model has answered.
func BenchmarkPlaces(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) { places(b, openLog(b, filepath.Join(b.TempDir(), "log.db"))) })
	b.Run("PostgreSQL", func(b *testing.B) {
		s, err := postgres.Open(b.Context(), postgres.Options{URL: pgtest.URL(b)})
		if err != nil {
			b.Fatal(err)
		}
		places(b, s)
	})
}

func places(b *testing.B, log eventstore.Store) {
	b.Cleanup(func() { log.Close() })
	begin := time.Now()
	for first := int64(0); first < *benchEvents; first += eventstore.EventsMax {
		events := make([]eventstore.Event, eventstore.EventsMax)
		for i := range events {
			e := &events[i]
			*e = eventstore.Event{Type: "tool.dispatch.settled", Schema: 1, At: begin, Data: fmt.Appendf(nil, `{"tool_call_id":"call_%d","tool_name":"read_file","title":"%0600d"}`, i, i)}
			binary.BigEndian.PutUint64(e.ID[8:], uint64(first)+uint64(i)+1)
		}
		_, err := log.Append(b.Context(), eventstore.Batch{
			Actor:   eventstore.Actor{Kind: "worker", Name: "node_1"},
			Streams: []eventstore.StreamAppend{{Stream: fmt.Sprintf("run-run_%d", first), Expected: eventstore.NoStream, Events: events}},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%.0f appended in a second", float64(*benchEvents)/time.Since(begin).Seconds())
	r := feed.NewReader(log)
	var at []feed.Place
	for i := range int64(100) {
		at = append(at, feed.Place{Position: 1 + i*(*benchEvents/100), TaskID: "task_1", RunID: "run_1"})
	}
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		if items, err := r.Places(b.Context(), at); err != nil || len(items) != len(at) {
			b.Fatalf("%d items, %v", len(items), err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(took[(len(took)-1)*99/100].Seconds()*1000, "p99-ms")
}
