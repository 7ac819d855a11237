package show

import (
	"fmt"
	"io"
	"slices"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/run"
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
	SourceRunID string             `json:"source_run_id"`
	SourceIndex int64              `json:"source_model_call_index"`
	Calls       []run.ApprovalCall `json:"calls"`
	RememberIn  string             `json:"remember_in"` // the file that an answer for good is written to
	Place       *run.Place         `json:"place"`       // where the calls work, as the server knows it

	Start  *Start  `json:"-"` // for an approval before a run begins: what would begin
	Bundle *Bundle `json:"-"` // for all others: the calls that it is about
	Where  Where   `json:"-"` // the run's place
}

// Shown is the digest of what is shown of the question asked in a run: the answer is
// bound to it, so that the server refuses a yes to anything else. It is empty if the
// calls are not known, or if the server has no digests.
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
	c, known := q.asked(callID)
	return len(q.Calls) == 0 || known && c.Ruling.Decision == string(permission.Ask)
}

func (q Question) asked(callID string) (run.ApprovalCall, bool) {
	for _, c := range q.Calls {
		if c.ToolCallID == callID {
			return c, true
		}
	}
	return run.ApprovalCall{}, false
}

// remark says how a call of the bundle stands to the question, before it is answered.
func (q Question) remark(callID string) string {
	call, waits := q.asked(callID)
	switch {
	case slices.Contains(call.Notes, run.NoteAllowedBefore):
		return "was allowed before, and is asked about again"
	case q.Asks(callID):
		return "asks by itself"
	case !waits:
		return "was decided before"
	case call.Ruling.Decision == string(permission.Deny):
		return "is refused by the rules, whatever is answered"
	}
	return "needs no answer"
}

// Prompts are the calls of the question, in order, with those that need no answer. It
// is empty if nobody knows what the question is about.
func (q Question) Prompts() []Prompt {
	if q.Bundle == nil || len(q.Bundle.Calls) == 0 {
		if q.Start == nil {
			return nil
		}
		return []Prompt{{Call: q.Start.Call, Where: Where{Place: run.Place{Path: q.Where.Path}}, Number: 1, Of: 1, Ends: true}}
	}
	calls, where := q.Bundle.Calls, q.Where
	if q.Place != nil {
		where.Place = *q.Place
	}
	out := make([]Prompt, len(calls))
	for i, c := range calls {
		asked, known := q.asked(c.ID)
		if !known && len(q.Calls) == 0 {
			asked = run.ApprovalCall{ToolCallID: c.ID, ToolName: c.Tool, Ruling: run.Ruling{Decision: string(permission.Ask), Level: permission.Asks}}
		}
		asked.ToolCallID = c.ID
		out[i] = Prompt{Settled: !known && len(q.Calls) > 0, Call: c, Asked: asked, Where: where, Number: i + 1, Of: len(calls), RememberIn: q.RememberIn, Offer: asked.Offer}
		for k, other := range calls {
			if k != i {
				out[i].Others = append(out[i].Others, Other{ID: other.ID, Number: k + 1, Call: other.Summary(), Remark: q.remark(other.ID)})
			}
		}
	}
	return out
}

// Write shows the question: why it is asked and, verbatim, all that a yes covers.
func (q Question) Write(w io.Writer, st terminal.Style) {
	q.Title(w, st)
	prompts := q.Prompts()
	if len(prompts) == 0 {
		for _, line := range q.Summary {
			fmt.Fprintf(w, "  %s\n", terminal.Line(line))
		}
	}
	for _, p := range prompts {
		p.Others, p.Unread = nil, true // all are written
		q.WriteCall(w, st, p)
	}
}

// WriteWays lists the commands that answer the question, which a run asks.
func (q Question) WriteWays(w io.Writer, st terminal.Style, runID string) {
	approve, reject := "hecate approve "+q.ApprovalID, "hecate reject "+q.ApprovalID
	prompts := slices.DeleteFunc(q.Prompts(), func(p Prompt) bool { return !p.Asks() })
	every := func(answer string) bool {
		return len(prompts) > 0 && !slices.ContainsFunc(prompts, func(p Prompt) bool { return !p.Allows(answer) })
	}
	once := "yes, this time"
	if slices.ContainsFunc(prompts, func(p Prompt) bool { return slices.Contains(p.Asked.Gates, permission.GateRepetition) }) {
		once += ", and what was repeated so far is forgotten"
	}
	ways := [][2]string{{approve, once}}
	if every(permission.AnswerSession) {
		ways = append(ways, [2]string{approve + " --session", "yes, and keep it for this session"})
	}
	if every(permission.AnswerRemember) {
		ways = append(ways, [2]string{approve + " --remember", "the same, written to " + prompts[0].destination()})
	}
	if len(prompts) > 0 && !prompts[0].Ends {
		ways = append(ways, [2]string{reject + " --continue", "no, and the run goes on"})
	}
	ways = append(ways, [2]string{reject, "no, which ends the run"}, [2]string{"hecate attach " + runID, "be asked call by call"})
	columns := 0
	for _, way := range ways {
		columns = max(columns, terminal.Columns(terminal.Line(way[0])))
	}
	fmt.Fprintln(w, "  answer with")
	for _, way := range ways {
		command := terminal.Line(way[0])
		fmt.Fprintf(w, "    %s%*s  %s\n", command, columns-terminal.Columns(command), "", st.Dim(terminal.Line(way[1])))
	}
}

// Title begins the question.
func (q Question) Title(w io.Writer, st terminal.Style) {
	fmt.Fprintf(w, "%s\n", st.Row(st.Yellow("?")+" "+st.Bold("approval needed"), terminal.Line(q.ApprovalID)))
	if q.Reason != "" {
		fmt.Fprintf(w, "  %s\n", terminal.Line(q.Reason))
	}
}

// WriteCall shows one call of the question in full: its level, and then the prompt.
func (q Question) WriteCall(w io.Writer, st terminal.Style, p Prompt) {
	head, id := p.Level(), p.Call.ID
	if at := p.Position(); at != "" {
		head += " · " + at
	}
	if !p.Asks() {
		head += " · " + q.remark(p.Call.ID)
	}
	if id != "" {
		id = "call " + terminal.Line(id)
	}
	fmt.Fprintf(w, "\n%s\n", st.Row("  "+st.Dim(head), id))
	lines := p.Lines(true)
	if !p.Asks() {
		lines = append(append(p.place(), Line{}), p.Call.Lines()...)
	}
	for _, r := range Rows(lines, width(st, "    ")) {
		text := "    " + r.Text
		if r.Text == "" {
			text = ""
		}
		fmt.Fprintln(w, r.Weight.Paint(st, text))
	}
}
