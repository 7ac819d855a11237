package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/run"
)

// pastCall is what the log says about the permission of one call.
type pastCall struct {
	Index int64  `json:"model_call_index,omitempty"`
	ID    string `json:"tool_call_id"`
	Tool  string `json:"tool_name"`
	From  string `json:"source_run_id,omitempty"` // of an inherited call: the run whose model asked for it

	Ruling   *run.Ruling    `json:"ruling,omitempty"` // the last one
	Asked    []pastQuestion `json:"asked,omitempty"`
	Checks   []string       `json:"checks,omitempty"` // of the repetition guard: what it found
	Waited   []string       `json:"waited_for,omitempty"`
	Outcome  string         `json:"outcome,omitempty"` // "" while there is none
	Why      string         `json:"why,omitempty"`     // of a call that did not run
	Approval string         `json:"approval_id,omitempty"`
	Granted  string         `json:"granted_by,omitempty"` // the grant that Ruling names, in words
}

// pastQuestion is an approval about a call.
type pastQuestion struct {
	ApprovalID string             `json:"approval_id"`
	Reason     string             `json:"reason"`
	Gates      []string           `json:"gates,omitempty"`
	Status     string             `json:"status"` // pending, approved, denied or cancelled
	Scope      string             `json:"scope,omitempty"`
	CoveredBy  string             `json:"covered_by,omitempty"` // the call whose grant is all that lets this one run
	Note       string             `json:"note,omitempty"`
	By         *client.AnsweredBy `json:"answered_by,omitempty"`
}

// pastCalls are the calls of a run, in the order in which the log meets them.
type pastCalls struct {
	calls  []*pastCall
	grants map[string]string // what was given in this run, by id
	direct []*pastQuestion   // about the one call of a direct run, before it is known
}

func (p *pastCalls) of(index int64, id, tool string) *pastCall {
	for _, c := range p.calls {
		if c.Index == index && c.ID == id {
			return c
		}
	}
	c := &pastCall{Index: index, ID: id, Tool: tool}
	p.calls = append(p.calls, c)
	return c
}

// pastEvent holds the members that matter of all events that do.
type pastEvent struct {
	Index      int64             `json:"model_call_index"`
	ID         string            `json:"tool_call_id"`
	Tool       string            `json:"tool_name"`
	From       string            `json:"source_run_id"`
	Reason     string            `json:"policy_reason"`
	Ruling     *run.Ruling       `json:"ruling"`
	ApprovalID string            `json:"approval_id"`
	Calls      []json.RawMessage `json:"calls"`
	Decision   string            `json:"decision"`
	Outcome    run.Outcome       `json:"outcome"`
	Error      string            `json:"error"`
	Assessment string            `json:"assessment"`
	Problem    string            `json:"problem"`
	CostMicro  int64             `json:"cost_micros_usd"`
	Lock       string            `json:"lock"`
	HeldBy     string            `json:"held_by_run_id"`
}

// add takes one event of the run. What cannot be read says nothing.
func (p *pastCalls) add(e client.Event) {
	var x pastEvent
	if json.Unmarshal(e.Data, &x) != nil {
		return
	}
	switch e.Type {
	case "assistant.tool_call_proposed":
		p.of(x.Index, x.ID, x.Tool)
	case "approval.requested":
		p.asked(x)
	case "approval.resolved":
		p.answered(x)
	case "repetition.check.completed":
		found := x.Assessment
		if x.Problem != "" {
			found += ": " + x.Problem
		}
		c := p.of(x.Index, x.ID, "")
		c.Checks = append(c.Checks, fmt.Sprintf("%s, for %s", found, money(x.CostMicro)))
	case "tool.lock.waiting":
		c := p.of(x.Index, x.ID, x.Tool)
		c.Waited = append(c.Waited, x.Lock+", held by "+x.HeldBy)
	case "tool.dispatch.intended":
		c := p.of(x.Index, x.ID, x.Tool)
		c.Ruling, c.Approval, c.From = x.Ruling, x.ApprovalID, x.From
		p.askedAhead(c)
	case "tool.dispatch.settled":
		p.settled(x)
	}
}

func money(micro int64) string { return fmt.Sprintf("%.6f USD", float64(micro)/1e6) }

func (p *pastCalls) settled(x pastEvent) {
	c := p.of(x.Index, x.ID, x.Tool)
	c.Outcome = string(x.Outcome)
	if x.Ruling != nil {
		c.Ruling = x.Ruling
	}
	if x.ApprovalID != "" {
		c.Approval = x.ApprovalID
		p.askedAhead(c)
	}
	if x.Outcome == run.OutcomeBlocked || x.Outcome == run.OutcomeRefused {
		c.Why = x.Error
	}
}

// askedAhead gives the call of a direct run the question that was asked before it.
func (p *pastCalls) askedAhead(c *pastCall) {
	for _, q := range p.direct {
		if q.ApprovalID == c.Approval && !slices.ContainsFunc(c.Asked, func(x pastQuestion) bool { return x.ApprovalID == q.ApprovalID }) {
			c.Asked = append(c.Asked, *q)
		}
	}
}

func (p *pastCalls) asked(x pastEvent) {
	if len(x.Calls) == 0 {
		p.direct = append(p.direct, &pastQuestion{ApprovalID: x.ApprovalID, Reason: x.Reason, Status: "pending"})
	}
	for _, raw := range x.Calls {
		var call run.ApprovalCall
		if json.Unmarshal(raw, &call) != nil {
			continue
		}
		c := p.of(x.Index, call.ToolCallID, call.ToolName)
		if c.Ruling == nil {
			c.Ruling = &call.Ruling
		}
		if call.Ruling.Decision != "ask" {
			continue
		}
		q := pastQuestion{ApprovalID: x.ApprovalID, Reason: call.Reason, Status: "pending"}
		for _, g := range call.Gates {
			q.Gates = append(q.Gates, string(g))
		}
		c.Asked = append(c.Asked, q)
	}
}

func (p *pastCalls) answered(x pastEvent) {
	for _, q := range p.direct {
		if q.ApprovalID == x.ApprovalID {
			if q.Status = x.Decision; q.Status == run.DecisionApproved {
				q.Scope = run.ScopeOnce
			}
		}
	}
	answers := map[string]run.CallAnswer{}
	for _, raw := range x.Calls {
		var a run.CallAnswer
		if json.Unmarshal(raw, &a) == nil {
			answers[a.ToolCallID] = a
		}
	}
	for _, c := range p.calls {
		for i := range c.Asked {
			q := &c.Asked[i]
			if q.ApprovalID != x.ApprovalID {
				continue
			}
			q.Status, q.Scope = x.Decision, ""
			a, said := answers[c.ID]
			if said {
				q.Status, q.Note = a.Decision, a.Note
			} else if x.Decision == run.DecisionRejected {
				q.Status = run.DecisionDenied
			}
			if q.Status != run.DecisionApproved {
				continue
			}
			q.Scope, q.CoveredBy = run.ScopeOnce, a.CoveredBy
			if said {
				q.Scope = a.Scope(slices.Collect(maps.Values(answers)))
			}
			if a.Grant != nil {
				p.grants[a.Grant.ID] = a.Grant.Scope + ", given in this run"
			}
		}
	}
}

// explainPast explains the calls of a run from its log.
func (c permissionsExplain) explainPast(a *app) error {
	ctx := context.Background()
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	r, err := findRun(ctx, server, c.Past)
	if err != nil {
		return err
	}
	past := pastCalls{grants: map[string]string{}}
	if err := eachEvent(ctx, server, r.TaskID, r.ID, func(e client.Event) bool {
		past.add(e)
		return true
	}); err != nil {
		return err
	}
	if err := past.read(ctx, server, r.TaskID); err != nil {
		return err
	}
	calls, err := past.named(c.Call, r.ID)
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
		fmt.Fprintf(a.out, "%s has called no tool\n", terminal.Line(r.ID))
	}
	for _, call := range calls {
		call.show(a.out)
	}
	return nil
}

// read adds who answered, and what the grants were that rulings name.
func (p *pastCalls) read(ctx context.Context, server *client.Client, task string) error {
	answers, err := server.Answers(ctx, task)
	if err != nil {
		return fmt.Errorf("read who answered: %w", err)
	}
	now, err := server.Permissions(ctx, "", task)
	if err != nil {
		return fmt.Errorf("look at the permissions of task %s: %w", task, err)
	}
	for _, g := range now.Session {
		if p.grants[g.ID] == "" {
			p.grants[g.ID] = g.Scope + ", given in an earlier run"
		}
	}
	for _, e := range now.Entries {
		p.grants[e.ID] = fmt.Sprintf("%s, %s", e.Text, e.At)
	}
	p.complete(answers, "not there any more")
	return nil
}

// complete adds who answered, and the words for the grants that rulings name.
func (p *pastCalls) complete(answers map[string]client.AnsweredBy, unknown string) {
	for _, c := range p.calls {
		for i := range c.Asked {
			if by, ok := answers[c.Asked[i].ApprovalID]; ok && by.By != "" {
				c.Asked[i].By = &by
				if by.By == "system" {
					c.Asked[i].Status = run.DecisionCancelled
				}
			}
		}
		if c.Ruling != nil && c.Ruling.Grant != "" {
			if c.Granted = p.grants[c.Ruling.Grant]; c.Granted == "" {
				c.Granted = unknown
			}
		}
	}
}

// named finds the calls that are meant: all without an id.
func (p *pastCalls) named(id, runID string) ([]*pastCall, error) {
	if id == "" {
		return p.calls, nil
	}
	var out []*pastCall
	for _, c := range p.calls {
		if strings.HasPrefix(c.ID, id) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, advise(fmt.Errorf("%s has no call %s", runID, id), "see: hecate calls "+runID)
	}
	return out, nil
}

func (c *pastCall) show(w io.Writer) {
	where := "direct"
	switch {
	case c.Index > 0:
		where = fmt.Sprintf("model call %d", c.Index)
	case c.From != "":
		where = "inherited from " + c.From
	}
	decision := "not decided yet"
	if c.Ruling != nil {
		decision = c.Ruling.Decision
	}
	fmt.Fprintf(w, "%s (%s, %s): %s\n", terminal.Line(c.Tool), terminal.Line(c.ID), terminal.Line(where), terminal.Line(decision))
	say := func(format string, args ...any) {
		fmt.Fprintf(w, "  %s\n", terminal.Line(fmt.Sprintf(format, args...)))
	}
	if r := c.Ruling; r != nil {
		say("level %d; decided by %s (%s), posture %s", r.Level, r.Layer, r.Rule, r.Posture)
		if r.Grant != "" {
			say("opened by %s: %s", r.Grant, c.Granted)
		}
		if r.Config != "" {
			say("configuration %s", r.Config)
		}
	}
	for _, q := range c.Asked {
		gates := ""
		if len(q.Gates) > 0 {
			gates = " (" + strings.Join(q.Gates, ", ") + ")"
		}
		say("asked in %s: %s%s", q.ApprovalID, q.Reason, gates)
		say("%s", q.words())
	}
	for _, x := range c.Checks {
		say("checked for progress: %s", x)
	}
	for _, x := range c.Waited {
		say("waited for lock %s", x)
	}
	switch {
	case c.Why != "":
		say("%s: %s", c.Outcome, c.Why)
	case c.Outcome != "":
		say("%s", c.Outcome)
	default:
		say("it has no outcome")
	}
}

// words say what was answered, and by whom.
func (q pastQuestion) words() string {
	out := q.Status
	if q.Scope != "" {
		out += ", scope " + q.Scope
	}
	if q.CoveredBy != "" {
		out += ", as far as what was given with " + q.CoveredBy + " covers it"
	}
	if by := q.By; by != nil {
		out += ", by " + show.Answerer(*by)
	}
	note := q.Note
	if note == "" && q.By != nil {
		note = q.By.Note
	}
	if note != "" {
		out += ": " + note
	}
	return out
}

// errPastAndCall is for a call that is named as one of a run and as one to come.
var errPastAndCall = errors.New("--run explains calls of the past, so leave the tool out")
