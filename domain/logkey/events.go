// Package logkey holds the facts about the key that signs the checkpoints of the log: that
// another one has taken its place, and whose word that is. Which key signs what, and whether
// a statement is true, is worked out in eventstore/proof.
package logkey

import "hecate/domain/event"

// Stream is where the changes of the key stand. A log has one key at a time, so it has one
// such stream.
const Stream = "audit-key"

// Rotated is recorded when the key is changed for another one that the old key vouches for.
// The first tree that the new key signs has this record in it; the old one signs none that has.
type Rotated struct {
	Old       string `json:"old_key" erased:"keep"`   // public, as golang.org/x/mod/sumdb/note writes it
	New       string `json:"new_key" erased:"keep"`   // the same of the one that signs from here on
	Reason    string `json:"reason,omitempty"`        // what the operator says
	Statement string `json:"statement" erased:"keep"` // signed note of the old key that names both, C2SP signed-note
}

// EventType names the event on the wire.
func (Rotated) EventType() string { return "log.key_rotated" }

var _ = event.Define(Rotated{
	Old: "hecate/log_0a1b2c3d4e5f60718293a4b5+6cad1673+AX…", New: "hecate/log_0a1b2c3d4e5f60718293a4b5+91d0f5aa+AQ…", Reason: "the yearly change",
	Statement: "hecate.key-rotation.v1\nhecate/log_0a1b2c3d4e5f60718293a4b5\n…\n\n— hecate/log_0a1b2c3d4e5f60718293a4b5 bK0Wcw…\n",
})

// Replaced is recorded when another key takes the place of one that is lost. Nobody but the
// operator who did it vouches for the new key.
type Replaced struct {
	Old    string `json:"old_key" erased:"keep"` // public, the one that is lost
	New    string `json:"new_key" erased:"keep"` // the same of the one that signs from here on
	Reason string `json:"reason"`                // what the operator says
	After  int64  `json:"after"`                 // records under the newest checkpoint at that time; the new key signs larger trees only
}

// EventType names the event on the wire.
func (Replaced) EventType() string { return "log.key_replaced" }

var _ = event.Define(Replaced{
	Old: "hecate/log_0a1b2c3d4e5f60718293a4b5+6cad1673+AX…", New: "hecate/log_0a1b2c3d4e5f60718293a4b5+91d0f5aa+AQ…",
	Reason: "the disk with the key broke", After: 128,
})
