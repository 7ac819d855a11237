package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Session is a command that runs while others do and reads what is written to it. It
// ends like one of Run: with its own process, when it is killed, when its lease is over
// or this process dies, and then all that it started ends with it.
//
// It is safe for concurrent use. One goroutine waits for its end and one for each stream
// reads its output; none of them outlives it.
type Session struct {
	input  *os.File // what is written to it; of a terminal device also what is read from
	kill   context.CancelFunc
	done   chan struct{}
	result Result // once done is closed
}

// ErrNotRead is the error of a write that the command did not take in time.
var ErrNotRead = errors.New("the process does not read its input")

// Start starts c and returns while it runs. c.Timeout and c.OutputMax count as in Run;
// c.Output is handed what it writes. Whoever starts a session sees to it that Kill is
// called, or waits for Done.
func Start(c Command) (*Session, error) {
	w, err := c.openInput()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	ch, out, err := begin(c)
	c.input.Close() // the command has its own
	if err != nil {
		w.Close()
		return nil, err
	}
	ctx, kill := context.WithCancel(context.Background())
	s := &Session{input: w, kill: kill, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer kill()
		defer w.Close()
		s.result = follow(ctx, c, ch, out)
		s.result.Duration = time.Since(begun)
	}()
	return s, nil
}

// openInput opens what the command reads from and returns the end to write to.
func (c *Command) openInput() (w *os.File, err error) {
	if c.TTY {
		if c.tty, c.input, err = openTTY(); err != nil {
			return nil, fmt.Errorf("open a terminal device: %w", err)
		}
		return c.tty, nil
	}
	if c.input, w, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("open a pipe for input: %w", err)
	}
	return w, nil
}

// Write gives the command input. It returns when the command, or the pipe to it, has
// taken all of it, when ctx is done, or with ErrNotRead after most; then n bytes have
// been taken. Once the command has
// ended or closed its input the error wraps os.ErrClosed. One write at a
// time; the caller sees to that.
func (s *Session) Write(ctx context.Context, data []byte, most time.Duration) (n int, err error) {
	_ = s.input.SetWriteDeadline(time.Now().Add(most)) // of a closed file it fails, as the write does
	unwatch := context.AfterFunc(ctx, func() { _ = s.input.SetWriteDeadline(time.Now()) })
	defer unwatch()
	n, err = s.input.Write(data)
	switch {
	case ctx.Err() != nil && err != nil:
		return n, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, ErrNotRead
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed):
		return n, os.ErrClosed
	case err != nil:
		return n, plain(err)
	}
	return n, nil
}

// Kill ends the command with all its processes. It returns at once; Done tells when
// they are gone, about a second later at most.
func (s *Session) Kill() { s.kill() }

// Done is closed when the command has ended, nothing of it is left and nothing more is
// handed to Command.Output.
func (s *Session) Done() <-chan struct{} { return s.done }

// Result is how the command ended, and whether it has. Of one that was killed it says
// Cancelled.
func (s *Session) Result() (r Result, ended bool) {
	select {
	case <-s.done:
		return s.result, true
	default:
		return Result{}, false
	}
}
