package task

import (
	"hecate/domain/event"
	"hecate/domain/permission"
)

// Created defines a task. The definition never changes; only the ceiling may rise.
type Created struct {
	Definition Definition `json:"definition"`
	RequestID  string     `json:"request_id,omitempty"`
}

// EventType names the event on the wire.
func (Created) EventType() string { return "task.created" }

// Texts lists what may move out of the log.
func (e *Created) Texts() []*event.Text { return e.Definition.texts() }

var _ = event.Define(Created{Definition: Definition{
	Title: "fix the test", Prompt: event.NewText("fix the test"), ExecutionKind: "agent_loop",
	WorkspaceMode: "ephemeral", Priority: "normal", Posture: permission.PostureRuntime,
}})

// RunOpened gives the task's next number to a run and makes it the open one.
type RunOpened struct {
	RunID  string `json:"run_id"`
	Number int64  `json:"number"`
}

// EventType names the event on the wire.
func (RunOpened) EventType() string { return "task.run.opened" }

var _ = event.Define(RunOpened{RunID: "run_1", Number: 1})

// RunClosed says that the open run has ended, so that another may start.
type RunClosed struct {
	RunID  string `json:"run_id"`
	Status string `json:"status"` // completed, failed or cancelled
}

// EventType names the event on the wire.
func (RunClosed) EventType() string { return "task.run.closed" }

var _ = event.Define(RunClosed{RunID: "run_1", Status: "completed"})

// BudgetRaised lifts the ceiling for all runs of the task. It never lowers it.
type BudgetRaised struct {
	MicroUSD int64 `json:"budget_micros_usd"`
}

// EventType names the event on the wire.
func (BudgetRaised) EventType() string { return "task.budget.raised" }

var _ = event.Define(BudgetRaised{MicroUSD: 5000})

// WorkspaceRemoved is recorded before a copy that ended runs worked in is removed to free
// space. The runs stay; none can go on from them.
type WorkspaceRemoved struct {
	RunIDs  []string `json:"run_ids"` // those that worked in it
	Path    string   `json:"path"`
	Reason  string   `json:"reason"`            // age or count
	Changed bool     `json:"changed,omitempty"` // it had changes of theirs, or may have had
}

// EventType names the event on the wire.
func (WorkspaceRemoved) EventType() string { return "task.workspace.removed" }

var _ = event.Define(WorkspaceRemoved{RunIDs: []string{"run_1"}, Path: "/tmp/hecate-workspaces/task_1/run_1", Reason: "age"})

// WorkspaceShared says that another task goes on in a workspace that was made for this
// one. It stays as long as one of them needs it.
type WorkspaceShared struct {
	TaskID string `json:"task_id"` // the other one
}

// EventType names the event on the wire.
func (WorkspaceShared) EventType() string { return "task.workspace.shared" }

var _ = event.Define(WorkspaceShared{TaskID: "task_2"})

// Deleted hides the task and its runs from lists and feeds. The log keeps them.
type Deleted struct{}

// EventType names the event on the wire.
func (Deleted) EventType() string { return "task.deleted" }

var _ = event.Define(Deleted{})
