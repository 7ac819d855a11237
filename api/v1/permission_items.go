package v1

import (
	"context"

	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
)

// permissions is what is allowed and forbidden, as clients see it.
type permissions struct {
	UserFile        string                `json:"user_file,omitempty" doc:"The user's own file, whether it exists or not; absent if there is no place for one."`
	ProjectFile     string                `json:"project_file,omitempty" doc:"The file of the project, whether it exists or not; absent if there is no project."`
	ProjectExists   bool                  `json:"project_exists" doc:"Whether the project's file is there."`
	ProjectAccepted bool                  `json:"project_accepted" doc:"Whether its grants are in force. What it forbids is in any case."`
	ProjectDigest   string                `json:"project_digest,omitempty" doc:"Names its bytes, to accept them; absent if it cannot be accepted as it is."`
	Entries         []permissionEntry     `json:"entries" doc:"What is in force, the user's entries first."`
	Waiting         []permissionEntry     `json:"waiting" doc:"Grants of the project's file that count once it is accepted."`
	Shut            []permissionEntry     `json:"shut_out" doc:"Grants of files that cannot be read as a whole, as far as they can be; they are not in force and count once the files are mended."`
	Locks           []permissionLock      `json:"locks" doc:"Names that calls take turns by."`
	Repetition      permissionGuard       `json:"repetition" doc:"The limits of the repetition guard."`
	Problems        []permission.Problem  `json:"problems" doc:"What is wrong with the files, and what to do about it."`
	Session         []permissionInSession `json:"session" doc:"What was given for the session of the task's latest run, and not revoked."`
}

// permissionEntry is one entry of a file.
type permissionEntry struct {
	ID     string `json:"id" doc:"The same for the same list, file and text."`
	List   string `json:"list" doc:"The list that it stands in." enum:"permissions.deny,permissions.approve,permissions.promoted,network.deny,network.allow,network.promoted"`
	Layer  string `json:"layer" doc:"Whose file." enum:"user,project"`
	Text   string `json:"text" doc:"A pattern, or a host, in its normal form."`
	Reason string `json:"reason,omitempty" doc:"Beside the entry. Of what is forbidden the model is told it, of a grant nobody."`
	At     string `json:"at" doc:"File and line."`
	Covers string `json:"covers,omitempty" doc:"Of a grant: what it covers, in words."`
}

// permissionLock is one lock of a file.
type permissionLock struct {
	Name     string   `json:"name"`
	Patterns []string `json:"patterns" doc:"The calls that take it."`
	Layer    string   `json:"layer" doc:"Whose file." enum:"user,project"`
	At       string   `json:"at" doc:"File and line."`
}

// permissionGuard is what the files say about the repetition guard.
type permissionGuard struct {
	Enabled *bool             `json:"enabled,omitempty" doc:"Whether it watches; absent if no file says so, and then it watches in the levels posture."`
	Limits  repetition.Limits `json:"limits" doc:"The limits that hold, in attempts."`
}

// permissionInSession is what a person gave for the session.
type permissionInSession struct {
	ID    string `json:"id"`
	Scope string `json:"scope" doc:"A pattern, or a host."`
	Host  bool   `json:"host" doc:"Whether the scope is a host."`
	RunID string `json:"run_id" doc:"The run that has it."`
}

// permissionsOf says what holds in a directory, or in that of the task if none is
// named, and in the session of the task.
func (a *API) permissionsOf(ctx context.Context, dir, taskID string) (permissions, error) {
	session := []permissionInSession{}
	if taskID != "" {
		s, err := a.Commands.LatestRun(ctx, taskID)
		if err != nil {
			return permissions{}, err
		}
		for _, g := range s.Session {
			session = append(session, permissionInSession{ID: g.ID, Scope: g.Scope, Host: g.Host, RunID: s.ID})
		}
		if dir == "" {
			t, err := a.Commands.LoadTask(ctx, taskID)
			if err != nil {
				return permissions{}, err
			}
			dir = t.Definition.WorkingDirectory
		}
	}
	var status PermissionStatus
	if a.Permissions != nil {
		status = a.Permissions.Status(dir)
	}
	out := status.item()
	out.Session = session
	return out, nil
}

func (s PermissionStatus) item() permissions {
	out := permissions{
		UserFile: s.UserFile, ProjectFile: s.ProjectFile, ProjectExists: s.Exists, ProjectAccepted: s.Accepted, ProjectDigest: s.Digest,
		Entries: entryItems(s.Config.Entries), Waiting: entryItems(s.Waiting), Shut: entryItems(s.Shut), Locks: []permissionLock{}, Problems: s.Problems,
		Repetition: permissionGuard{Enabled: s.Config.Repetition.Enabled, Limits: s.Config.Repetition.Effective()},
	}
	if out.Problems == nil {
		out.Problems = []permission.Problem{}
	}
	for _, l := range s.Config.Locks {
		lock := permissionLock{Name: l.Name, Layer: string(l.Layer), At: l.At, Patterns: []string{}}
		for _, p := range l.Patterns {
			lock.Patterns = append(lock.Patterns, p.String())
		}
		out.Locks = append(out.Locks, lock)
	}
	return out
}

func entryItems(entries []permission.Entry) []permissionEntry {
	out := make([]permissionEntry, len(entries))
	// What an entry covers is part of how it stands to a call, whatever that is.
	states := permission.Explain(permission.Call{}, permission.Posture{Config: permission.Config{Entries: entries}}).Entries
	for i, e := range entries {
		out[i] = permissionEntry{ID: e.ID, List: e.List, Layer: string(e.Layer), Text: e.Text(), Reason: e.Reason, At: e.At, Covers: states[i].Covers}
	}
	return out
}
