package task

import (
	"slices"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/run"
)

// State is what a task's events fold to. The zero value is a task that does not exist.
type State struct {
	Exists         bool
	Deleted        bool
	Definition     Definition
	BudgetMicroUSD int64
	LastNumber     int64
	OpenRun        string   // id of the run that is not terminal, "" if there is none
	Runs           []string // ids, oldest first
	Gone           []string // paths of workspaces that were removed
	Sharers        []string // other tasks that go on in this one's workspaces
}

// Apply folds one event.
func (s *State) Apply(e event.Event) {
	switch p := e.Payload.(type) {
	case Created:
		s.Exists = true
		s.Definition = p.Definition
		s.BudgetMicroUSD = p.Definition.BudgetMicroUSD
	case RunOpened:
		s.LastNumber = p.Number
		s.OpenRun = p.RunID
		s.Runs = append(s.Runs, p.RunID)
	case RunClosed:
		if s.OpenRun == p.RunID {
			s.OpenRun = ""
		}
	case BudgetRaised:
		s.BudgetMicroUSD = max(s.BudgetMicroUSD, p.MicroUSD)
	case WorkspaceRemoved:
		s.Gone = append(s.Gone, p.Path)
	case WorkspaceShared:
		s.Sharers = append(s.Sharers, p.TaskID)
	case Deleted:
		s.Deleted = true
	}
}

// Visible returns a not-found fault for a task that does not exist, or no longer.
func (s State) Visible() error {
	if !s.Exists || s.Deleted {
		return fault.NotFound("not_found", "task not found")
	}
	return nil
}

// Open gives the next number to a run, if no other is open.
func Open(s State, runID string) (RunOpened, error) {
	if err := s.Visible(); err != nil {
		return RunOpened{}, err
	}
	if s.OpenRun != "" {
		return RunOpened{}, fault.Conflict("invalid_request", "task already has an active run (%s); wait for it or cancel it", s.OpenRun)
	}
	if s.Definition.Provider != "" && s.Definition.Model == "" {
		return RunOpened{}, fault.Unprocessable("model_not_configured", "requested_provider %q needs a requested_model; give both, or neither to choose automatically", s.Definition.Provider)
	}
	return RunOpened{RunID: runID, Number: s.LastNumber + 1}, nil
}

// Delete hides the task. Deleting it twice is a not-found fault; an open run is a conflict.
func Delete(s State) ([]event.Payload, error) {
	if err := s.Visible(); err != nil {
		return nil, err
	}
	if s.OpenRun != "" {
		return nil, fault.Conflict("invalid_request", "task has an active run (%s); cancel it first", s.OpenRun)
	}
	return []event.Payload{Deleted{}}, nil
}

// RemoveWorkspace lets a workspace go while none of the task's runs is open. Twice is as
// good as once.
func RemoveWorkspace(s State, w WorkspaceRemoved) ([]event.Payload, error) {
	if err := s.Visible(); err != nil {
		return nil, err
	}
	if s.OpenRun != "" {
		return nil, fault.Conflict("conflict", "task has an active run (%s); its workspaces stay", s.OpenRun)
	}
	if slices.Contains(s.Gone, w.Path) {
		return nil, nil
	}
	return []event.Payload{w}, nil
}

// HasWorkspace returns a conflict if the workspace that a run would go on in was removed.
func (s State) HasWorkspace(path string) error {
	if slices.Contains(s.Gone, path) {
		return fault.Conflict("invalid_request", "the run's workspace was removed to free space; retry the run instead, which makes a fresh one")
	}
	return nil
}

// HasRun returns a not-found fault if the run is not one of the task's.
func (s State) HasRun(runID string) error {
	for _, id := range s.Runs {
		if id == runID {
			return nil
		}
	}
	return fault.NotFound("not_found", "task run not found")
}

// Closed is the task's side of a run's end.
func Closed(runID string, status run.Status) RunClosed {
	return RunClosed{RunID: runID, Status: string(status)}
}
