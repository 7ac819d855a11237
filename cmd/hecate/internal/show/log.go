package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/run"
)

// Log writes a history: one line per event with its position, time and type.
type Log struct {
	out   io.Writer
	style terminal.Style
	last  time.Time

	workspace string
	node      string // whose worker had the run last
	bundles   Bundles
	doubts    Doubts
}

// NewLog returns a Log that writes to out.
func NewLog(out io.Writer, style terminal.Style) *Log { return &Log{out: out, style: style} }

const (
	typeColumns    = 28
	textColumnsMin = 24
	textColumnsMax = 160 // --json has all of it
	textIndent     = 8   // below the time, where it does not fit beside the type
)

// Event writes one line.
func (l *Log) Event(e client.Event) {
	l.bundles.Add(e)
	l.doubts.Add(e)
	at := e.OccurredAt.Local()
	if at.YearDay() != l.last.YearDay() || at.Year() != l.last.Year() {
		fmt.Fprintln(l.out, l.style.Dim(at.Format("2006-01-02 (MST)")))
	}
	l.last = at
	name, text := terminal.Line(e.Type), terminal.Cut(l.describe(e), textColumnsMax)
	head := fmt.Sprintf("%6d  %s  ", e.Sequence, at.Format("15:04:05.000"))
	room := l.style.Columns - len(head) - typeColumns - 2
	if l.style.Columns > 0 && room < textColumnsMin {
		l.narrow(e, name, text)
		return
	}
	if l.style.Columns > 0 {
		text = terminal.Cut(text, room)
	}
	pad := strings.Repeat(" ", max(typeColumns-terminal.Columns(name), 0))
	line := l.style.Dim(head) + l.paint(e, name) + pad + "  " + text
	fmt.Fprintln(l.out, strings.TrimRight(line, " "))
}

// narrow writes what there is to say on a line of its own.
func (l *Log) narrow(e client.Event, name, text string) {
	head := fmt.Sprintf("%6d  %s  ", e.Sequence, l.last.Format("15:04:05"))
	fmt.Fprintln(l.out, l.style.Dim(head)+l.paint(e, name))
	if text != "" {
		fmt.Fprintln(l.out, strings.Repeat(" ", textIndent)+terminal.Cut(text, l.style.Columns-textIndent))
	}
}

// Unknown lists the calls of the run whose outcome nobody knows so far.
func (l *Log) Unknown(runID string) []Doubt { return l.doubts.All(&l.bundles, runID) }

func (l *Log) paint(e client.Event, name string) string {
	eventType := e.Type
	switch {
	case eventType == "tool.dispatch.settled" && decode[toolCall](e).Outcome == client.StateUnknown:
		return l.style.Red(name)
	case strings.HasSuffix(eventType, "failed"), strings.HasSuffix(eventType, "blocked"), strings.HasSuffix(eventType, "timed_out"):
		return l.style.Red(name)
	case strings.HasPrefix(eventType, "approval."), strings.HasPrefix(eventType, "gap."), eventType == "run.warning",
		eventType == "model.call.retrying", eventType == "model.call.abandoned", eventType == "tool.outcome.stated":
		return l.style.Yellow(name)
	case eventType == "run.finished":
		return l.style.Green(name)
	case strings.HasPrefix(eventType, "model."), strings.HasPrefix(eventType, "assistant."):
		return l.style.Cyan(name)
	}
	return name
}

// describe says on one line what an event tells beyond its type.
func (l *Log) describe(e client.Event) string {
	family, _, _ := strings.Cut(e.Type, ".")
	text, known := "", false
	switch family {
	case "model", "assistant":
		text, known = describeModel(e)
	case "tool", "policy":
		text, known = l.describeTool(e)
	case "conversation":
		text, known = describeConversation(e), true
	case "artifact":
		text, known = decode[struct {
			Name string `json:"name"`
		}](e).Name, true
	case "run", "gap", "approval", "task":
		text, known = l.describeRun(e)
	case "permission", "repetition":
		text, known = describePermission(e)
	case "workspace":
		text, known = describeWorkspace(e)
	}
	if !known {
		text, known = describeTask(e)
	}
	if !known {
		text, known = describeOwn(e)
	}
	if !known {
		var compact bytes.Buffer
		if json.Compact(&compact, e.Data) != nil || compact.String() == "{}" {
			return ""
		}
		text = terminal.Cut(compact.String(), 120)
	}
	return terminal.Line(text)
}

func describeModel(e client.Event) (string, bool) {
	d, a := decode[modelCall](e), decode[assistant](e)
	switch e.Type {
	case "model.call.started":
		return fmt.Sprintf("call %d, %s, about %s in", d.Index, route(d.Provider, d.Model), Count(d.EstimateIn, "token")), true
	case "model.call.completed":
		known := d.Cost > 0 || d.CostKnown != nil && *d.CostKnown
		return fmt.Sprintf("call %d, cost %s, %s", d.Index, Cost(d.Cost, known), Count(d.ToolCalls, "tool call")), true
	case "model.call.failed":
		return fmt.Sprintf("call %d: %s", d.Index, d.Message), true
	case "model.call.retrying":
		return fmt.Sprintf("%s; %s (call %d, attempt %d): %s", d.trouble(), d.next(), d.Index, d.Attempt, d.Message), true
	case "model.call.abandoned":
		return fmt.Sprintf("call %d: %s", d.Index, d.Reason), true
	case "model.response.recorded":
		return fmt.Sprintf("call %d", d.Index), true
	case "assistant.text_complete", "assistant.thinking_complete":
		return quote(a.Text.String()), true
	case "assistant.final_answer":
		return quote(a.Summary.String()), true
	case "assistant.tool_call_proposed":
		return Call{ID: a.ToolCallID, Tool: a.ToolName, Input: a.Input}.Summary(), true
	}
	return "", false
}

func describeConversation(e client.Event) string {
	d := decode[lifecycle](e)
	if e.Type != "conversation.inherited" {
		return ""
	}
	text := "that of " + d.FromRun
	if d.Messages > 0 {
		text += ", and " + Count(d.Messages, "message") + " more"
	}
	return text
}

func describePermission(e client.Event) (string, bool) {
	switch e.Type {
	case "permission.changed":
		return changed(decode[run.PermissionChanged](e)), true
	case "permission.revoked":
		return revoked(decode[run.PermissionRevoked](e)), true
	case "repetition.check.started":
		return checks(decode[run.ProgressCheckStarted](e)), true
	case "repetition.check.completed":
		return checked(decode[run.ProgressCheckCompleted](e)), true
	}
	return "", false
}

func (l *Log) describeTool(e client.Event) (string, bool) {
	d := decode[toolCall](e)
	switch e.Type {
	case "tool.dispatch.intended":
		return strings.TrimSuffix(d.Title, " (dispatching)"), true
	case "tool.lock.waiting":
		return d.Name + " is " + d.lockWait(), true
	case "tool.outcome.stated":
		return d.Name + ": " + d.stated(), true
	case "tool.dispatch.settled":
		if d.Outcome == client.StateUnknown {
			return d.Name + ": outcome unknown; it may have taken effect, and is not run again", true
		}
		if d.Error != "" {
			return d.Title + ": " + firstLine(d.Error), true
		}
		return d.Title, true
	case "tool.shell.command":
		return "$ " + d.Command.String(), true
	case "tool.shell.output_chunk":
		if e.ErasedBy != 0 {
			return d.Stream + ", erased", true
		}
		return fmt.Sprintf("%s, %s", d.Stream, Count(d.Data.Len(), "byte")), true
	case "tool.shell.exited":
		return fmt.Sprintf("exit code %d", d.ExitCode), true
	case "tool.invoked", "tool.started":
		return d.Name, true
	case "tool.completed", "tool.failed", "tool.cancelled", "tool.timed_out":
		return failure(e.Type, d), d.Summary != "" || d.Error != ""
	case "tool.file.patch", "tool.file.applied", "tool.file.reverted":
		return strings.TrimSpace(d.Operation + " " + inWorkspace(l.workspace, d.Path)), true
	case "policy.tool_blocked":
		return d.Name + ": " + d.Reason, true
	}
	return "", false
}

func (l *Log) describeRun(e client.Event) (string, bool) {
	d := decode[lifecycle](e)
	switch e.Type {
	case "run.created":
		return strings.Trim(fmt.Sprintf("run %d, %s", d.Number, d.Status), ", "), d.Number > 0
	case "run.queued", "task.updated", "run.awaiting_approval":
		return "", true
	case "run.claimed":
		return l.claimed(d), true
	case "run.started":
		if d.Workspace != "" {
			l.workspace = d.Workspace
		}
		return d.Workspace, true
	case "run.resumed_from_event":
		return d.chain(), true
	case "run.warning":
		return d.Message, true
	case "run.finished":
		return Count(d.Calls, "model call"), true
	case "run.failed":
		return d.Message, true
	case "run.cancelled":
		return d.Reason + ", by " + d.By, true
	case "gap.run_disconnected":
		return strings.TrimSuffix(d.Reason+", "+d.Action+": "+d.Message, ": "), true
	case "approval.requested":
		return QuestionOf(e).Reason, true
	case "approval.resolved":
		return resolution(d.Status, d.By, d.Comment), true
	}
	return "", false
}

// claimed says who takes the run, and from whom.
func (l *Log) claimed(d lifecycle) string {
	before := l.node
	l.node = d.NodeID
	switch {
	case d.NodeID == "":
		return ""
	case before != "" && before != d.NodeID:
		return "by node " + d.NodeID + ", before it " + before
	}
	return "by node " + d.NodeID
}

func route(provider, model string) string {
	switch {
	case provider == "":
		return model
	case model == "":
		return provider
	}
	return model + " of " + provider
}

func quote(text string) string {
	line := firstLine(text)
	if line != strings.TrimSpace(text) {
		line += " …"
	}
	return "“" + line + "”"
}
