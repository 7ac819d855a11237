package worker

import (
	"context"
	"errors"

	"hecate/domain/permission"
	"hecate/domain/run"
)

// remember writes a grant that a person gave for good into the project's file. It
// holds for the session whether that succeeds or not; the event says which.
func (a *attempt) remember(g run.SessionGrant) {
	changed, _ := a.applyChange(g.Change())
	changed.GrantID = g.ID
	a.stage(changed)
}

// errNoFiles is what a change meets where no permission file can be reached.
var errNoFiles = errors.New("this server has no permission files; set HOME or XDG_CONFIG_HOME")

// applyChange edits a permission file. Doing it again after a crash changes nothing.
func (a *attempt) applyChange(c permission.Change) (run.PermissionChanged, error) {
	out := run.PermissionChanged{Change: c}
	err := errNoFiles
	if a.Permissions != nil {
		out.File, err = a.Permissions.Apply(a.project(), c)
	}
	if err != nil {
		out.Problem = bound(err.Error())
		return out, err
	}
	out.Saved = true
	return out, nil
}

// editConfig makes the change of a config_edit call.
func (a *attempt) editConfig(c run.ToolCall) func(context.Context, permission.Change) (string, error) {
	return func(_ context.Context, change permission.Change) (string, error) {
		changed, err := a.applyChange(change)
		changed.ToolCallID = c.ID
		a.stage(changed)
		return changed.File, err
	}
}
