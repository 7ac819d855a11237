package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
)

// benchData is the data of one event in the benchmarks, of a usual size.
var benchData = `{"text":"` + strings.Repeat("0123456789abcdef", 29) + `"}`

// BenchAppend measures durable appends of one event each by so many writers, and
// beside it, taking turns on the same disk, plain inserts of the same rows in
// batches of that many. raw inserts one batch durably; its records have positions
// 1, 2, 3 …
func BenchAppend(b *testing.B, s eventstore.Store, writers int, raw func([]eventstore.Record) error) {
	benchAppend(b, s, newBenchWriters(writers), raw)
}

// BenchAppendClaimed does what BenchAppend does with streams that a worker has claimed.
func BenchAppendClaimed(b *testing.B, s eventstore.Store, writers int, raw func([]eventstore.Record) error) {
	list := newBenchWriters(writers)
	w := eventstore.Worker{Instance: "w1", Node: "n1", TTL: time.Hour}
	if err := s.Register(b.Context(), w); err != nil {
		b.Fatal(err)
	}
	for i := range list {
		batch := To(list[i].stream, 0, NewEvent("test.happened", benchData))
		batch.Streams[0].Work = eventstore.WorkOpen
		if _, err := s.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		epoch, err := s.Claim(b.Context(), w.Instance, list[i].stream, 0)
		if err != nil {
			b.Fatal(err)
		}
		list[i].version, list[i].epoch = 1, epoch
	}
	benchAppend(b, s, list, raw)
}

// BenchClaim measures claiming one stream after another, and renewing the lease.
func BenchClaim(b *testing.B, s eventstore.Store) {
	w := eventstore.Worker{Instance: "w1", Node: "n1", TTL: time.Hour}
	if err := s.Register(b.Context(), w); err != nil {
		b.Fatal(err)
	}
	var claims, renewals []time.Duration
	for i := 0; b.Loop(); i++ {
		stream := fmt.Sprintf("run-%024d", i)
		batch := To(stream, 0, NewEvent("test.happened", benchData))
		batch.Streams[0].Work = eventstore.WorkOpen
		if _, err := s.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if _, err := s.Claim(b.Context(), w.Instance, stream, 1<<30); err != nil {
			b.Fatal(err)
		}
		claims = append(claims, time.Since(start))
		start = time.Now()
		if err := s.Renew(b.Context(), w.Instance); err != nil {
			b.Fatal(err)
		}
		renewals = append(renewals, time.Since(start))
		batch = To(stream, 1)
		batch.Streams[0].Work = eventstore.WorkClose
		if _, err := s.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(micros(claims), "claim-p50-µs")
	b.ReportMetric(micros(renewals), "renew-p50-µs")
}

// benchWriter appends to one stream.
type benchWriter struct {
	stream         string
	version, epoch int64
}

func newBenchWriters(n int) []benchWriter {
	out := make([]benchWriter, n)
	for i := range out {
		out[i].stream = fmt.Sprintf("run-%024d", i)
	}
	return out
}

func benchAppend(b *testing.B, s eventstore.Store, list []benchWriter, raw func([]eventstore.Record) error) {
	writers := len(list)
	each := max(40, 200/writers) // long enough that beginning and end of a turn don't show
	var stored, plain []time.Duration
	var storedTotal, plainTotal time.Duration
	position := int64(0)
	for b.Loop() {
		start := time.Now()
		stored = append(stored, benchStore(b, s, list, each)...)
		storedTotal += time.Since(start)
		start = time.Now()
		for range each {
			batch := benchRecords(position, writers)
			position += int64(writers)
			begun := time.Now()
			if err := raw(batch); err != nil {
				b.Fatal(err)
			}
			plain = append(plain, time.Since(begun))
		}
		plainTotal += time.Since(start)
	}
	n := float64(position)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(n/storedTotal.Seconds(), "events/s")
	b.ReportMetric(n/plainTotal.Seconds(), "raw-events/s")
	b.ReportMetric(plainTotal.Seconds()/storedTotal.Seconds(), "×raw-events/s")
	b.ReportMetric(micros(stored), "p50-µs")
	b.ReportMetric(micros(plain), "raw-p50-µs")
	b.ReportMetric(micros(stored)/micros(plain), "×raw-p50")
}

func micros(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Nanoseconds()) / 1000
}

// benchStore lets each writer append to its stream and returns how long each append took.
func benchStore(b *testing.B, s eventstore.Store, list []benchWriter, each int) []time.Duration {
	took := make([]time.Duration, len(list)*each)
	var g errgroup.Group
	for i := range list {
		g.Go(func() error {
			w := &list[i]
			for n := range each {
				batch := To(w.stream, w.version, NewEvent("test.happened", benchData))
				batch.Streams[0].Epoch = w.epoch
				start := time.Now()
				if _, err := s.Append(context.Background(), batch); err != nil {
					return err
				}
				took[i*each+n] = time.Since(start)
				w.version++
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	return took
}

func benchRecords(after int64, n int) []eventstore.Record {
	out := make([]eventstore.Record, n)
	for i := range out {
		e := NewEvent("test.happened", benchData)
		out[i] = eventstore.Record{
			Position: after + int64(i) + 1, Stream: fmt.Sprintf("run-%024d", i), Version: after/int64(n) + 1,
			ID: e.ID, Type: e.Type, Schema: 1, At: At, Actor: eventstore.Actor{Kind: "operator", Name: "op-1"}, Data: e.Data, Salt: e.Salt,
		}
	}
	return out
}

// Fill appends n events, as fast as it goes: most to 1,000 streams, one of ten to a
// long one.
func Fill(b *testing.B, s eventstore.Store, n int) {
	b.Helper()
	for i := 0; i < n; i += eventstore.EventsMax {
		batch := To(fmt.Sprintf("run-%024d", i/eventstore.EventsMax%1000), eventstore.AnyVersion)
		batch.Streams = append(batch.Streams, eventstore.StreamAppend{Stream: longStream, Expected: eventstore.AnyVersion})
		for k := range min(eventstore.EventsMax, n-i) {
			to := &batch.Streams[min(1, (k%10)/9)]
			to.Events = append(to.Events, NewEvent("test.happened", benchData))
		}
		if _, err := s.Append(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchReadAll measures reading the whole log from the database, in pages.
func BenchReadAll(b *testing.B, s eventstore.StoredReader) {
	read := 0
	for b.Loop() {
		after := int64(0)
		for {
			page, err := s.ReadStored(context.Background(), after, 512)
			if err != nil {
				b.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			after = page[len(page)-1].Position
			read += len(page)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "events/s")
}

// longStream has every tenth event of a filled log.
const longStream = "run-long"

// BenchReadStream measures reading pages at the start, in the middle and at the end
// of a long stream of a filled log, and a page of a short one.
func BenchReadStream(b *testing.B, s eventstore.Store, n int) {
	for name, at := range map[string]struct {
		stream string
		after  int
	}{
		"start": {longStream, 0}, "middle": {longStream, n / 20}, "end": {longStream, n / 11}, "short": {fmt.Sprintf("run-%024d", 7), 0},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				page, err := s.ReadStream(context.Background(), at.stream, int64(at.after), 512)
				if err != nil || len(page) < 400 {
					b.Fatal(len(page), err)
				}
			}
		})
	}
}

// BenchLatency measures durable appends of one event each, one after another.
func BenchLatency(b *testing.B, s eventstore.Store) {
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := s.Append(b.Context(), To("run-1", eventstore.AnyVersion, NewEvent("test.happened", benchData))); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	b.ReportMetric(micros(took), "p50-µs")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
