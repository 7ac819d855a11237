package task

import (
	"slices"

	"hecate/domain/fault"
	"hecate/domain/run"
)

// SharersMax is how many tasks go on in the workspaces of one. All of them are told in one
// append when a workspace is removed.
const SharersMax = 15

// Segment lets d go on in the isolated workspace of an ended run of an earlier task s, byte
// for byte: what is uncommitted and untracked there included. The source that the workspace
// was made from stays d's source. The task that the workspace was made for is home, which
// is s unless s is a segment itself. The error is a fault.
// Source: agent runtime text, "Workspace modes".
func (d Definition) Segment(s State, home State, from *run.State) (Definition, error) {
	switch was := s.Definition; {
	case was.WorkspaceMode == "in_place":
		return d, fault.Invalid("invalid_request", "the run worked in its source itself; a task with workspace_mode in_place goes on there")
	case !from.Status.Terminal():
		return d, fault.Conflict("invalid_request", "task run is %s; wait for it to end or cancel it", from.Status)
	case from.WorkspacePath == "":
		return d, fault.Conflict("invalid_request", "the run never had a workspace")
	case len(home.Sharers) >= SharersMax:
		return d, fault.Conflict("invalid_request", "%d tasks go on in this workspace already; start one with a fresh workspace", SharersMax)
	default:
		d.WorkspaceMode, d.WorkingDirectory, d.Repo, d.BaseBranch, d.AllowedRoot = was.WorkspaceMode, was.WorkingDirectory, was.Repo, was.BaseBranch, was.AllowedRoot
	}
	if err := s.HasWorkspace(from.WorkspacePath); err != nil {
		return d, err
	}
	d, err := d.Normalize()
	d.Reuse = &run.Reuse{TaskID: from.Home(), RunID: from.ID, Path: from.WorkspacePath, Reach: from.Reach}
	return d, err
}

// Begin is the workspace in which the task's next run begins that goes on from no other;
// nil for one of its own. It is a conflict if that was removed.
func (s State) Begin() (*run.Reuse, error) {
	if s.Definition.Reuse == nil {
		return nil, nil
	}
	r := *s.Definition.Reuse
	if n := len(s.Runs); n > 0 {
		r.RunID = s.Runs[n-1]
	}
	if slices.Contains(s.Gone, r.Path) {
		return nil, fault.Conflict("invalid_request", "the workspace that the task goes on in was removed to free space; create another task, which gets a fresh one")
	}
	return &r, nil
}
