package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"

	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/projections"
)

// Conversation returns the messages of a run in order, with what has arrived of an
// answer that is under way. A run without a conversation is a not-found fault.
func (v *Views) Conversation(ctx context.Context, taskID, runID string) ([]projections.Message, error) {
	return view(ctx, v, func(q query) ([]projections.Message, error) {
		r, err := q.run(ctx, taskID, runID)
		if err != nil {
			return nil, err
		}
		if r.doc.Talk == nil {
			return nil, fault.NotFound("not_found", "task run has no conversation")
		}
		return q.messages(ctx, r)
	})
}

// conversation is the artifact that is put together from the messages.
func (q query) conversation(ctx context.Context, r foundRun, bodies bool) (projections.Artifact, error) {
	description := "Agent loop conversation snapshot before the first model call"
	if r.doc.Call > 0 {
		description = "Agent loop conversation snapshot after model call " + strconv.FormatInt(r.doc.Call, 10)
	}
	item := projections.Artifact{
		ID: run.ConversationID(r.item.ID), TaskID: r.item.TaskID, RunID: r.item.ID, Kind: "agent_conversation",
		Name: "agent-conversation.json", Description: description, MIMEType: "application/json", StorageKind: "inline",
		Status: r.doc.Talk.Status, CreatedAt: projections.FormatTime(r.doc.Talk.CreatedAt),
		RequestID: r.item.RequestID, TraceID: r.item.TraceID, Position: r.doc.Talk.Pos,
	}
	if !bodies {
		return item, nil
	}
	messages, err := q.messages(ctx, r)
	if err != nil {
		return item, err
	}
	content, err := json.Marshal(messages)
	if err == nil {
		setContent(&item, content)
	}
	return item, err
}

func (q query) messages(ctx context.Context, r foundRun) ([]projections.Message, error) {
	inherited, err := q.inherited(ctx, r)
	if err != nil {
		return nil, err
	}
	own, err := list(ctx, q, `SELECT doc FROM hecate_view_messages_@ WHERE run = $1 ORDER BY idx`, scanMessage, r.pos)
	if err != nil {
		return nil, err
	}
	found := append(inherited, own...)
	out := make([]projections.Message, 0, len(found)+1)
	for _, m := range found {
		shown, err := q.message(ctx, m)
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
	}
	if r.doc.Talk.Status == "streaming" {
		if text, ok := q.v.partial(ctx, r.item.ID); ok && text != "" {
			out = append(out, projections.Message{Role: string(run.RoleAssistant), Content: text})
		}
	}
	return out, nil
}

// inherited returns the messages of earlier runs that the run's conversation begins with.
func (q query) inherited(ctx context.Context, r foundRun) ([]run.Message, error) {
	var out []run.Message
	wanted := map[int64][]int64{} // versions by piece
	err := q.tx.Query(ctx, `SELECT idx, versions FROM hecate_view_inherited_@ WHERE run = $1`, func(rows *sql.Rows) error {
		var idx int64
		var versions []int64
		err := scanDoc(rows, &versions, &idx)
		wanted[idx] = versions
		return err
	}, r.pos)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	err = q.tx.Query(ctx, `SELECT i.idx, m.version, m.doc FROM hecate_view_inherited_@ i
		JOIN hecate_view_runs_@ r ON r.run_id = i.source
		JOIN hecate_view_messages_@ m ON m.run = r.pos
		WHERE i.run = $1 ORDER BY i.idx, m.idx`, func(rows *sql.Rows) error {
		var idx, version int64
		var raw sql.RawBytes
		if err := rows.Scan(&idx, &version, &raw); err != nil {
			return err
		}
		if _, ok := slices.BinarySearch(wanted[idx], version); !ok {
			return nil // no part of what was taken over
		}
		var m run.Message
		err := json.Unmarshal(raw, &m)
		out = append(out, m)
		return err
	}, r.pos)
	return out, err
}

func (q query) message(ctx context.Context, m run.Message) (out projections.Message, err error) {
	out.Role, out.ToolCallID, out.ToolError = string(m.Role), m.ToolCallID, m.ToolError
	if out.Content, err = q.text(ctx, m.Content); err != nil {
		return out, err
	}
	for _, c := range m.ToolCalls {
		arguments, err := q.text(ctx, c.Arguments)
		if err != nil {
			return out, err
		}
		out.ToolCalls = append(out.ToolCalls, projections.MessageToolCall{
			ID: c.ID, Type: "function", Function: projections.MessageFunction{Name: c.Name, Arguments: arguments},
		})
	}
	return out, nil
}

// messageText is the text of the message that an event of the run's stream brought.
func (q query) messageText(ctx context.Context, of int64, version string) ([]byte, error) {
	number, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return nil, err
	}
	found, err := list(ctx, q, `SELECT doc FROM hecate_view_messages_@ WHERE run = $1 AND version = $2 ORDER BY idx`, scanMessage, of, number)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	text, err := q.text(ctx, found[0].Content)
	return []byte(text), err
}

func scanMessage(rows *sql.Rows) (m run.Message, err error) {
	err = scanDoc(rows, &m)
	return m, err
}
