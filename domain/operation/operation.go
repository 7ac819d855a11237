// Package operation is what somebody has done to the workspace of a run from outside
// of the run: a patch is applied, or taken back; the workspace is put back to an earlier
// moment; what the run has changed in its copy is taken over into the source. The request is an event in a stream of its own; a worker that reaches the
// workspace carries it out, and says in the same stream what came of it.
package operation

import (
	"time"

	"hecate/domain/event"
	"hecate/domain/fault"
)

// Kind is what is to be done.
type Kind string

// The kinds of operations.
const (
	PatchApply  Kind = "patch_apply"  // write what a patch proposes
	PatchRevert Kind = "patch_revert" // put back what a patch has changed
	Take        Kind = "take"         // put what was changed in a copy into the source
	Restore     Kind = "restore"      // put the workspace back to an earlier moment
)

// Outcome is how an operation ended.
type Outcome string

// The outcomes. Only after done and unknown can files have changed.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused" // Completed.Fault says why
	Unknown Outcome = "unknown" // its worker vanished in the midst, and what it did cannot be told
)

// Patience is how long an operation that nobody has begun waits for a worker. After
// that it is given up: whoever asked has gone on, and would be surprised.
const Patience = 10 * time.Minute

// State is what the events of an operation fold to.
type State struct {
	ID       string
	Version  int64 // of the last event folded; 0 means that there is no such operation
	Position int64 // of the last event folded that was read from the log

	Requested Requested
	At        time.Time // when it was requested
	Begun     *Begun    // the last worker that went at it; nil while none has
	Completed *Completed
}

// Apply folds one event.
func (s *State) Apply(e event.Event) {
	s.Version = e.Version
	if e.Position > 0 {
		s.Position = e.Position
	}
	switch p := e.Payload.(type) {
	case Requested:
		s.Requested, s.At = p, e.At
	case Begun:
		s.Begun = &p
	case Completed:
		s.Completed = &p
	}
}

// Late reports whether nobody has begun the operation within Patience.
func (s *State) Late(now time.Time) bool { return s.Begun == nil && now.Sub(s.At) > Patience }

// Err is what whoever asked is told of an operation that was not done; nil for one that was.
func (c Completed) Err() error {
	if c.Outcome == Done {
		return nil
	}
	return &fault.Fault{Kind: c.Fault, Code: c.Code, Message: c.Message}
}

// RefusedBy is the end of an operation that a rule refused. Of other errors the text
// is kept: they are about files, and whoever asked can do something about them.
func RefusedBy(err error) Completed {
	if f, ok := fault.Of(err); ok {
		return Completed{Outcome: Refused, Fault: f.Kind, Code: f.Code, Message: err.Error()}
	}
	return Completed{Outcome: Refused, Fault: fault.KindUnprocessable, Code: "operation_failed", Message: err.Error()}
}
