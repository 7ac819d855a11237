package v1

import (
	"context"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"

	"hecate/api/envelope"
	"hecate/api/request"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/eventstore"
)

// PermissionFiles are the permission files of the server's machine. Errors that the
// caller may see are faults.
type PermissionFiles interface {
	// Status returns how the files stand that count for a directory; "" for none, so
	// that only the user's own file counts.
	Status(dir string) PermissionStatus
	// Accept puts the grants of the directory's file into force, if its bytes are those
	// that the digest names.
	Accept(dir, digest string) error
	// Apply changes an entry of a file in place and returns the file.
	Apply(dir string, c permission.Change) (file string, err error)
}

// PermissionStatus is what the files say and how they stand.
type PermissionStatus struct {
	UserFile    string // absolute; "" if there is no place for one
	ProjectFile string // absolute; "" if there is no project
	Named       bool   // a person named the project's file, so nobody needs to accept it

	Exists   bool   // the project's file is there
	Accepted bool   // its grants are in force
	Digest   string // hex SHA-256 of its bytes, for Accept; "" if it cannot be accepted as it is

	Config   permission.Config    // what is in force
	Waiting  []permission.Entry   // grants of the project's file that count once it is accepted
	Shut     []permission.Entry   // grants of files that are shut out; they count once the files are mended
	Problems []permission.Problem // of both files
}

type permissionsInput struct {
	Dir    string `query:"dir" doc:"Absolute path of a directory on the server's machine; its project's file counts. That of the task if absent." example:"/home/ada/project"`
	TaskID string `query:"task_id" doc:"A task, for what was given in the session of its latest run."`
}

type acceptRequest struct {
	Dir    string `json:"dir" doc:"Absolute path of the project, or of a directory in it."`
	Digest string `json:"digest" doc:"project_digest of what was looked at."`
}

type acceptInput struct {
	Payload required[acceptRequest]
}

type revokeEntryRequest struct {
	Dir string `json:"dir,omitempty" doc:"Absolute path of the project, or of a directory in it; needed for entries of its file."`
	ID  string `json:"id" doc:"Id of the entry."`
}

type revokeEntryInput struct {
	Payload required[revokeEntryRequest]
}

type revokeGrantRequest struct {
	GrantID string `json:"grant_id" doc:"Id of the grant, from session."`
}

type revokeGrantInput struct {
	TaskPath
	Payload required[revokeGrantRequest]
}

func (a *API) registerPermissions() {
	example := map[string]any{"object": "permissions", "data": examplePermissions}
	register(a, spec{
		id: "getPermissions", method: http.MethodGet, path: Base + "/permissions", tag: "Permissions",
		summary: "Show what is allowed and forbidden",
		description: "What the permission files of the server's machine say about a directory at this moment: the user's own and that of the directory's project. " +
			"With a task also what was given for the session of its latest run.",
		fails:   []int{http.StatusBadRequest, http.StatusNotFound},
		example: example,
	}, a.getPermissions)
	register(a, spec{
		id: "acceptPermissions", method: http.MethodPost, path: Base + "/permissions/accept", tag: "Permissions", local: true,
		summary: "Accept a project's permission file",
		description: "Puts the grants of the file into force, as long as nobody else changes it. A file that is not what the digest names is a conflict: look at it again. " +
			"Only from the server's own machine, and by those who may answer approvals.",
		fails: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
		body:  reflect.TypeFor[acceptRequest](), bodyExample: map[string]any{"dir": "/home/ada/project", "digest": examplePermissions["project_digest"]},
		example: example,
	}, a.acceptPermissions)
	register(a, spec{
		id: "revokePermission", method: http.MethodPost, path: Base + "/permissions/revoke", tag: "Permissions", local: true,
		summary: "Take an entry out of a permission file",
		description: "Removes the entry from its file in place; comments and order stay. Runs under way see it with their next call; what was given for a session stays given. " +
			"Only from the server's own machine, and by those who may answer approvals.",
		fails: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
		body:  reflect.TypeFor[revokeEntryRequest](), bodyExample: map[string]any{"dir": "/home/ada/project", "id": exampleGrant["id"]},
		example: example,
	}, a.revokePermission)
	register(a, spec{
		id: "revokeSessionGrant", method: http.MethodPost, path: Base + "/tasks/{task_id}/permissions/revoke", tag: "Permissions", keyed: true,
		summary: "End what was given for a session",
		description: "The latest run of the task, whether it goes on or has ended, and the runs that go on from it do not have the grant any more. " +
			"What was written into a permission file stays there. Only by those who may answer approvals.",
		fails: []int{http.StatusBadRequest, http.StatusNotFound},
		body:  reflect.TypeFor[revokeGrantRequest](), bodyExample: map[string]any{"grant_id": "grant_5e4d3c2b1a09f8e7d6c5b4a3"},
		example: example,
	}, a.revokeSessionGrant)
}

// pathMax bounds a path that a client names, in bytes.
const pathMax = 4 << 10

// noFiles is the answer of a server without permission files.
func noFiles() *envelope.Error {
	return envelope.New(http.StatusServiceUnavailable, envelope.TypeGateway, "this server has no permission files")
}

func checkDir(dir string) error {
	switch {
	case dir == "":
	case len(dir) > pathMax:
		return invalid("dir has %d bytes, at most %d are allowed", len(dir), pathMax)
	case !filepath.IsAbs(dir):
		return invalid("dir must be an absolute path")
	}
	return nil
}

func (a *API) getPermissions(ctx context.Context, in *permissionsInput) (*answer[permissions], error) {
	if err := checkDir(in.Dir); err != nil {
		return nil, err
	}
	item, err := a.permissionsOf(ctx, in.Dir, in.TaskID)
	return of("permissions", item), err
}

func (a *API) acceptPermissions(ctx context.Context, in *acceptInput) (*answer[permissions], error) {
	body := in.Payload.Value
	if err := a.mayEdit(ctx, body.Dir); err != nil {
		return nil, err
	}
	if body.Dir == "" || body.Digest == "" {
		return nil, invalid("dir and digest are needed: the project, and the project_digest of what was looked at")
	}
	if err := a.Permissions.Accept(body.Dir, body.Digest); err != nil {
		return nil, err
	}
	accepted := run.PermissionFileAccepted{File: a.Permissions.Status(body.Dir).ProjectFile, Digest: body.Digest}
	done, err := a.Commands.AcceptGrants(ctx, request.From(ctx).Meta(), accepted)
	return a.afterEdit(ctx, body.Dir, done, err)
}

func (a *API) revokePermission(ctx context.Context, in *revokeEntryInput) (*answer[permissions], error) {
	body := in.Payload.Value
	if err := a.mayEdit(ctx, body.Dir); err != nil {
		return nil, err
	}
	s := a.Permissions.Status(body.Dir)
	all := slices.Concat(s.Config.Entries, s.Waiting)
	i := slices.IndexFunc(all, func(e permission.Entry) bool { return e.ID == body.ID })
	if i < 0 {
		return nil, envelope.New(http.StatusNotFound, envelope.TypeNotFound, "the permission files that count for this directory have no such entry")
	}
	change := permission.Change{Layer: all[i].Layer, List: all[i].List, Text: all[i].Text(), Remove: true}
	file, err := a.Permissions.Apply(body.Dir, change)
	if err != nil {
		return nil, err
	}
	done, err := a.Commands.ChangeGrants(ctx, request.From(ctx).Meta(), run.PermissionChanged{Change: change, File: file, Saved: true})
	return a.afterEdit(ctx, body.Dir, done, err)
}

// mayEdit returns an error unless the caller may change permission files now.
func (a *API) mayEdit(ctx context.Context, dir string) error {
	if err := checkDir(dir); err != nil {
		return err
	}
	if a.Permissions == nil {
		return noFiles()
	}
	return a.mustDecide(ctx, false)
}

// afterEdit answers with the files as they are after a change, and where in the log the
// change stands.
func (a *API) afterEdit(ctx context.Context, dir string, done eventstore.Appended, err error) (*answer[permissions], error) {
	if err != nil {
		return nil, err
	}
	item, err := a.permissionsOf(ctx, dir, "")
	out := of("permissions", item)
	out.at(done.Last)
	return out, err
}

func (a *API) revokeSessionGrant(ctx context.Context, in *revokeGrantInput) (*answer[permissions], error) {
	if err := a.mustDecide(ctx, false); err != nil {
		return nil, err
	}
	r, err := a.Commands.RevokeGrant(ctx, request.From(ctx).Meta(), in.TaskID, in.Payload.Value.GrantID)
	if err != nil {
		return nil, err
	}
	item, err := a.permissionsOf(ctx, "", in.TaskID)
	if err != nil {
		return nil, err
	}
	out := of("permissions", item)
	out.at(r.Position)
	if !a.ready(ctx, r.Position) {
		out.Stale = "true"
	}
	return out, nil
}
