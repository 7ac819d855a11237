// Package runs folds the streams of tasks and runs into what clients read about
// them: tasks, runs, steps, artifacts, approvals, notes and conversations.
//
// They are one model with one checkpoint, because they are read together: a run that
// is shown as finished never comes with a step that is still running. Each stream
// folds by itself; what a task says about its latest run, and what a run inherits from
// earlier ones, is joined when it is read.
//
// The cost of an event depends neither on the length of its run nor on the size of
// what the run has made: contents and messages are appended in pieces and put
// together when they are read, and of a run's rows only those that changed are
// written. A text over event.InlineMax stays in the log's blobs; the row refers to it.
package runs

import (
	"hecate/domain/erasure"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/migrations/readmodel"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// Name is the model's name, for runner.WaitFor and the like.
const Name = "runs"

// version counts changes of the tables or of what a fact means in them.
const version = 7

// Model is the read model of tasks and runs.
type Model struct {
	Log Streams // what is left of tasks after an erasure is read from it
}

// Name returns Name.
func (Model) Name() string { return Name }

// Version returns the version of the code and the tables.
func (Model) Version() int64 { return version }

// Schema makes the tables.
func (Model) Schema() string { return readmodel.Runs }

// Wants reports whether facts of this type change what is shown.
func (Model) Wants(eventType string) bool { return wanted[eventType] }

// NewFold returns a fold that knows nothing yet.
func (m Model) NewFold() runner.Fold { return newFold(m.Log) }

// wanted holds the facts that matter. The others repeat them for followers, such as
// assistant.text_complete and run.resumed_from_event, or say nothing that is shown here.
var wanted = types(
	task.Created{}, task.RunOpened{}, task.BudgetRaised{}, task.WorkspaceRemoved{}, task.Deleted{},
	run.Created{}, run.Queued{}, run.Started{}, run.AwaitingApproval{}, run.Disconnected{}, run.Finished{}, run.Failed{}, run.Cancelled{},
	run.ApprovalRequested{}, run.ApprovalResolved{},
	run.Claimed{}, run.Warned{}, run.ConversationInherited{}, run.ConversationSeeded{},
	run.ModelCallStarted{}, run.ModelCallRetrying{}, run.ModelResponseRecorded{}, run.ModelCallCompleted{}, run.ModelCallFailed{}, run.ModelCallAbandoned{},
	run.FinalAnswer{}, run.DispatchIntended{}, run.DispatchSettled{}, run.OutcomeStated{},
	run.ShellCommand{}, run.ShellOutput{}, run.ShellExited{}, run.ToolFailed{}, run.ToolCancelled{}, run.ToolTimedOut{},
	run.FilePatch{}, run.FileApplied{}, run.FileReverted{}, run.ArtifactRecorded{},
	erasure.Erased{},
	run.ProgressCheckStarted{}, run.ProgressCheckCompleted{}, run.LockWaiting{}, run.PermissionChanged{}, run.PermissionRevoked{},
)

func types(payloads ...event.Payload) map[string]bool {
	out := map[string]bool{}
	for _, p := range payloads {
		out[p.EventType()] = true
	}
	return out
}

const (
	streamTask   = "task-"
	streamRun    = "run-"
	streamGrants = "grants-" // changes of permission files that no run made
)

func ints(names ...string) []readdb.Column  { return columns(readdb.Int, names) }
func texts(names ...string) []readdb.Column { return columns(readdb.Text, names) }

func columns(t readdb.Type, names []string) []readdb.Column {
	out := make([]readdb.Column, len(names))
	for i, n := range names {
		out[i] = readdb.Column{Name: n, Type: t}
	}
	return out
}

func table(name string, key int, groups ...[]readdb.Column) *readdb.Table {
	t := &readdb.Table{Name: "hecate_view_" + name + "_@", Key: key}
	for _, g := range groups {
		t.Columns = append(t.Columns, g...)
	}
	return t
}

var (
	doc = []readdb.Column{{Name: "doc", Type: readdb.Bytes}}

	tasksTable     = table("tasks", 1, texts("task_id"), ints("pos"), texts("project_id", "latest_run", "words"), doc)
	runsTable      = table("runs", 1, ints("pos"), texts("run_id", "task_id"), ints("number"), texts("status"), ints("since", "waiting"), texts("request"), doc)
	stepsTable     = table("steps", 2, ints("run", "idx", "pos"), texts("step_id"), ints("pending"), doc)
	artifactsTable = table("artifacts", 2, ints("run"), texts("artifact_id"), ints("pos", "pending"), doc)
	partsTable     = table("parts", 3, ints("run"), texts("artifact_id"), ints("part", "kind"), []readdb.Column{{Name: "body", Type: readdb.Bytes}})
	approvalsTable = table("approvals", 2, ints("run"), texts("approval_id"), ints("pos", "pending"), doc)
	notesTable     = table("notes", 2, ints("run", "pos"), doc)
	messagesTable  = table("messages", 2, ints("run", "idx", "version", "call"), doc)
	inheritedTable = table("inherited", 2, ints("run", "idx"), texts("source"), []readdb.Column{{Name: "versions", Type: readdb.Bytes}})
)
