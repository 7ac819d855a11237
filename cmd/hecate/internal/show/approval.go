package show

import (
	"fmt"
	"io"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
)

// Question is an approval that waits, as its event tells it.
type Question struct {
	ApprovalID string   `json:"approval_id"`
	Kind       string   `json:"kind"`
	Reason     string   `json:"policy_reason"`
	Index      int64    `json:"model_call_index"`
	Digest     string   `json:"digest"` // of what waits
	Summary    []string `json:"action_summary"`
	// Of an inherited bundle: the run whose model asked for it, and its model call.
	SourceRunID string `json:"source_run_id"`
	SourceIndex int64  `json:"source_model_call_index"`
	Calls       []struct {
		ToolCallID string `json:"tool_call_id"`
		Ruling     struct {
			Decision string `json:"decision"`
			Level    int    `json:"level"`
			Layer    string `json:"layer"`
			Rule     string `json:"rule"`
		} `json:"ruling"`
	} `json:"calls"`

	Start  *Start  `json:"-"` // for an approval before a run begins: what would begin
	Bundle *Bundle `json:"-"` // for all others: the calls that it is about
}

// Shown is the digest of what Write shows of the question asked in a run: the answer
// is bound to it, so that the server refuses a yes to anything else. It is empty if
// the calls are not known, or if the server has no digests.
func (q Question) Shown(runID string) string {
	switch {
	case q.Digest == "":
		return ""
	case q.Bundle != nil:
		return q.Bundle.Digest()
	case q.Start != nil:
		return q.Start.Digest(runID)
	}
	return ""
}

// QuestionOf reads the event that asks.
func QuestionOf(e client.Event) Question { return decode[Question](e) }

// Asks reports whether the call is one that the question is about. Without rulings
// the question is about all of them.
func (q Question) Asks(callID string) bool {
	decision, known := q.decision(callID)
	return len(q.Calls) == 0 || known && decision == "ask"
}

func (q Question) decision(callID string) (string, bool) {
	for _, c := range q.Calls {
		if c.ToolCallID == callID {
			return c.Ruling.Decision, true
		}
	}
	return "", false
}

// remark says why a call of the bundle needs no answer; "" if it does.
func (q Question) remark(callID string) string {
	if q.Asks(callID) {
		return ""
	}
	if _, waits := q.decision(callID); !waits {
		return " (has been settled already)"
	}
	return " (needs no approval by itself)"
}

// Write shows the question: why it is asked and, verbatim, all that a yes covers.
func (q Question) Write(w io.Writer, st terminal.Style) {
	b := q.Bundle
	fmt.Fprintf(w, "%s %s\n", st.Yellow("?"), st.Row(st.Bold("approval needed"), terminal.Line(q.ApprovalID)))
	if q.Reason != "" {
		fmt.Fprintf(w, "  %s\n", terminal.Line(q.Reason))
	}
	if b == nil || len(b.Calls) == 0 {
		if q.Start != nil {
			fmt.Fprintf(w, "\n  %s\n", st.Bold(terminal.Line(q.Start.Tool)))
			q.Start.Verbatim(w, st, "    ")
			fmt.Fprintln(w)
			return
		}
		for _, line := range q.Summary {
			fmt.Fprintf(w, "  %s\n", terminal.Line(line))
		}
		return
	}
	for i, c := range b.Calls {
		name := st.Bold(terminal.Line(c.Tool))
		if len(b.Calls) > 1 {
			name = fmt.Sprintf("%d/%d %s", i+1, len(b.Calls), name)
		}
		fmt.Fprintf(w, "\n  %s\n", name+st.Dim(q.remark(c.ID)))
		c.Verbatim(w, st, "    ")
	}
	fmt.Fprintln(w)
}
