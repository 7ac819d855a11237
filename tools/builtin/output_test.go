package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
)

// log is what a recorder has handed over, in order.
type log struct {
	emitted []event.Payload
	err     error // of every Emit
	slow    time.Duration
}

func (l *log) recorder(ctx context.Context) *recorder {
	return newRecorder(ctx, &tools.Env{
		ToolCallID: "call_1",
		Emit: func(_ context.Context, p event.Payload) error {
			time.Sleep(l.slow)
			l.emitted = append(l.emitted, p)
			return l.err
		},
	})
}

// whole checks that the chunks of each stream follow each other without a gap or a repetition.
func whole(t *testing.T, chunks []event.Payload) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range chunks {
		c := p.(run.ShellOutput)
		if c.ByteOffset != int64(len(out[c.Stream])) {
			t.Errorf("%s: a chunk at %d after %d bytes", c.Stream, c.ByteOffset, len(out[c.Stream]))
		}
		if n := c.Data.Len(); n > chunkMax || n == 0 {
			t.Errorf("%s: a chunk of %d bytes", c.Stream, n)
		}
		out[c.Stream] += c.Data.String()
	}
	return out
}

func give(t *testing.T, r *recorder, stream, data string) {
	t.Helper()
	if err := r.write(stream, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

// What a quick command writes costs no append of its own; what waits longer goes out.
func TestOutputWaitsALittleForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		r := l.recorder(t.Context())
		give(t, r, process.Stdout, "a")
		time.Sleep(chunkDelay - 1)
		give(t, r, process.Stdout, "b")
		if rest := r.finish(); len(l.emitted) != 0 || len(rest) != 1 || whole(t, rest)[process.Stdout] != "ab" {
			t.Errorf("emitted %v, rest %v", l.emitted, rest)
		}
		r = l.recorder(t.Context())
		give(t, r, process.Stdout, "a")
		time.Sleep(chunkDelay + 1)
		synctest.Wait()
		give(t, r, process.Stderr, "b")
		if rest := r.finish(); len(l.emitted) != 1 || len(rest) != 1 {
			t.Errorf("emitted %v, rest %v", l.emitted, rest)
		}
	})
}

// A command that changes between its streams all the time makes no more events
// than one that does not.
func TestOutputIsMergedByStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		r := l.recorder(t.Context())
		for range 3000 {
			give(t, r, process.Stdout, "a\n")
			give(t, r, process.Stderr, "b\n")
		}
		rest := r.finish()
		if len(rest) != 2 {
			t.Errorf("%d events at the end", len(rest))
		}
		all := whole(t, rest)
		if all[process.Stdout] != strings.Repeat("a\n", 3000) || all[process.Stderr] != strings.Repeat("b\n", 3000) {
			t.Error("the output is not what was written")
		}
		r = l.recorder(t.Context())
		for range 10 { // ten flushes
			for range 100 {
				give(t, r, process.Stdout, "a€")
				give(t, r, process.Stderr, "b€")
			}
			time.Sleep(chunkDelay + 1)
			synctest.Wait()
		}
		if rest := r.finish(); len(l.emitted) != 20 || len(rest) != 0 {
			t.Errorf("%d events while it ran and %d at the end", len(l.emitted), len(rest))
		}
		whole(t, l.emitted)
	})
}

// No flush cuts a character, in whichever stream it stands.
func TestNoCharacterIsCutByAFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		r := l.recorder(t.Context())
		for _, b := range []byte("é€") {
			give(t, r, process.Stderr, string([]byte{b}))
			give(t, r, process.Stdout, string([]byte{b}))
			time.Sleep(chunkDelay + 1)
			synctest.Wait()
		}
		got := []string{}
		for _, p := range append(l.emitted, r.finish()...) {
			got = append(got, p.(run.ShellOutput).Data.String())
		}
		if want := "[é é € €]"; fmt.Sprint(got) != want {
			t.Errorf("got %q", got)
		}
	})
}

// However much a command writes while appends are slow, few events are left for its end.
func TestFewEventsAreLeftForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{slow: 10 * time.Millisecond}
		r := l.recorder(t.Context())
		block := strings.Repeat("x", 32<<10)
		for range 64 {
			give(t, r, process.Stdout, block)
			give(t, r, process.Stderr, block)
		}
		rest := r.finish()
		if len(rest) > 40 {
			t.Errorf("%d events at the end", len(rest))
		}
		all := whole(t, append(l.emitted, rest...))
		if len(all[process.Stdout]) != 2<<20 || len(all[process.Stderr]) != 2<<20 {
			t.Errorf("%d and %d bytes", len(all[process.Stdout]), len(all[process.Stderr]))
		}
	})
}

// What was handed over is the runtime's also if it says that it could not record
// it: it must not come a second time with the result.
func TestOutputIsHandedOverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := errors.New("lease lost")
		l := &log{err: lost, slow: time.Millisecond}
		r := l.recorder(t.Context())
		give(t, r, process.Stdout, strings.Repeat("x", chunkMax+1))
		give(t, r, process.Stderr, "y")
		time.Sleep(chunkDelay + time.Microsecond)
		give(t, r, process.Stdout, "z") // while the first chunk is under way
		time.Sleep(time.Second)
		synctest.Wait()
		if err := r.write(process.Stdout, []byte("more")); !errors.Is(err, lost) {
			t.Errorf("got %v", err)
		}
		rest := r.finish()
		all := whole(t, append(l.emitted, rest...))
		if len(l.emitted) != 1 || all[process.Stdout] != strings.Repeat("x", chunkMax+1)+"zmore" || all[process.Stderr] != "y" {
			t.Errorf("%d events while it ran, %d after", len(l.emitted), len(rest))
		}
	})
}
