package show

import (
	"fmt"
	"strings"

	"hecate/cmd/hecate/internal/client"
)

// taskEvent is what events of tasks, work policies and operations have in common.
type taskEvent struct {
	Definition struct {
		Title string `json:"title"`
		Name  string `json:"name"`
	} `json:"definition"`
	RunID    string `json:"run_id"`
	Number   int64  `json:"number"`
	Status   string `json:"status"`
	MicroUSD int64  `json:"budget_micros_usd"`
	Path     string `json:"path"`
	Reason   string `json:"reason"`
	Kind     string `json:"kind"`
	Preview  bool   `json:"preview"`
	NodeID   string `json:"node_id"`
	Outcome  string `json:"outcome"`
	Message  string `json:"message"`
	File     string `json:"file"`
}

// describeTask says what an event tells that stands beside runs.
func describeTask(e client.Event) (string, bool) {
	d := decode[taskEvent](e)
	switch e.Type {
	case "task.created":
		return quote(d.Definition.Title), true
	case "task.run.opened":
		return fmt.Sprintf("run %d, %s", d.Number, d.RunID), true
	case "task.run.closed":
		return d.RunID + " " + d.Status, true
	case "task.budget.raised":
		return "to " + dollars(d.MicroUSD), true
	case "task.workspace.removed":
		return d.Path + ", for its " + d.Reason, true
	case "task.deleted", "task.updated":
		return "", true
	case "preset.created", "preset.updated", "preset.deleted":
		return d.Definition.Name, true
	case "workspace.operation.requested":
		what := strings.ReplaceAll(d.Kind, "_", " ")
		if d.Preview {
			what += ": only what it would do"
		}
		return what, true
	case "workspace.operation.begun":
		return "by node " + d.NodeID, true
	case "workspace.operation.completed":
		return strings.TrimSuffix(d.Outcome+": "+d.Message, ": "), true
	case "permission.file.accepted":
		return d.File, true
	}
	return "", false
}
