package worker

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/runtime/permissions"
	"hecate/tools"
)

// prepared is a call whose arguments were read, or could not be.
type prepared struct {
	tools.Prepared
	err error
}

// rules are what decisions are made under at this moment.
func (a *attempt) rules() run.Rules {
	r := run.Rules{Posture: a.posture(), Repeat: a.pendingRepeat}
	r.Facts = func(c run.ToolCall) permission.Call { return a.call(c, r.Posture) }
	if r.Posture.Config.Repetition.On(a.s.Spec.Posture == permission.PostureLevels) {
		limits := r.Posture.Config.Repetition.Effective()
		r.Limits = &limits
	}
	a.watched = r.Limits != nil
	return r
}

// call is a call as decisions see it. What is refused without that is not looked up:
// a name server would see the host.
func (a *attempt) call(c run.ToolCall, under permission.Posture) permission.Call {
	p, at := a.prepare(c), a.place()
	at.Offline = true
	_, there := a.program(p)
	out := permission.Call{Tool: c.Name, Propose: p.Propose, Void: p.err != nil || !there, Facts: a.facts(p, at)}
	if !permission.NamesURL(c.Name) || permission.Decide(out, under).Decision == permission.Deny {
		return out
	}
	out.Facts = a.facts(p, a.place())
	return out
}

// posture is what the server, the files and the run say about calls at this moment.
func (a *attempt) posture() permission.Posture {
	p := permission.Posture{Policies: a.Executor.Policies, PrivateAddrs: a.Settings.HTTP.AllowPrivateIPs, Hidden: a.hidden()}
	p.ShellOffline = !a.s.Spec.Network && a.Settings.Wrapper.Holds(false, false, true) == nil
	if a.Permissions != nil {
		project := a.project()
		p.Config = a.Permissions.For(project)
		p.Project = (filepath.IsAbs(project.Dir) || filepath.IsAbs(project.File)) && !p.Config.Unaccepted
		if rel, err := filepath.Rel(a.s.WorkspacePath, project.File); err == nil && project.File != "" {
			p.Protected = []string{rel} // in a workspace that is the project itself
		}
	}
	return a.s.Posture(p)
}

// hidden are the directories of the server that stand in the workspace, below its root.
func (a *attempt) hidden() []string { return below(a.s.WorkspacePath, a.Settings.Hidden) }

// below returns those of the directories that stand in root, as paths below it.
func below(root string, dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			out = append(out, rel)
		}
	}
	return out
}

// project is what the run's permission files belong to: the original, never a copy.
func (a *attempt) project() permissions.Project {
	return permissions.Project{Dir: a.s.Spec.WorkingDirectory, File: a.s.Ahead.ProjectConfig}
}

// projectFile is where an answer for good is written; "" if there is no such place.
func (a *attempt) projectFile() string {
	if a.Permissions == nil {
		return ""
	}
	return a.Permissions.ProjectFile(a.project())
}

// facts are what a call would touch. Without them it is covered by no grant, and asks
// where a deny could be about it; so it is with a tool that panics over them.
func (a *attempt) facts(p prepared, at tools.Place) (f permission.Facts) {
	if p.Facts == nil {
		return permission.Facts{}
	}
	defer func() {
		if r := recover(); r != nil {
			a.Log.Warn("a tool cannot say what a call would touch", "run_id", a.s.ID, "panic", r)
			f = permission.Facts{}
		}
	}()
	return p.Facts(at)
}

// place is where calls act; not known before the workspace is open.
func (a *attempt) place() tools.Place {
	return tools.Place{Root: a.root, Path: a.s.WorkspacePath, Terminals: a.terminals()}
}

// prepare reads a call's arguments once. Ids are unique within one answer only, so
// what is kept goes with the answer.
func (a *attempt) prepare(c run.ToolCall) prepared {
	if p, ok := a.ready[c.ID]; ok {
		return p
	}
	var p prepared
	t, ok := a.known[c.Name]
	if !ok || t.Direct != (a.s.Spec.ExecutionKind != run.KindAgentLoop) {
		p.err = fmt.Errorf("unknown tool: %s", c.Name)
	} else {
		p = read(t, c)
	}
	a.ready[c.ID] = p
	return p
}

// read has a tool read a call's arguments. A panic in it is an answer to the model.
func read(t tools.Tool, c run.ToolCall) (p prepared) {
	defer func() {
		if r := recover(); r != nil {
			p = prepared{err: fmt.Errorf("%s tool internal error: %v", c.Name, r)}
		}
	}()
	p.Prepared, p.err = t.Prepare(argumentsOf(c))
	return p
}

// argumentsOf is the text that the model wrote; nothing at all means no arguments.
func argumentsOf(c run.ToolCall) json.RawMessage {
	text := c.Arguments.String()
	if text == "" {
		text = "{}"
	}
	return json.RawMessage(text)
}
