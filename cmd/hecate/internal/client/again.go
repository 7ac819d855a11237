package client

import (
	"context"
	"net/http"
	"net/url"

	"hecate/domain/run"
)

// RetryRun opens a run that does an ended run's task again from the beginning.
func (c *Client) RetryRun(ctx context.Context, from Run, reason string, p run.Ahead) (Run, error) {
	return c.open(ctx, RunPath(from.TaskID, from.ID)+"/retry", struct {
		Reason string `json:"reason,omitempty"`
		permissions
	}{reason, ahead(p)})
}

// ResumeRun opens a run that goes on where a failed or cancelled one stopped. A
// budget in micro-USD raises the task's ceiling; 0 leaves it.
func (c *Client) ResumeRun(ctx context.Context, from Run, reason string, budget int64, p run.Ahead) (Run, error) {
	return c.open(ctx, RunPath(from.TaskID, from.ID)+"/resume", struct {
		Reason string `json:"reason,omitempty"`
		Budget int64  `json:"budget_micros_usd,omitempty"`
		permissions
	}{reason, budget, ahead(p)})
}

// ContinueRun opens a run that takes an ended run's conversation further.
func (c *Client) ContinueRun(ctx context.Context, from Run, prompt string, p run.Ahead) (Run, error) {
	return c.open(ctx, RunPath(from.TaskID, from.ID)+"/continue", struct {
		Prompt string `json:"prompt"`
		permissions
	}{prompt, ahead(p)})
}

// BranchRun opens a run that makes one model call of an ended run again; 1 is its first.
func (c *Client) BranchRun(ctx context.Context, from Run, index int64, reason string, p run.Ahead) (Run, error) {
	return c.open(ctx, RunPath(from.TaskID, from.ID)+"/retry-from-model-call", struct {
		Index  int64  `json:"model_call_index"`
		Reason string `json:"reason,omitempty"`
		permissions
	}{index, reason, ahead(p)})
}

func (c *Client) open(ctx context.Context, path string, body any) (Run, error) {
	var out Run
	_, err := c.call(ctx, http.MethodPost, path, body, &out)
	return out, err
}

// ToolCall is one call that a run's model asked for, and how far it has come.
type ToolCall struct {
	ID              string `json:"tool_call_id"`
	Tool            string `json:"tool_name"`
	ModelCallIndex  int64  `json:"model_call_index"`
	SourceRunID     string `json:"source_run_id"` // of an inherited call: the run whose model asked for it
	SourceIndex     int64  `json:"source_model_call_index"`
	State           string `json:"state"` // not_started, running, finished or unknown
	Outcome         string `json:"outcome"`
	StepID          string `json:"step_id"`
	StepRunID       string `json:"step_run_id"`      // the earlier run in which the step stands; "" for this one
	OperatorOutcome string `json:"operator_outcome"` // done or not_done, once somebody has said so
}

// StateUnknown is the state of a call whose effect may have happened.
const StateUnknown = "unknown"

// Open reports whether nobody knows what came of the call, and nobody has said so yet.
func (t ToolCall) Open() bool { return t.State == StateUnknown && t.OperatorOutcome == "" }

// ToolCalls lists what a run's model asked for, in that order.
func (c *Client) ToolCalls(ctx context.Context, task, run string) ([]ToolCall, error) {
	var out []ToolCall
	_, err := c.call(ctx, http.MethodGet, RunPath(task, run)+"/tool-calls", nil, &out)
	return out, err
}

// SettleStep says what came of a call whose outcome is unknown: done or not_done.
func (c *Client) SettleStep(ctx context.Context, task, run, step, outcome, note string) error {
	body := struct {
		Outcome string `json:"outcome"`
		Note    string `json:"note,omitempty"`
	}{outcome, note}
	_, err := c.call(ctx, http.MethodPost, RunPath(task, run)+"/steps/"+url.PathEscape(step)+"/settle", body, nil)
	return err
}
