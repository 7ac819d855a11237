package dialog

import (
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
)

// The smallest screen that the dialog fits on.
const (
	ColumnsMin = 40
	RowsMin    = 10
)

// Fits reports whether a person can be asked with a dialog on these: both are a
// terminal, and it is large enough.
func Fits(in, out *os.File) bool {
	if in == nil || out == nil || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return false
	}
	columns, rows, err := term.GetSize(int(out.Fd()))
	return err == nil && columns >= ColumnsMin && rows >= RowsMin
}

// Result is how a dialog ended.
type Result struct {
	Answers     []Answer // in the order of the prompts; to all of them, unless it was closed or interrupted
	Interrupted bool     // by Ctrl-C
}

// Options are what a dialog needs beside its prompts.
type Options struct {
	Style     terminal.Style
	Interrupt string // what Ctrl-C does, for the person to read
	// Edit turns what somebody made of an offer into the new one. The error says what is
	// wrong with it.
	Edit func(p show.Prompt, text string) (permission.Offer, error)
	// Covers says which calls need no answer after one for more than once; nil: none.
	Covers Covers
	// Pause is for how long after a call appears no key is taken for an answer to it: it
	// was typed for something else.
	Pause time.Duration
}

// Dialog is an open dialog. Run it in one goroutine and close it from any.
type Dialog struct {
	program *tea.Program
}

// Open makes a dialog on a terminal. All prompts have to be ones that ask.
func Open(in, out *os.File, environ []string, prompts []show.Prompt, o Options) *Dialog {
	return &Dialog{tea.NewProgram(New(prompts, o), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(environ), tea.WithoutSignalHandler())}
}

// Run shows the dialog until all calls are answered or it is closed.
func (d *Dialog) Run() (Result, error) {
	m, err := d.program.Run()
	if err != nil && !errors.Is(err, tea.ErrProgramKilled) {
		return Result{}, fmt.Errorf("show the question: %w", err)
	}
	if model, ok := m.(*Model); ok && err == nil {
		return model.result, nil
	}
	return Result{}, nil
}

// Close ends the dialog without further answers.
func (d *Dialog) Close() { d.program.Quit() }
