package operation

import (
	"time"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/run"
)

// Moment is a point in a run to which its workspace can be put back: before a call, or
// before an operation.
type Moment struct {
	StepID      string // of the call
	ToolCallID  string
	ToolName    string
	CallIndex   int64  // of the model call that asked for it; 0 for a direct run
	OperationID string // of the operation
	At          time.Time
	Snapshot    string           // of the workspace right before; "" if nothing has changed in the whole run so far
	Changed     []run.FileChange // by the call or the operation, at most run.FilesListedMax
	Count       int64            // of all files that it changed
}

// ID is the step, or the operation.
func (m Moment) ID() string {
	if m.OperationID != "" {
		return m.OperationID
	}
	return m.StepID
}

// lost stands for a snapshot that could not be taken.
const lost = "lost"

// Timeline is the moments of a run, as its events fold to it.
type Timeline struct {
	Moments []Moment
	First   string              // the workspace before all of its changes; "" if there were none
	Taken   *run.WorkspaceTaken // the last time that everything was put into the source; nil if never
	last    string
}

// Apply folds one event of the run.
func (t *Timeline) Apply(e event.Event) {
	switch p := e.Payload.(type) {
	case run.DispatchIntended:
		t.Moments = append(t.Moments, Moment{
			StepID: p.StepID, ToolCallID: p.ToolCallID, ToolName: p.ToolName, CallIndex: p.ModelCallIndex, Snapshot: t.last, At: e.At,
		})
	case run.WorkspaceChanged:
		t.change(p, e)
	case run.WorkspaceTaken:
		if p.Whole && p.Branch == "" {
			t.Taken = &p
		}
	}
}

func (t *Timeline) change(p run.WorkspaceChanged, e event.Event) {
	if p.Problem != "" {
		t.last = lost
		return
	}
	if t.First == "" {
		t.First = p.Before
		for i := range t.Moments {
			if t.Moments[i].Snapshot == "" {
				t.Moments[i].Snapshot = p.Before
			}
		}
	}
	if p.OperationID != "" {
		t.Moments = append(t.Moments, Moment{OperationID: p.OperationID, Snapshot: p.Before, At: e.At})
	}
	for i := range t.Moments {
		if m := &t.Moments[i]; m.ID() == p.StepID+p.OperationID && m.ID() != "" {
			m.Changed, m.Count = p.Files, p.FilesCount
		}
	}
	t.last = p.After
}

// Find returns the moment before a step, a call or an operation. Calls are named by
// their models, which may give a name again; then only the step tells them apart.
func (t *Timeline) Find(name string) (Moment, error) {
	var found []Moment
	for _, m := range t.Moments {
		if m.ID() == name {
			return t.usable(m)
		}
		if m.ToolCallID == name {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return Moment{}, fault.NotFound("not_found", "the run has no call, step or operation %q", name)
	case 1:
		return t.usable(found[0])
	}
	return Moment{}, fault.Invalid("invalid_request", "%d calls of the run are named %q; name the step instead, such as %s", len(found), name, found[0].StepID)
}

func (t *Timeline) usable(m Moment) (Moment, error) {
	switch m.Snapshot {
	case lost:
		return m, fault.Conflict("conflict", "no snapshot could be taken of the workspace before that; the run's history says why")
	case "":
		return m, fault.Conflict("conflict", "the run has changed nothing in its workspace, so there is nothing to put back")
	}
	return m, nil
}
