package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/ident"
	"hecate/domain/permission"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
	"hecate/domain/run"
)

// auditWho is "hecate audit who".
type auditWho struct {
	serverFlags
	Run_ string `arg:"" name:"run" help:"The run."`
	Call string `arg:"" optional:"" help:"The tool call's id, or how it begins; see hecate calls RUN. Default: all calls of the run."`
	JSON bool   `name:"json" help:"Print what the log says as JSON."`
}

// Help is the long help of the command.
func (auditWho) Help() string {
	return `Says for one call of a tool what decided about it: its level, the layer and the rule, the grant that let it run, the approval, who
answered it and what proved that. Below stand the places of the log where all of this is recorded. It comes from the log alone, so
the answer is the same when the task is deleted or the permission files say something else.`
}

// evidence are the types of events that say who allowed a call.
var evidence = []string{
	"assistant.tool_call_proposed", "approval.requested", "approval.resolved", "permission.changed", "policy.tool_blocked", "tool.lock.waiting",
	"repetition.check.completed", "tool.dispatch.intended", "tool.dispatch.settled", "tool.outcome.stated",
}

// Run does the command.
func (c auditWho) Run(a *app) error {
	ctx := context.Background()
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	past, events, answers := pastCalls{grants: map[string]string{}}, []client.Event{}, map[string]client.AnsweredBy{}
	err = server.Audit(ctx, client.AuditFilter{Run: c.Run_, Types: strings.Join(evidence, ",")}, func(e client.Event) error {
		past.add(e)
		events = append(events, e)
		if id, by, ok := answererOf(e); ok {
			answers[id] = by
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the events of run %s: %w", c.Run_, err)
	}
	if len(events) > 0 {
		if err := past.grantsOf(ctx, server, events[0].TaskID); err != nil {
			return err
		}
	}
	past.complete(answers, "an entry that was written into a permission file by hand")
	calls, err := past.named(c.Call, c.Run_)
	if err != nil {
		return err
	}
	if c.JSON {
		e := json.NewEncoder(a.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(calls)
	}
	if len(calls) == 0 {
		fmt.Fprintf(a.out, "%s has called no tool\n", terminal.Line(c.Run_))
	}
	for _, call := range calls {
		call.show(a.out)
		fmt.Fprintln(a.out, "  in the log:")
		for _, e := range events {
			if speaksOf(e, call) {
				at := e.OccurredAt.Local().Format("2006-01-02 15:04:05")
				fmt.Fprintf(a.out, "    %8d  %s  %s, by %s\n", e.Sequence, at, terminal.Line(e.Type), show.ActorWords(e.Actor))
			}
		}
	}
	return nil
}

// grantsOf adds what was given in any run of the task, and written into files for it.
func (p *pastCalls) grantsOf(ctx context.Context, server *client.Client, task string) error {
	err := server.Audit(ctx, client.AuditFilter{Task: task, Types: "approval.resolved,permission.changed"}, func(e client.Event) error {
		var given run.ApprovalResolved
		if e.Type == given.EventType() && json.Unmarshal(e.Data, &given) == nil {
			for _, c := range given.Calls {
				if c.Grant != nil {
					p.grants[c.Grant.ID] = fmt.Sprintf("%s, given in %s at %d", c.Grant.Scope, e.RunID, e.Sequence)
				}
			}
		}
		var changed run.PermissionChanged
		if e.Type == changed.EventType() && json.Unmarshal(e.Data, &changed) == nil && changed.Saved && !changed.Change.Remove {
			written := fmt.Sprintf("%s, written to %s at %d", changed.Change.Text, changed.File, e.Sequence)
			p.grants[entryID(changed.Change)] = written
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read what was given in task %s: %w", task, err)
	}
	return nil
}

// entryID is the id of an entry of a permission file: the same as long as it says the same.
func entryID(c permission.Change) string {
	text := c.Text
	if p, err := pattern.Parse(text); err == nil {
		text = p.String()
	} else if h, err := host.Parse(text); err == nil {
		text = h.String()
	}
	return ident.Derive("grant", string(c.Layer), c.List, text)
}

// answererOf is who answered an approval, as the event itself says.
func answererOf(e client.Event) (approvalID string, by client.AnsweredBy, ok bool) {
	var d struct {
		ApprovalID string `json:"approval_id"`
		By         string `json:"by"`
		Comment    string `json:"comment"`
	}
	if e.Type != "approval.resolved" || json.Unmarshal(e.Data, &d) != nil {
		return "", by, false
	}
	by = client.AnsweredBy{ID: d.ApprovalID, By: d.By, Note: d.Comment}
	if e.Actor.Verified != nil { // somebody answered, not the server itself
		by.Name, by.Verified = e.Actor.Name, *e.Actor.Verified
	}
	return d.ApprovalID, by, true
}

// speaksOf reports whether an event is about the call, or about an approval that asks
// about it.
func speaksOf(e client.Event, c *pastCall) bool {
	var d struct {
		Index      int64  `json:"model_call_index"`
		ID         string `json:"tool_call_id"`
		ApprovalID string `json:"approval_id"`
	}
	if json.Unmarshal(e.Data, &d) != nil {
		return false
	}
	if d.ID != "" {
		return d.ID == c.ID && d.Index == c.Index
	}
	for _, q := range c.Asked {
		if q.ApprovalID == d.ApprovalID {
			return true
		}
	}
	return d.ApprovalID != "" && d.ApprovalID == c.Approval
}
