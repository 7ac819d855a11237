package preset

import "hecate/domain/event"

// Created is recorded when somebody writes a policy. Its id is that of the stream.
type Created struct {
	Definition Definition `json:"definition"`
}

// EventType names the event on the wire.
func (Created) EventType() string { return "preset.created" }

var _ = event.Define(Created{Definition: Definition{
	Name: "Careful", Surface: SurfaceTask, ToolsEnabled: true, Approval: ApprovalRequire, ProjectMemory: "inherit", ContextSources: "inherit",
}})

// Updated is recorded when a policy says something else. Tasks that were made from it
// keep what it said before.
type Updated struct {
	Definition Definition `json:"definition"` // all that holds from here on
}

// EventType names the event on the wire.
func (Updated) EventType() string { return "preset.updated" }

var _ = event.Define(Updated{Definition: Definition{
	Name: "Careful", Surface: SurfaceAny, ToolsEnabled: true, WritesAllowed: true, Approval: ApprovalRequire,
	ProjectMemory: "inherit", ContextSources: "inherit",
}})

// Deleted is recorded when a policy can be chosen no longer. Another one may take its id.
type Deleted struct{}

// EventType names the event on the wire.
func (Deleted) EventType() string { return "preset.deleted" }

var _ = event.Define(Deleted{})
