package proof_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

func withPatience(t testing.TB) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	return ctx
}

func openMemory(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func appendTo(t testing.TB, s eventstore.Store, stream string, n int) {
	t.Helper()
	for n > 0 {
		some := min(n, eventstore.EventsMax)
		if _, err := s.Append(withPatience(t), storetest.To(stream, eventstore.AnyVersion, storetest.NewEvents(some)...)); err != nil {
			t.Fatal(err)
		}
		n -= some
	}
}

func keyOf(t testing.TB, s eventstore.Store) proof.Key {
	t.Helper()
	id, err := s.LogID(withPatience(t))
	if err != nil {
		t.Fatal(err)
	}
	return newKey(t, proof.Origin(id))
}

func newSealer(t testing.TB, s proof.Log, key proof.Key) *proof.Sealer {
	t.Helper()
	sealer, err := proof.NewSealer(withPatience(t), s, key, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return sealer
}

// sealed returns the newest checkpoint, after a look whether the tree adds up to it.
func sealed(t testing.TB, s proof.Log, key proof.Key) proof.Head {
	t.Helper()
	last, public, err := s.LastSeal(withPatience(t))
	if err != nil || public != key.Public {
		t.Fatal(public, err)
	}
	head, err := proof.Open(last.Note, key.Public)
	if err != nil || head.Size != last.Size {
		t.Fatal(head, err)
	}
	root, err := tlog.TreeHash(head.Size, proof.Hashes(withPatience(t), s))
	if err != nil || root != head.Root {
		t.Fatalf("the tree of %d has root %v, %v; signed is %v", head.Size, root, err, head.Root)
	}
	return head
}

// Sealers take turns, begin anew, and catch up in steps; each checkpoint goes on from the last.
func TestSeal(t *testing.T) {
	s := openMemory(t)
	key := keyOf(t, s)
	sealers := []*proof.Sealer{newSealer(t, s, key), newSealer(t, s, key)}
	if err := sealers[0].Seal(withPatience(t)); err != nil {
		t.Fatal("an empty log:", err)
	}
	var before proof.Head
	total := int64(0)
	for i, n := range []int{1, 1, 2, 5, 0, 700, 4096, 9000} {
		appendTo(t, s, "run-1", n)
		total += int64(n)
		if i == 6 {
			sealers[0] = newSealer(t, s, key)
		}
		if err := sealers[i%2].Seal(withPatience(t)); err != nil {
			t.Fatal(err)
		}
		head := sealed(t, s, key)
		if head.Size != total {
			t.Fatalf("sealed up to %d of %d", head.Size, total)
		}
		if before.Size > 0 {
			grown, err := tlog.ProveTree(head.Size, before.Size, proof.Hashes(withPatience(t), s))
			if err == nil {
				err = tlog.CheckTree(grown, head.Size, head.Root, before.Size, before.Root)
			}
			if err != nil {
				t.Fatalf("from %d to %d: %v", before.Size, head.Size, err)
			}
		}
		before = head
	}
}

// forged is a log whose tree is not what was signed.
type forged struct {
	proof.Log
	last   func(eventstore.Checkpoint) eventstore.Checkpoint
	hashes func([][32]byte)
}

func (f forged) LastSeal(ctx context.Context) (eventstore.Checkpoint, string, error) {
	c, key, err := f.Log.LastSeal(ctx)
	return f.last(c), key, err
}

func (f forged) TreeHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	out, err := f.Log.TreeHashes(ctx, indexes)
	if f.hashes != nil {
		f.hashes(out)
	}
	return out, err
}

// A tree that is not the one that was signed is not extended.
func TestNeverTwoTrees(t *testing.T) {
	same := func(c eventstore.Checkpoint) eventstore.Checkpoint { return c }
	for name, c := range map[string]struct {
		last   func(eventstore.Checkpoint) eventstore.Checkpoint
		hashes func([][32]byte)
		want   error
	}{
		"another hash":      {last: same, hashes: func(h [][32]byte) { h[0][0]++ }, want: eventstore.ErrTampered},
		"another size":      {last: func(c eventstore.Checkpoint) eventstore.Checkpoint { c.Size--; return c }, want: eventstore.ErrTampered},
		"another signature": {last: func(c eventstore.Checkpoint) eventstore.Checkpoint { c.Note = []byte("x\n\n— y z\n"); return c }, want: proof.ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			s := openMemory(t)
			key := keyOf(t, s)
			appendTo(t, s, "run-1", 10)
			if err := newSealer(t, s, key).Seal(withPatience(t)); err != nil {
				t.Fatal(err)
			}
			appendTo(t, s, "run-1", 1)
			if err := newSealer(t, forged{s, c.last, c.hashes}, key).Seal(withPatience(t)); !errors.Is(err, c.want) {
				t.Errorf("sealed: %v, want %v", err, c.want)
			}
			if head := sealed(t, s, key); head.Size != 10 {
				t.Errorf("sealed up to %d, want 10", head.Size)
			}
		})
	}
	t.Run("an earlier state", func(t *testing.T) {
		s := openMemory(t)
		key := keyOf(t, s)
		var old eventstore.Checkpoint
		sealer := newSealer(t, forged{Log: s, last: func(c eventstore.Checkpoint) eventstore.Checkpoint {
			if old.Size > 0 {
				return old
			}
			return c
		}}, key)
		var first eventstore.Checkpoint
		for range 2 {
			appendTo(t, s, "run-1", 5)
			if err := sealer.Seal(withPatience(t)); err != nil {
				t.Fatal(err)
			}
			if first.Size == 0 {
				first, _, _ = s.LastSeal(withPatience(t))
			}
		}
		old = first
		if err := sealer.Seal(withPatience(t)); !errors.Is(err, eventstore.ErrTampered) {
			t.Errorf("sealed: %v, want ErrTampered", err)
		}
	})
}

// A process with another key leaves the log alone and says what to do.
func TestForeignKey(t *testing.T) {
	s := openMemory(t)
	key := keyOf(t, s)
	appendTo(t, s, "run-1", 3)
	if err := newSealer(t, s, key).Seal(withPatience(t)); err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, "run-1", 3)
	err := newSealer(t, s, keyOf(t, s)).Seal(withPatience(t))
	if !errors.Is(err, proof.ErrOtherKey) || !strings.Contains(err.Error(), "the same key file") {
		t.Errorf("sealed: %v, want ErrOtherKey and what to do", err)
	}
	if head := sealed(t, s, key); head.Size != 3 {
		t.Errorf("sealed up to %d, want 3", head.Size)
	}
}

// counted counts the seals.
type counted struct {
	proof.Log
	seals int
}

func (c *counted) AddSeal(ctx context.Context, s eventstore.Seal) error {
	c.seals++
	return c.Log.AddSeal(ctx, s)
}

// While a log is appended to, a checkpoint is signed about once a second; what is left is
// sealed at the end.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &counted{Log: &fakeLog{}}
		fake := log.Log.(*fakeLog)
		fake.news = make(chan struct{}, 1)
		sealer, err := proof.NewSealer(t.Context(), log, newKey(t, proof.Origin("log_1")), 0, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- sealer.Run(ctx) }()
		for range 100 { // ten seconds
			fake.add(3)
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if log.seals < 9 || log.seals > 11 {
			t.Errorf("%d checkpoints in ten seconds", log.seals)
		}
		fake.add(3)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		sealer.Finish(ctx)
		if fake.last.Size != int64(len(fake.records)) {
			t.Errorf("sealed at the end: %d of %d", fake.last.Size, len(fake.records))
		}
	})
}

// fakeLog is a log that stands still while nobody does anything, for tests of time.
type fakeLog struct {
	mu      sync.Mutex
	records []eventstore.Record
	hashes  [][32]byte
	last    eventstore.Checkpoint
	key     string
	news    chan struct{}
}

func (f *fakeLog) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		r := eventstore.Record{Position: int64(len(f.records)) + 1, Stream: "run-1", Data: []byte("{}")}
		r.Hash = eventstore.Hash(r)
		f.records = append(f.records, r)
	}
	select {
	case f.news <- struct{}{}:
	default:
	}
}

func (f *fakeLog) LogID(context.Context) (string, error) { return "log_1", nil }

func (f *fakeLog) ReadAll(_ context.Context, after int64, limit int) ([]eventstore.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := f.records[after:]
	return rest[:min(len(rest), limit)], nil
}

func (f *fakeLog) LogKeys(context.Context) ([]eventstore.LogKey, error) {
	return nil, nil
}

// ReadStream finds nothing: the key of this log never changes.
func (f *fakeLog) ReadStream(context.Context, string, int64, int) ([]eventstore.Record, error) {
	return nil, nil
}

func (f *fakeLog) head() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.records))
}

func (f *fakeLog) Wait(ctx context.Context, after int64) error {
	for f.head() <= after {
		select {
		case <-f.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (f *fakeLog) LastSeal(context.Context) (eventstore.Checkpoint, string, error) {
	return f.last, f.key, nil
}

func (f *fakeLog) TreeHashes(_ context.Context, indexes []int64) (out [][32]byte, err error) {
	for _, i := range indexes {
		out = append(out, f.hashes[i])
	}
	return out, nil
}

func (f *fakeLog) AddSeal(_ context.Context, s eventstore.Seal) error {
	for _, row := range s.Rows {
		for i := 0; i < len(row.Hashes); i += 32 {
			f.hashes = append(f.hashes, [32]byte(row.Hashes[i:]))
		}
	}
	f.last, f.key = s.Checkpoint, cmp.Or(s.Key, f.key)
	return nil
}

// BenchmarkAppend measures appends of one event each while the log is sealed once a second.
func BenchmarkAppend(b *testing.B) {
	for _, sealing := range []bool{false, true} {
		b.Run(map[bool]string{false: "alone", true: "sealing"}[sealing], func(b *testing.B) {
			s, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "log.db")})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			if sealing {
				sealer := newSealer(b, s, keyOf(b, s))
				go func() { ended <- sealer.Run(ctx) }()
			} else {
				ended <- nil
			}
			storetest.BenchLatency(b, s)
			stop()
			if err := <-ended; err != nil {
				b.Error(err)
			}
		})
	}
}
