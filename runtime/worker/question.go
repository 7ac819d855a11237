package worker

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/runtime/workspace"
)

// ask parks the run before calls that need a person's yes.
func (a *attempt) ask(ctx context.Context, e run.Ask) error {
	q := run.Question{RememberIn: a.projectFile(), Place: a.workplace(), About: map[string]run.About{}}
	for _, c := range e.Calls {
		p := a.prepare(c)
		q.About[c.ID] = a.about(c, p)
		if p.err != nil {
			q.Lines, q.Incomplete = append(q.Lines, "unrecognized tool call"), true
			continue
		}
		q.Lines, q.Incomplete = append(q.Lines, p.Line), q.Incomplete || !p.Complete
	}
	a.stage(a.gitSummary(ctx)...)
	a.stage(a.s.RequestApproval(e, q)...)
	return a.flush(ctx)
}

// about is what a person should know of a call beside its arguments.
func (a *attempt) about(c run.ToolCall, p prepared) run.About {
	out := run.About{Files: a.scripts(c, p), ConfigFile: a.configFile(c, p)}
	out.Program, _ = a.program(p)
	return out
}

// program is what a call starts or acts on, if its arguments do not name it. Without it
// the call may come to nothing.
func (a *attempt) program(p prepared) (name string, ok bool) {
	if p.err != nil || p.Program == nil {
		return "", true
	}
	return p.Program(a.place())
}

// configFile is the permission file that a call of config_edit is about.
func (a *attempt) configFile(c run.ToolCall, p prepared) string {
	var in struct {
		File permission.Layer `json:"file"`
	}
	if c.Name != "config_edit" || p.err != nil || a.Permissions == nil || json.Unmarshal(argumentsOf(c), &in) != nil {
		return ""
	}
	if in.File == permission.LayerUser {
		return a.Permissions.UserFile()
	}
	return a.projectFile()
}

// workplace is where the calls of the run work; nil before there is a workspace.
func (a *attempt) workplace() *run.Place {
	if a.root == nil {
		return nil
	}
	source, remote := workspace.Source(a.s.Spec)
	out := &run.Place{Path: a.s.WorkspacePath, Source: source, Ref: a.ref()}
	switch {
	case a.s.Spec.WorkspaceMode == "in_place":
		out.Kind, out.Source = run.PlaceInPlace, ""
	case source == "":
		out.Kind = run.PlaceEmpty
	case remote:
		out.Kind = run.PlaceClone
	case out.Ref != "":
		out.Kind = run.PlaceWorktree
	default:
		out.Kind = run.PlaceCopy
	}
	return out
}

// headMax is how much of .git/HEAD is read, in bytes; a branch has a shorter name.
const headMax = 1 << 10

// ref is the branch that is checked out in the workspace, or the beginning of the
// commit; "" if it has no git directory of its own.
func (a *attempt) ref() string {
	f, err := a.root.Open(".git/HEAD")
	if err != nil {
		return ""
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, headMax))
	if err != nil {
		return ""
	}
	head := strings.TrimSpace(strings.ToValidUTF8(string(raw), ""))
	if branch, ok := strings.CutPrefix(head, "ref:"); ok {
		return strings.TrimPrefix(strings.TrimSpace(branch), "refs/heads/")
	}
	return head[:min(len(head), commitShown)]
}

// commitShown is how much of a commit's name is shown.
const commitShown = 12
