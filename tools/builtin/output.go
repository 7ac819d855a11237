package builtin

import (
	"context"
	"sync"
	"time"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
)

const (
	chunkMax = 16 << 10 // bytes of one output event
	// chunkDelay is how long output waits for more of it. What a quick command
	// writes is recorded with its end and costs no append of its own.
	chunkDelay = 75 * time.Millisecond
	// pendingMax is how much output may wait while an append is under way; then the
	// command waits. It also bounds what is left for the result: all of that goes
	// into one append, which holds some hundred events at most.
	pendingMax = 256 << 10
)

// recorder turns what a command writes into output events: it sends them while
// the command runs and returns the last ones for the result.
type recorder struct {
	env *tools.Env
	ids map[string]string // artifact id by stream

	mu      sync.Mutex
	space   *sync.Cond // pending went down, or err was set
	pending []piece    // one for each stream that wrote, in the order in which they began
	size    int
	offset  map[string]int64 // bytes in events so far; of send, then of finish
	err     error            // of Emit

	begun chan struct{} // has a value when there is something pending
	stop  chan struct{}
	done  sync.WaitGroup
}

// piece is consecutive output of one stream. What the other one wrote in between
// stands in a piece of its own: a command may change between them at every byte,
// and each change would cost an event.
type piece struct {
	stream string
	data   []byte
}

// add appends output to the piece of its stream.
func add(pieces []piece, stream string, data []byte) []piece {
	for i := range pieces {
		if p := &pieces[i]; p.stream == stream {
			p.data = append(p.data, data...)
			return pieces
		}
	}
	return append(pieces, piece{stream, append([]byte(nil), data...)})
}

func newRecorder(ctx context.Context, env *tools.Env) *recorder {
	r := &recorder{
		env: env, ids: map[string]string{process.Stdout: env.ArtifactID(process.Stdout), process.Stderr: env.ArtifactID(process.Stderr)},
		offset: map[string]int64{}, begun: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	r.space = sync.NewCond(&r.mu)
	r.done.Go(func() { r.send(ctx) })
	return r
}

// write takes output. It blocks while too much is waiting, and returns the error
// that ended the sending; what it was given is kept for the result also then.
func (r *recorder) write(stream string, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.size > pendingMax && r.err == nil {
		r.space.Wait()
	}
	r.pending = add(r.pending, stream, data)
	r.size += len(data)
	select {
	case r.begun <- struct{}{}:
	default:
	}
	return r.err
}

// send sends what is pending, a little after it came.
func (r *recorder) send(ctx context.Context) {
	for {
		select {
		case <-r.begun:
		case <-r.stop:
			return
		}
		t := time.NewTimer(chunkDelay)
		select {
		case <-t.C:
		case <-r.stop:
			t.Stop()
			return
		}
		if !r.flush(ctx) {
			return
		}
	}
}

// flush sends everything that is pending and reports whether that went well.
func (r *recorder) flush(ctx context.Context) bool {
	r.mu.Lock()
	batch := r.pending
	r.pending, r.size = holdBack(batch)
	r.space.Broadcast()
	r.mu.Unlock()
	for i := range batch {
		for p := &batch[i]; len(p.data) > 0; {
			n := cutAt(p.data, chunkMax)
			c := r.chunk(p.stream, p.data[:n])
			r.offset[p.stream] += int64(n)
			p.data = p.data[n:]
			// Whatever comes of it, the chunk is the runtime's now.
			if err := r.env.Emit(ctx, c); err != nil {
				r.fail(err, batch[i:])
				return false
			}
		}
	}
	return true
}

// fail keeps what was not handed over for the result and lets the command end.
func (r *recorder) fail(err error, unsent []piece) {
	r.mu.Lock()
	r.err = err
	for _, p := range r.pending {
		unsent = add(unsent, p.stream, p.data)
	}
	r.pending = unsent
	r.space.Broadcast()
	r.mu.Unlock()
}

// finish stops the sending and returns the events of what was not handed over.
func (r *recorder) finish() []event.Payload {
	close(r.stop)
	r.done.Wait()
	var out []event.Payload
	for _, p := range r.pending {
		for len(p.data) > 0 {
			n := cutAt(p.data, chunkMax)
			out = append(out, r.chunk(p.stream, p.data[:n]))
			r.offset[p.stream] += int64(n)
			p.data = p.data[n:]
		}
	}
	return out
}

func (r *recorder) chunk(stream string, data []byte) run.ShellOutput {
	return run.ShellOutput{
		ToolCallID: r.env.ToolCallID, Stream: stream, Data: event.NewText(string(data)),
		ByteOffset: r.offset[stream], ArtifactID: r.ids[stream],
	}
}

// holdBack leaves the unfinished character at the end of each piece for the next batch.
func holdBack(batch []piece) (rest []piece, size int) {
	for i := range batch {
		p := &batch[i]
		n := wholeRunes(p.data)
		if n < len(p.data) {
			rest = add(rest, p.stream, p.data[n:])
			size += len(p.data) - n
			p.data = p.data[:n]
		}
	}
	return rest, size
}

// cutAt is where to cut data so that a piece is at most n bytes and, if possible,
// no character is cut.
func cutAt(data []byte, n int) int {
	if len(data) <= n {
		return len(data)
	}
	if whole := wholeRunes(data[:n]); whole > 0 {
		return whole
	}
	return n
}

// wholeRunes is the length of data without an unfinished character at its end.
func wholeRunes(data []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		if at := len(data) - back; utf8.RuneStart(data[at]) {
			if utf8.FullRune(data[at:]) {
				return len(data)
			}
			return at
		}
	}
	return len(data)
}
