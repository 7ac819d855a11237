package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/projections"
)

// Types of messages.
const (
	ApprovalWaiting  = "approval.waiting"
	ApprovalResolved = "approval.resolved"
	RunEnded         = "run.ended"
)

// Default are the types that are sent unless others are named.
var Default = []string{ApprovalWaiting, RunEnded}

// Types are all types.
var Types = []string{ApprovalWaiting, ApprovalResolved, RunEnded}

// message is the body. Its fields hold ids, words of ours and numbers, and nothing that a
// model, a tool or a person has written.
type message struct {
	ID         string `json:"id"` // of the event, as the API shows it
	Type       string `json:"type"`
	OccurredAt string `json:"occurred_at"`
	TaskID     string `json:"task_id"`
	RunID      string `json:"run_id"`
	Sequence   int64  `json:"sequence"`

	ApprovalID string   `json:"approval_id,omitempty"`
	Kind       string   `json:"kind,omitempty"`     // of the approval
	Calls      int      `json:"calls,omitempty"`    // that wait for the answer
	Tools      []string `json:"tools,omitempty"`    // their names, each once
	Decision   string   `json:"decision,omitempty"` // approved, rejected or cancelled
	Status     string   `json:"status,omitempty"`   // of the run: completed, failed or cancelled
	Reason     string   `json:"reason,omitempty"`   // of a failure, such as max_model_calls_exceeded
	ModelCalls *int64   `json:"model_calls,omitempty"`

	URL string `json:"url"` // of the page in the console
}

func (m message) encode() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // & in a URL
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("write a webhook message: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// kinds are the types of messages by the events that they are about.
var kinds = map[string]string{
	run.ApprovalRequested{}.EventType(): ApprovalWaiting,
	run.ApprovalResolved{}.EventType():  ApprovalResolved,
	run.Finished{}.EventType():          RunEnded,
	run.Failed{}.EventType():            RunEnded,
	run.Cancelled{}.EventType():         RunEnded,
}

// message returns what to say about a record, if anything.
func (h *Hook) message(ctx context.Context, r *eventstore.Record) (m message, wanted bool, err error) {
	runID, ok := strings.CutPrefix(r.Stream, "run-")
	kind := kinds[r.Type]
	if !ok || kind == "" || !h.wants(kind) {
		return m, false, nil
	}
	m = message{
		ID: ident.PublicEvent(r.ID), Type: kind, OccurredAt: projections.FormatTime(r.At), RunID: runID, Sequence: r.Position,
	}
	if m.TaskID, err = h.taskOf(ctx, r.Stream); err != nil {
		return m, false, err
	}
	m.URL = link(h.c.Console, m.TaskID, runID)
	// An event of a newer schema, or that cannot be read, is still worth a message.
	payload, err := event.Decode(r.Type, r.Schema, r.Data, nil)
	if err == nil {
		m.describe(payload)
	}
	return m, true, nil
}

// describe adds what a payload says in words of ours.
func (m *message) describe(payload event.Payload) {
	switch e := payload.(type) {
	case run.ApprovalRequested:
		m.ApprovalID, m.Kind = e.ApprovalID, string(e.Kind)
		for _, call := range e.Calls {
			if call.Ruling.Decision != "ask" {
				continue
			}
			m.Calls++
			if name := toolName(call.ToolName); !slices.Contains(m.Tools, name) {
				m.Tools = append(m.Tools, name)
			}
		}
	case run.ApprovalResolved:
		m.ApprovalID, m.Kind, m.Decision = e.ApprovalID, string(e.Kind), e.Decision
	case run.Finished:
		m.Status, m.ModelCalls = string(e.FinalStatus), &e.ModelCallCount
	case run.Failed:
		m.Status, m.Reason, m.ModelCalls = string(run.StatusFailed), e.Reason, &e.ModelCallCount
	case run.Cancelled:
		m.Status = string(run.StatusCancelled)
	}
}

// names is what tools are called: a model may have named one that does not exist.
var names = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

func toolName(name string) string {
	if !names.MatchString(name) {
		return "other"
	}
	return name
}

// taskOf finds the task of a run in the run's first record.
func (h *Hook) taskOf(ctx context.Context, stream string) (string, error) {
	first, err := h.c.Log.ReadStream(ctx, stream, 0, 1)
	if err != nil {
		return "", fmt.Errorf("find the task of %s: %w", stream, err)
	}
	var created struct {
		TaskID string `json:"task_id"`
	}
	if len(first) > 0 && json.Unmarshal(first[0].Data, &created) == nil {
		return created.TaskID, nil
	}
	return "", nil // a run whose beginning is gone
}

// link is where the console shows a run.
func link(base, taskID, runID string) string {
	return strings.TrimRight(base, "/") + "/tasks/" + url.PathEscape(taskID) + "/runs/" + url.PathEscape(runID)
}
