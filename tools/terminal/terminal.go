// Package terminal keeps processes that outlive the tool call which started them: each
// is written to and read from by later calls of the same run, and ends with the run at
// the latest. A Registry is all that one worker has open.
//
// Source: agent runtime text, terminals.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"hecate/domain/ident"
	"hecate/domain/secret"
	"hecate/tools/process"
	"hecate/tools/sandbox"
)

// writeMax is how long a process may take to read what is written to it.
const writeMax = 5 * time.Second

// Spec is what is opened.
type Spec struct {
	ID      string // see IDOf
	Step    string // that opened it
	Name    string // what runs in it, for who reads
	Dir     string // where it began, absolute
	Command process.Command
	Scanner *sandbox.Scanner // of what will be written; the terminal's own from here on
	Secrets *secret.Set      // withheld from what the process writes; nil: none
}

// Terminal is one process with an open standard input and the last of its output. It is
// safe for concurrent use.
type Terminal struct {
	id, step, name, dir string

	session *process.Session
	output  transcript

	mu      sync.Mutex // held while something is written
	scanner *sandbox.Scanner
	stuck   bool // part of an input did not get there: nobody knows what the process would make of more
}

// IDOf is the id of the terminal that a step of a run opens: no other step of any run
// opens one of the same id.
func IDOf(run, step string) string { return ident.Derive("terminal", run, step) }

func start(s Spec) (*Terminal, error) {
	t := &Terminal{id: s.ID, step: s.Step, name: s.Name, dir: s.Dir, scanner: s.Scanner, output: transcript{tty: s.Command.TTY, secrets: s.Secrets.Stream()}}
	s.Command.Output = t.output.write
	var err error
	if t.session, err = process.Start(s.Command); err != nil {
		return nil, err
	}
	return t, nil
}

// ID names the terminal within its run.
func (t *Terminal) ID() string { return t.id }

// Step is the step that opened it.
func (t *Terminal) Step() string { return t.step }

// Name is what runs in it.
func (t *Terminal) Name() string { return t.name }

// Dir is where its process began, absolute.
func (t *Terminal) Dir() string { return t.dir }

// Write gives the process input that the scanner lets pass. Errors: a *sandbox.Denied,
// or why the input cannot be checked, and then nothing was written; os.ErrClosed once the
// process has ended or does not want any more; process.ErrNotRead if it did not read in
// time, and then it gets nothing any more.
func (t *Terminal) Write(ctx context.Context, input string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stuck {
		return fmt.Errorf("part of an earlier input was not read, so nothing more can be written: %w", process.ErrNotRead)
	}
	if _, ended := t.session.Result(); !ended {
		if err := t.scanner.Scan(input); err != nil {
			return err
		}
	}
	n, err := t.session.Write(ctx, []byte(input), writeMax)
	if err != nil {
		t.stuck = !errors.Is(err, os.ErrClosed)
		return fmt.Errorf("wrote %d of %d bytes: %w", n, len(input), err)
	}
	return nil
}

// Typed is what the process would have to make something of if it got the input: with
// what it waits for the rest of; one of several texts if that is not known for certain. It
// says also what kind of input that is.
func (t *Terminal) Typed(input string) (texts []string, kind sandbox.Input) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.scanner.Whole(input), t.scanner.Kind()
}

// Tail is the end of what the process wrote, at most so many bytes and 64 KiB; cut says
// that there was more. Lines of its standard error begin with "[stderr] ", which a terminal
// device cannot tell; of that one the ends of lines are as in files.
func (t *Terminal) Tail(most int) (text string, cut bool) { return t.output.tail(most) }

// Withheld returns the names of the secrets that were withheld from what the process wrote.
func (t *Terminal) Withheld() []string { return t.output.withheld() }

// Written is how many bytes of output there were.
func (t *Terminal) Written() int64 { return t.output.size() }

// Result is how the process ended, and whether it has.
func (t *Terminal) Result() (r process.Result, ended bool) { return t.session.Result() }

// Done is closed when the process has ended with all that it started.
func (t *Terminal) Done() <-chan struct{} { return t.session.Done() }

// Kill ends the process with all that it started. It returns at once, see Done.
func (t *Terminal) Kill() { t.session.Kill() }

// Wait waits for the end of the process, and reports whether it has ended.
func (t *Terminal) Wait(ctx context.Context, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-t.Done():
	case <-timer.C:
	case <-ctx.Done():
	}
	_, ended := t.Result()
	return ended
}
