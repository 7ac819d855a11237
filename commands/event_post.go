package commands

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/eventstore"
)

// PostEvent is what a caller adds to a run's feed.
type PostEvent struct {
	TaskID, RunID string
	Type          string // external.event if empty
	StepID        string
	Status        string
	Note          string
	Data          map[string]any
}

// ownNamespaces are the first parts of the runtime's own event types. A caller
// may not speak in the runtime's name.
var ownNamespaces = []string{
	"run", "task", "workspace", "model", "assistant", "tool", "approval", "policy", "gap", "conversation", "artifact",
	"cost", "error", "chat", "preset", "schedule", "project", "provider", "grants", "permission", "repetition", "retention", "log", "audit", "system",
}

// snapshotKeys are members that the feed has always left out of caller events.
var snapshotKeys = []string{"run", "steps", "artifacts", "snapshot"}

// PostEvent appends a caller's event. It is accepted in any state of the run and
// moves nothing in it.
func (x *Executor) PostEvent(ctx context.Context, m Meta, c PostEvent) (eventstore.Appended, error) {
	typ, err := callerType(c.Type)
	if err != nil {
		return eventstore.Appended{}, err
	}
	if err := x.hasRun(ctx, c.TaskID, c.RunID); err != nil {
		return eventstore.Appended{}, err
	}
	data := map[string]any{}
	for k, v := range c.Data {
		if !slices.Contains(snapshotKeys, k) {
			data[k] = v
		}
	}
	for k, v := range map[string]string{"step_id": c.StepID, "status": c.Status, "note": c.Note} {
		if v != "" {
			data[k] = v
		}
	}
	return x.append(ctx, m, part{
		stream: ExternalStream(c.RunID), expected: eventstore.AnyVersion,
		events: x.now(0, run.ExternalEvent{RunID: c.RunID, TaskID: c.TaskID, Type: typ, Data: data}),
	})
}

// callerTypeMax bounds a caller's event type, in bytes.
const callerTypeMax = 200

func callerType(t string) (string, error) {
	t = strings.TrimSpace(t)
	if t == "" {
		return "external.event", nil
	}
	if len(t) > callerTypeMax || strings.ContainsFunc(t, unicode.IsControl) {
		return "", fault.Invalid("invalid_request", "the event type must have at most %d bytes and no control characters", callerTypeMax)
	}
	if first, _, _ := strings.Cut(strings.ToLower(t), "."); slices.Contains(ownNamespaces, first) {
		return "", fault.Invalid("invalid_request", "event type %q is reserved for the runtime; use a namespace of your own", t)
	}
	return t, nil
}
