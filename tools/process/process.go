// Package process runs commands so that nothing of them stays behind: Run one to its
// end, Start one that goes on and is written to.
//
// A command gets a session of its own, no terminal, an empty standard input (of Run) and
// a short list of environment variables. When it ends, runs out of time, writes
// too much or is cancelled, or its lease is over, every process that it started is
// ended too, also those that detached themselves, and Run returns at once.
//
// On Linux a supervisor stands between this process and the command: this same
// executable, started again in a mode that SuperviseIfAsked recognises. Orphans of
// the command are handed to it by the kernel, so it can find and end them; and it
// notices if this process dies, or is stopped for longer than its lease lasts, and
// then ends everything. Where this process may make control groups (version 2) each
// command is in one of its own, and even one that kills its supervisor leaves nothing
// behind. Elsewhere the command's process group is ended, which misses
// what has left the group, and only while this process runs.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

const (
	killWait  = 900 * time.Millisecond // how long ended processes may take to be gone
	drainWait = 200 * time.Millisecond // how long more output is waited for after that
	drainMax  = 1 << 20                // bytes of it: a pipe holds less, and nobody may write for ever
	readSize  = 32 << 10
)

// The streams of a command.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Command is what to run.
type Command struct {
	Argv      []string      // a program with a slash in its name is looked for below Dir
	Dir       string        // absolute
	Env       []string      // nil: Environ()
	Set       []string      // NAME=VALUE of this command alone, instead of those of Env; its supervisor does not heed them
	Timeout   time.Duration // 0: none
	Lease     *Lease        // nil: none
	OutputMax int64         // bytes of stdout and stderr together; 0: no limit
	// TTY gives a command of Start a terminal device of its own, of TTYColumns by TTYRows
	// characters, for its input and all its output, which counts as Stdout. It is the
	// controlling terminal of the command's session. Run pays no heed to it.
	TTY bool
	// Output is handed what the command writes, in order of arrival and never
	// concurrently. It may block, which slows the command down. An error ends the command.
	Output func(stream string, data []byte) error

	input *os.File // its standard input; nil: empty
	tty   *os.File // our end of the terminal device whose other end input is; nil: there is none
}

// Result is how a command ended.
type Result struct {
	ExitCode  int    // -1 if it did not exit by itself
	Signal    string // the name of the signal that ended it, if it was none of ours
	TimedOut  bool
	Cancelled bool
	Truncated bool // it wrote more than OutputMax
	Stdout    int64
	Stderr    int64 // bytes handed to Output
	Duration  time.Duration
	Err       error // nil exactly if it exited with status 0; ErrLeaseOver if its lease ended it or kept it from starting
}

// ErrOutputLimit is the error of a command that wrote more than it may.
type ErrOutputLimit struct{ Max int64 }

func (e *ErrOutputLimit) Error() string {
	return fmt.Sprintf("command output exceeded limit of %d bytes; configure HECATE_TASK_MAX_OUTPUT_BYTES to widen", e.Max)
}

// child is a started command.
type child interface {
	exited() <-chan status // one status; closed without one if the command was lost
	gone() <-chan struct{} // closed when every process of the command has ended
	kill()                 // ends every process of the command; returns at once
	abandon()              // gives up on processes that would not go, and frees what is held
}

// status is how the command's own process ended.
type status struct {
	code   int
	signal string
	over   bool  // the supervisor ended it with its lease
	err    error // it could not be started
}

// Run runs c to its end. It returns within about a second after ctx is done, the
// time is up, the lease is over or the command's own process has exited, whatever the
// command's descendants do.
func Run(ctx context.Context, c Command) Result {
	begun := time.Now()
	r := run(ctx, c)
	r.Duration = time.Since(begun)
	return r
}

func run(ctx context.Context, c Command) Result {
	if err := ctx.Err(); err != nil {
		return Result{ExitCode: -1, Cancelled: true, Err: err}
	}
	ch, out, err := begin(c)
	if err != nil {
		return Result{ExitCode: -1, Err: err}
	}
	return follow(ctx, c, ch, out)
}

// begin starts c and reads what it writes.
func begin(c Command) (child, *output, error) {
	if !c.Lease.Valid() {
		return nil, nil, fmt.Errorf("start %s: %w", c.Argv[0], ErrLeaseOver)
	}
	if c.Env == nil {
		c.Env = Environ()
	}
	out, err := openOutput(c)
	if err != nil {
		return nil, nil, err
	}
	ch, err := start(c, out.writers)
	out.closeWriters()
	if err != nil {
		out.finish(0)
		return nil, nil, fmt.Errorf("start %s: %w", c.Argv[0], plain(err))
	}
	out.read()
	return ch, out, nil
}

// follow waits until nothing of a command is left.
func follow(ctx context.Context, c Command, ch child, out *output) Result {
	r := wait(ctx, c, ch, out.failed)
	out.finish(drainWait)
	out.report(&r)
	return r
}

// wait waits for the command or for a reason to end it.
func wait(ctx context.Context, c Command, ch child, failed <-chan error) Result {
	defer ch.abandon()
	var timeUp <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		timeUp = t.C
	}
	r, exited := Result{ExitCode: -1}, false
	select {
	case s, ok := <-ch.exited():
		r, exited = ended(c, s, ok), true
	case <-c.Lease.Done():
		r.Err = ErrLeaseOver
	case <-ctx.Done():
		r.Cancelled, r.Err = true, context.Canceled
	case <-timeUp:
		r.TimedOut, r.Err = true, context.DeadlineExceeded
	case r.Err = <-failed:
		r.Truncated = errors.As(r.Err, new(*ErrOutputLimit))
	}
	if !exited && !r.Cancelled && !c.Lease.Valid() {
		r = Result{ExitCode: -1, Err: ErrLeaseOver} // a process that was stopped finds several reasons; this was the first
	}
	ch.kill() // also after an exit: what it left in the background ends with it
	bounded(ch.gone(), killWait)
	return r
}

func ended(c Command, s status, ok bool) Result {
	switch {
	case !ok:
		return Result{ExitCode: -1, Err: errors.New("the command's supervisor was killed")}
	case s.err != nil:
		return Result{ExitCode: -1, Err: fmt.Errorf("start %s: %w", c.Argv[0], s.err)}
	case s.over:
		return Result{ExitCode: -1, Err: ErrLeaseOver}
	case s.signal != "":
		return Result{ExitCode: -1, Signal: s.signal, Err: errors.New("signal: " + s.signal)}
	case s.code != 0:
		return Result{ExitCode: s.code, Err: fmt.Errorf("exit status %d", s.code)}
	}
	return Result{}
}

func bounded(done <-chan struct{}, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// output carries what the command writes from its pipes to Command.Output.
type output struct {
	readers, writers [2]*os.File
	failed           chan error // one error, if output ended the command
	wg               sync.WaitGroup
	finishing        atomic.Bool // the command has ended

	mu      sync.Mutex
	sink    func(string, []byte) error
	room    int64 // bytes left; meaningless without a limit
	max     int64
	n       [2]int64
	limited bool
	closed  bool
}

func openOutput(c Command) (*output, error) {
	o := &output{sink: c.Output, room: c.OutputMax, max: c.OutputMax, failed: make(chan error, 2)}
	if c.tty != nil {
		o.readers[0], o.writers = c.tty, [2]*os.File{c.input, c.input}
		return o, nil
	}
	for i := range o.readers {
		var err error
		if o.readers[i], o.writers[i], err = os.Pipe(); err != nil {
			o.closeWriters()
			o.finish(0)
			return nil, fmt.Errorf("open a pipe for output: %w", err)
		}
	}
	return o, nil
}

func (o *output) closeWriters() {
	for _, w := range o.writers {
		if w != nil {
			w.Close()
		}
	}
}

func (o *output) read() {
	for i, r := range o.readers {
		if r == nil {
			continue
		}
		o.wg.Go(func() {
			buf := make([]byte, readSize)
			for left := drainMax; left > 0; {
				// A terminal device ends with EIO, when nobody has its other end any more.
				n, err := r.Read(buf)
				if n > 0 && !o.deliver(i, buf[:n]) || err != nil {
					return
				}
				if o.finishing.Load() {
					// Whatever takes what was read its time, the next piece gets its own.
					left -= n
					_ = r.SetReadDeadline(time.Now().Add(drainWait))
				}
			}
		})
	}
}

// deliver hands data on, cut at the limit, and reports whether to go on reading.
func (o *output) deliver(i int, data []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.limited {
		return false
	}
	if o.max > 0 && int64(len(data)) > o.room {
		data, o.limited = data[:o.room], true
	}
	o.room -= int64(len(data))
	o.n[i] += int64(len(data))
	if o.sink != nil && len(data) > 0 {
		if err := o.sink([]string{Stdout, Stderr}[i], data); err != nil {
			o.failed <- err
			o.closed = true
			return false
		}
	}
	if o.limited {
		o.failed <- &ErrOutputLimit{o.max}
	}
	return !o.limited
}

// finish reads what is left until there is nothing more for the given time, and closes
// the pipes. Nothing is handed on after it.
func (o *output) finish(most time.Duration) {
	o.finishing.Store(true)
	for _, r := range o.readers {
		if r != nil {
			_ = r.SetReadDeadline(time.Now().Add(most))
		}
	}
	o.wg.Wait()
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	for _, r := range o.readers {
		if r != nil {
			r.Close()
		}
	}
}

// report adds the byte counts. A command that exited just as it went over the
// limit has gone over the limit.
func (o *output) report(r *Result) {
	r.Stdout, r.Stderr = o.n[0], o.n[1]
	if o.limited && !r.TimedOut && !r.Cancelled {
		r.Truncated, r.ExitCode, r.Signal, r.Err = true, -1, "", &ErrOutputLimit{o.max}
	}
}

// plain leaves the names of system calls and paths out of an error.
func plain(err error) error {
	var p *os.PathError
	var e *exec.Error
	if errors.As(err, &p) {
		return p.Err
	} else if errors.As(err, &e) {
		return e.Err
	}
	return err
}
