package main

import (
	"context"
	"log/slog"
	"slices"

	"github.com/caarlos0/env/v11"

	v1 "hecate/api/v1"
	"hecate/cmd/hecate/internal/client"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/runtime/permissions"
)

// permissionFiles shows the API the files that the workers decide by.
type permissionFiles struct{ files *permissions.Files }

func (f permissionFiles) Status(dir string) v1.PermissionStatus {
	return v1.PermissionStatus(f.files.Status(permissions.Project{Dir: dir}))
}

func (f permissionFiles) Accept(dir, digest string) error {
	return f.files.Accept(permissions.Project{Dir: dir}, digest)
}

func (f permissionFiles) Apply(dir string, c permission.Change) (string, error) {
	return f.files.Apply(permissions.Project{Dir: dir}, c)
}

// filesAtHand are the permission files without a server between. Nothing records what
// is changed in them.
type filesAtHand struct{ files *permissions.Files }

func (a *app) filesAtHand() filesAtHand {
	return filesAtHand{permissions.New(userConfigDir(env.ToMap(a.environ)), slog.New(slog.DiscardHandler))}
}

// Permissions does not know sessions: they stand in the log.
func (f filesAtHand) Permissions(_ context.Context, dir, _ string) (client.Permissions, error) {
	s := f.files.Status(permissions.Project{Dir: dir})
	out := client.Permissions{
		UserFile: s.UserFile, ProjectFile: s.ProjectFile, ProjectExists: s.Exists, ProjectAccepted: s.Accepted, ProjectDigest: s.Digest,
		Entries: entriesOf(s.Config.Entries), Waiting: entriesOf(s.Waiting), Shut: entriesOf(s.Shut), Locks: []client.PermissionLock{},
		Problems: []client.PermissionProblem{}, Session: []client.SessionGrant{},
	}
	for _, l := range s.Config.Locks {
		lock := client.PermissionLock{Name: l.Name, Layer: string(l.Layer), At: l.At}
		for _, p := range l.Patterns {
			lock.Patterns = append(lock.Patterns, p.String())
		}
		out.Locks = append(out.Locks, lock)
	}
	for _, p := range s.Problems {
		out.Problems = append(out.Problems, client.PermissionProblem{Layer: string(p.Layer), List: p.List, At: p.At, Refused: p.Refused, Message: p.Message})
	}
	return out, nil
}

func entriesOf(entries []permission.Entry) []client.PermissionEntry {
	out := make([]client.PermissionEntry, len(entries))
	states := permission.Explain(permission.Call{}, permission.Posture{Config: permission.Config{Entries: entries}}).Entries
	for i, e := range entries {
		out[i] = client.PermissionEntry{ID: e.ID, List: e.List, Layer: string(e.Layer), Text: e.Text(), Reason: e.Reason, At: e.At, Covers: states[i].Covers}
	}
	return out
}

func (f filesAtHand) AcceptPermissions(_ context.Context, dir, digest string) error {
	return f.files.Accept(permissions.Project{Dir: dir}, digest)
}

func (f filesAtHand) RevokeEntry(_ context.Context, dir, id string) error {
	s := f.files.Status(permissions.Project{Dir: dir})
	for _, e := range slices.Concat(s.Config.Entries, s.Waiting) {
		if e.ID == id {
			_, err := f.files.Apply(permissions.Project{Dir: dir}, permission.Change{Layer: e.Layer, List: e.List, Text: e.Text(), Remove: true})
			return err
		}
	}
	return fault.NotFound("not_found", "the permission files have no entry %s any more", id)
}
