package operation

import (
	"hecate/domain/fault"
	"hecate/domain/run"
)

// May returns a fault if what is asked for cannot be done as the run stands.
func (r Requested) May(s *run.State, p *Patch, t *Timeline) error {
	patch := r.Kind == PatchApply || r.Kind == PatchRevert
	if patch && p.Status == "" {
		return p.May(r.Kind)
	}
	if err := Workspace(s); err != nil {
		return err
	}
	switch {
	case patch:
		return p.May(r.Kind)
	case r.Kind == Take && s.Spec.WorkspaceMode == "in_place":
		return fault.Conflict("conflict", "the run works in its source itself, so there is nothing to take")
	case r.Kind == Restore:
		if err := Ended(s); err != nil {
			return err
		}
		_, err := t.Find(r.Restore.Before)
		return err
	}
	return nil
}

// Ended returns a fault unless the run has ended: what it knows of its workspace must
// hold as long as it may go on.
func Ended(s *run.State) error {
	if !s.Status.Terminal() {
		return fault.Conflict("conflict", "the run is %s; its workspace can be put back when it has ended: answer or cancel it first", s.Status)
	}
	return nil
}

// Workspace returns a fault unless the run's workspace may be touched from outside: the
// run must have one, and rest.
func Workspace(s *run.State) error {
	switch {
	case !s.Status.Terminal() && s.Status != run.StatusAwaitingApproval:
		return fault.Conflict("conflict", "the run is %s; its workspace is its own until it has ended or waits for an approval", s.Status)
	case s.WorkspacePath == "":
		return fault.Conflict("conflict", "the run has no workspace")
	}
	return nil
}
