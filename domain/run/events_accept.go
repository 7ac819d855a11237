package run

import "hecate/domain/event"

// PermissionFileAccepted says that somebody accepted a project's permission file as it
// is: its grants are in force from here on, until the file is changed by somebody else.
type PermissionFileAccepted struct {
	File   string `json:"file"`   // absolute path
	Digest string `json:"digest"` // hex SHA-256 of its bytes
}

// EventType names the event on the wire.
func (PermissionFileAccepted) EventType() string { return "permission.file.accepted" }

var _ = event.Define(PermissionFileAccepted{File: "/home/you/project/.hecate/config.toml", Digest: "ab12"})
