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
	Digest     string   `json:"digest"` // of the calls that wait
	Summary    []string `json:"action_summary"`
	Calls      []struct {
		ToolCallID string `json:"tool_call_id"`
		Ruling     struct {
			Decision string `json:"decision"`
			Level    int    `json:"level"`
			Layer    string `json:"layer"`
			Rule     string `json:"rule"`
		} `json:"ruling"`
	} `json:"calls"`

	Start *Call `json:"-"` // for an approval before a run begins: what would begin
}

// QuestionOf reads the event that asks.
func QuestionOf(e client.Event) Question { return decode[Question](e) }

// Asks reports whether the call is one that the question is about. Without rulings
// the question is about all of them.
func (q Question) Asks(callID string) bool {
	for _, c := range q.Calls {
		if c.ToolCallID == callID {
			return c.Ruling.Decision == "ask"
		}
	}
	return true
}

// Write shows the question: why it is asked and, verbatim, all that a yes covers.
func (q Question) Write(w io.Writer, st terminal.Style, b *Bundle) {
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
		if !q.Asks(c.ID) {
			name += st.Dim(" (needs no approval by itself)")
		}
		fmt.Fprintf(w, "\n  %s\n", name)
		c.Verbatim(w, st, "    ")
	}
	fmt.Fprintln(w)
}
