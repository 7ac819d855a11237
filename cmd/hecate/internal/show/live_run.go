package show

import (
	"cmp"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
)

func (l *Live) runEvent(e client.Event) {
	d := decode[lifecycle](e)
	switch e.Type {
	case "run.created":
		if d.Status == "queued" {
			l.Queued = e.OccurredAt
		}
	case "run.queued":
		l.wait("", e)
		l.Queued = e.OccurredAt
	case "run.claimed":
		l.claimed(d)
	case "run.resumed_from_event":
		l.PriorMicroUSD = d.Prior
		l.line(l.style.Dim("·"), l.style.Dim(terminal.Line(d.chain())), "")
	case "run.warning":
		l.flush()
		w := decode[client.Warning](e)
		l.Warnings = append(l.Warnings, w)
		l.note(w.Message)
	case "run.started":
		l.Queued = time.Time{}
		if l.Workspace == "" && d.Workspace != "" {
			l.Workspace = d.Workspace
			l.line(l.style.Dim("·"), l.style.Dim("workspace "+terminal.Line(d.Workspace)), "")
		}
	case "run.finished", "run.failed", "run.cancelled":
		l.flush()
		l.wait("", e)
		l.Queued, l.asks, l.typing = time.Time{}, "", typing{}
		for id := range l.shells {
			l.endCommand(id, "", "", "")
		}
	case "approval.requested":
		l.asked(e)
	case "approval.resolved":
		l.asks = ""
		l.resolved(e)
	case "run.awaiting_approval":
		l.Queued = time.Time{}
	case "gap.run_disconnected":
		l.flush()
		l.gap(d, e)
	}
}

// claimed notes who has the run, and says so if that is somebody else than before.
func (l *Live) claimed(d lifecycle) {
	l.Queued = time.Time{}
	if l.node != "" && d.NodeID != l.node {
		l.line(l.style.Dim("·"), l.style.Dim("node "+terminal.Line(d.NodeID)+" goes on with it"), "")
	}
	l.node = d.NodeID
}

func (l *Live) gap(d lifecycle, e client.Event) {
	l.wait("", e)
	l.Queued = time.Time{}
	l.note(d.gap())
	if d.Action == actionWaiting {
		l.wait("waiting for a worker that reaches the workspace", e)
	} else {
		l.Queued = e.OccurredAt
	}
}

// asked notes what waits for a person.
func (l *Live) asked(e client.Event) {
	q := QuestionOf(e)
	l.asks = cmp.Or(l.Direct, "it waits for an answer")
	for _, asked := range q.Calls {
		if c, known := l.calls[asked.ToolCallID]; known && q.Asks(asked.ToolCallID) {
			l.asks = c.Summary()
			return
		}
	}
}

func (l *Live) resolved(e client.Event) {
	d := decode[struct {
		ID      string `json:"approval_id"`
		Status  string `json:"status"`
		By      string `json:"by"`
		Comment string `json:"comment"`
		GoesOn  bool   `json:"continue"`
	}](e)
	mark := l.style.Green("✓")
	if d.Status != "approved" {
		mark = l.style.Red("✗")
	}
	status := d.Status
	if d.GoesOn { // a rejection ends a run, and this one did not
		status = "denied"
	}
	by := d.By
	if l.Name != nil && by != "system" {
		by = cmp.Or(l.Name(d.ID), by)
	}
	l.line(mark, terminal.Line(resolution(status, by, d.Comment)), "")
}

// resolution says how an approval ended and through whom. One that nobody answered
// ended with its run, and its comment says who ended that.
func resolution(status, by, comment string) string {
	switch {
	case status == "cancelled" && by == "system" && comment != "":
		return "no answer: " + comment
	case comment != "":
		return status + " by " + by + ": " + comment
	}
	return status + " by " + by
}
