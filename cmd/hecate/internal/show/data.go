package show

import (
	"encoding/json"

	"hecate/cmd/hecate/internal/client"
	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// The members of event data that are shown, by family of events. Members that are
// absent stay zero: a reader of events must bear types and members it does not know.
type (
	modelCall struct {
		Index      int64  `json:"model_call_index"`
		Model      string `json:"model"`
		Provider   string `json:"provider"`
		Kind       string `json:"kind"`
		Message    string `json:"message"`
		Reason     string `json:"reason"`
		Cost       int64  `json:"cost_micros_usd"`
		RunCost    int64  `json:"run_cumulative_cost_micros_usd"`
		CostKnown  *bool  `json:"cost_known"`
		ToolCalls  int64  `json:"tool_calls"`
		EstimateIn int64  `json:"input_tokens_estimate"`
		Attempt    int64  `json:"attempt"` // the one that failed
		WaitMS     int64  `json:"wait_ms"` // until the next one
		NextAt     string `json:"next_provider"`
		NextModel  string `json:"next_model"`
		Usage      *struct {
			Input  int64 `json:"input"`
			Output int64 `json:"output"`
		} `json:"usage"`
	}
	assistant struct {
		Index      int64           `json:"model_call_index"`
		Text       event.Text      `json:"text"`
		Summary    event.Text      `json:"summary"`
		ToolCallID string          `json:"tool_call_id"`
		ToolName   string          `json:"tool_name"`
		Input      json.RawMessage `json:"input"`
		Arguments  *string         `json:"arguments"`        // as written, if that is not Input's bytes
		Exact      []byte          `json:"arguments_base64"` // the same where it is no UTF-8
	}
	toolCall struct {
		ID         string            `json:"tool_call_id"`
		Index      int64             `json:"model_call_index"`
		StepID     string            `json:"step_id"`
		Name       string            `json:"tool_name"`
		Title      string            `json:"title"`
		Command    event.Text        `json:"command_string"`
		Stream     string            `json:"stream"`
		Data       event.Text        `json:"data"`
		Summary    string            `json:"summary"`
		Error      string            `json:"error"`
		DurationMS int64             `json:"duration_ms"`
		ExitCode   int64             `json:"exit_code"`
		Truncated  bool              `json:"hecate.tool.output_truncated"`
		Outcome    string            `json:"outcome"`
		Input      map[string]any    `json:"input"`
		Output     map[string]any    `json:"output"`
		Operation  string            `json:"operation"`
		Path       string            `json:"path"`
		Policy     string            `json:"policy"`
		Reason     string            `json:"reason"`
		Done       bool              `json:"done"` // what an operator found out
		Note       event.Text        `json:"note"`
		By         string            `json:"by"`
		Ruling     run.Ruling        `json:"ruling"`
		Gates      []permission.Gate `json:"gates"` // of a call that nobody was there to approve
		Locks      []string          `json:"locks"`
		Lock       string            `json:"lock"`           // the one that is waited for
		HeldBy     string            `json:"held_by_run_id"` // who has it
		HeldByStep string            `json:"held_by_step_id"`
	}
	lifecycle struct {
		Number    int64  `json:"number"`
		Status    string `json:"status"`
		Model     string `json:"model"`
		Provider  string `json:"provider"`
		Workspace string `json:"workspace_path"`
		NodeID    string `json:"node_id"`
		FromRun   string `json:"from_run_id"`
		FromCall  int64  `json:"source_model_call_index"` // that is made again
		Prior     int64  `json:"prior_cost_micros_usd"`
		Messages  int64  `json:"messages"`
		Calls     int64  `json:"model_call_count"`
		Message   string `json:"message"`
		Reason    string `json:"reason"`
		By        string `json:"by"`
		Comment   string `json:"comment"`
		Action    string `json:"action"`
	}
)

// decode reads an event's data. What cannot be read stays zero: one odd event is
// no reason to stop following a run.
func decode[T any](e client.Event) T {
	var out T
	_ = json.Unmarshal(e.Data, &out)
	return out
}
