package commands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/eventstore"
)

// GrantStream names the stream that holds the history of a permission file which no run
// changed: one for the user's own file, one for each project's.
func GrantStream(layer permission.Layer, file string) string {
	if layer != permission.LayerProject {
		return "grants-user"
	}
	sum := sha256.Sum256([]byte(file))
	return "grants-" + hex.EncodeToString(sum[:])[:24]
}

// ChangeGrants records that an entry of a permission file was changed outside of any
// run, after it was done: the file is the truth, this is its history.
func (x *Executor) ChangeGrants(ctx context.Context, m Meta, changed run.PermissionChanged) (eventstore.Appended, error) {
	m.CommandID = "" // each change of the file is one of its own
	return x.append(ctx, m, part{
		stream: GrantStream(changed.Change.Layer, changed.File), expected: eventstore.AnyVersion, events: x.now(0, changed),
	})
}

// AcceptGrants records that a project's permission file was accepted, after it was.
func (x *Executor) AcceptGrants(ctx context.Context, m Meta, accepted run.PermissionFileAccepted) (eventstore.Appended, error) {
	m.CommandID = "" // it is harmless to say twice
	return x.append(ctx, m, part{
		stream: GrantStream(permission.LayerProject, accepted.File), expected: eventstore.AnyVersion, events: x.now(0, accepted),
	})
}
