package feed

import (
	"context"
	"encoding/json"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
)

// Log is the part of the event store that the feed reads.
type Log interface {
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error)
	ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error)
	ReadAt(ctx context.Context, positions []int64) ([]eventstore.Record, error)
	Head(ctx context.Context) (int64, error)
	Wait(ctx context.Context, after int64) error
	Blob(ctx context.Context, digest string) ([]byte, error)
}

// current is the schema version of every type that this build knows.
var current = currentSchemas()

func currentSchemas() map[string]int {
	out := map[string]int{}
	for _, d := range event.Definitions() {
		out[d.Type] = d.Schema
	}
	return out
}

// rewritten are the types whose public data is not what the log holds.
var rewritten = map[string]bool{
	run.Created{}.EventType():               true,
	run.Queued{}.EventType():                true,
	run.Started{}.EventType():               true,
	run.ModelCallCompleted{}.EventType():    true,
	run.ModelCallFailed{}.EventType():       true,
	run.ConversationSeeded{}.EventType():    true,
	run.ConversationInherited{}.EventType(): true,
	run.ModelResponseRecorded{}.EventType(): true,
	run.AssistantText{}.EventType():         true,
	run.AssistantThinking{}.EventType():     true,
	run.ToolCallProposed{}.EventType():      true,
	run.FinalAnswer{}.EventType():           true,
	run.ShellCommand{}.EventType():          true,
	run.ShellOutput{}.EventType():           true,
	run.FilePatch{}.EventType():             true,
	run.DispatchSettled{}.EventType():       true,
	run.ArtifactRecorded{}.EventType():      true,
	run.ApprovalRequested{}.EventType():     true,
	run.OutcomeStated{}.EventType():         true,

	run.ProgressCheckCompleted{}.EventType(): true,
}

// presenter turns records into items. It is used by one goroutine at a time.
type presenter struct {
	log       Log
	responses responses
}

func newPresenter(log Log) *presenter { return &presenter{log: log} }

// item returns the public form of a record of a run.
func (p *presenter) item(ctx context.Context, r *eventstore.Record, taskID, runID string) (*Item, error) {
	if r.Type == (run.ExternalEvent{}).EventType() {
		return external(r, taskID, runID)
	}
	data, err := p.data(ctx, r)
	if err != nil {
		return nil, err
	}
	return newItem(r, taskID, runID, r.Type, data)
}

// data returns the public data of a record.
func (p *presenter) data(ctx context.Context, r *eventstore.Record) (json.RawMessage, error) {
	p.responses.keep(r)
	schema, known := current[r.Type]
	if !known || r.Schema == schema && !rewritten[r.Type] && !private(r) {
		own, _ := event.SplitWithheld(r.Data)
		return object(own), nil
	}
	payload, err := decoded(ctx, p.log, r)
	if err != nil {
		return nil, err
	}
	if u, ok := payload.(event.Unknown); ok { // a newer schema, or bytes that cannot be read
		return object(u.Data), nil
	}
	if private(r) {
		return marshal(inlined(payload))
	}
	p.responses.wasRead(r, payload)
	shown, err := p.show(ctx, r, payload)
	if err != nil {
		return nil, err
	}
	return marshal(shown)
}

// show returns what clients see of a payload.
func (p *presenter) show(ctx context.Context, r *eventstore.Record, payload event.Payload) (any, error) {
	switch e := payload.(type) {
	case run.Created:
		return created(e), nil
	case run.Queued:
		return queued(e), nil
	case run.Started:
		return started(e), nil
	case run.ModelCallCompleted:
		return callCompleted(e), nil
	case run.ModelCallFailed:
		return callFailed(e), nil
	case run.ConversationSeeded:
		return map[string]int{"messages": len(e.Messages)}, nil
	case run.ConversationInherited:
		return inherited{e.FromRunID, len(e.Messages)}, nil
	case run.ModelResponseRecorded:
		return responseRecorded(e), nil
	case run.AssistantText, run.AssistantThinking, run.ToolCallProposed, run.FinalAnswer:
		return p.assistant(ctx, r, payload)
	case run.ShellCommand:
		return shellCommand(e), nil
	case run.ShellOutput:
		return shellOutput(e), nil
	case run.FilePatch:
		return filePatch(e), nil
	case run.DispatchSettled:
		return settled(e), nil
	case run.ArtifactRecorded:
		return artifactRecorded(e), nil
	case run.ApprovalRequested:
		e.Summary, e.SummaryIncomplete = nil, false // shown with the approval only
		return e, nil
	case run.OutcomeStated:
		return outcomeStated(e), nil
	case run.ProgressCheckCompleted:
		return checkCompleted(e), nil
	}
	return payload, nil
}

// external is a caller's event under the caller's own type.
func external(r *eventstore.Record, taskID, runID string) (*Item, error) {
	var e struct {
		TaskID string          `json:"task_id"`
		Type   string          `json:"type"`
		Data   json.RawMessage `json:"data"` // numbers stay as the caller wrote them
	}
	if err := json.Unmarshal(r.Data, &e); err != nil || e.Type == "" {
		return newItem(r, taskID, runID, r.Type, object(r.Data))
	}
	return newItem(r, taskID, runID, e.Type, object(e.Data))
}

// object returns data if it is a JSON object, else {}: data is always an object.
func object(data []byte) json.RawMessage {
	for _, c := range data {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			if json.Valid(data) {
				return data
			}
		}
		break
	}
	return json.RawMessage("{}")
}
