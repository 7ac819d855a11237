package projections

import (
	"time"

	"hecate/domain/permission"
	"hecate/domain/permission/pattern"
	"hecate/domain/run"
	"hecate/eventstore"
)

// Approval is an item of task_approvals.
type Approval struct {
	ID                string   `json:"id"`
	TaskID            string   `json:"task_id"`
	RunID             string   `json:"run_id"`
	StepID            string   `json:"step_id,omitempty"`
	Kind              string   `json:"kind"`
	Status            string   `json:"status"` // pending, approved, rejected or cancelled
	Reason            string   `json:"reason,omitempty"`
	Summary           []string `json:"action_summary,omitempty"`
	SummaryIncomplete bool     `json:"action_summary_incomplete,omitempty"`
	RequestedBy       string   `json:"requested_by,omitempty"`
	ResolvedBy        string   `json:"resolved_by,omitempty"`
	ResolutionNote    string   `json:"resolution_note,omitempty"`
	CreatedAt         string   `json:"created_at,omitempty" format:"date-time"`
	ResolvedAt        string   `json:"resolved_at,omitempty" format:"date-time"`
	RequestID         string   `json:"request_id,omitempty"`
	TraceID           string   `json:"trace_id,omitempty"`
	SpanID            string   `json:"span_id,omitempty"`

	Digest           string         `json:"digest,omitempty" doc:"Names exactly what is asked for. Send it with the answer, and what was changed meanwhile is not approved."`
	Calls            []ApprovalCall `json:"calls,omitempty" doc:"The calls of the answer that asks, in order, also those that need no yes."`
	RememberIn       string         `json:"remember_in,omitempty" doc:"The permission file that an answer in the scope project is written to."`
	Place            *ApprovalPlace `json:"place,omitempty" doc:"Where the calls work."`
	ResolvedByName   string         `json:"resolved_by_name,omitempty" doc:"Who answered, if a name was given."`
	ResolvedVerified *bool          `json:"resolved_by_verified,omitempty" doc:"Whether a token proved who answered; if not, the name is only what the client said."`

	Position int64 `json:"-"` // where in the log it was asked for
}

// ApprovalCall is one call of an approval.
type ApprovalCall struct {
	ToolCallID string         `json:"tool_call_id" doc:"As the model named it."`
	ToolName   string         `json:"tool_name"`
	Level      int            `json:"level" doc:"0 silent, 1 visible, 2 asks: the tool's own level."`
	Decision   string         `json:"decision" doc:"What was decided about it: ask for the calls that need a yes, deny for those that will be refused whatever is answered." enum:"allow,allow_visibly,ask,deny"`
	Reason     string         `json:"reason,omitempty" doc:"Why it asks."`
	Gates      []string       `json:"gates,omitempty" doc:"All that asks about it. A yes opens these and no others."`
	Offer      *ApprovalOffer `json:"offer,omitempty" doc:"What can be remembered so that a call like this does not ask again; absent if nothing can."`
	Answers    []string       `json:"answers,omitempty" doc:"The possible answers: y once, a for the session, A for the project, e changes the offer first, n no, N no with a reason."`
	Notes      []string       `json:"notes,omitempty" doc:"What to look at beside the call."`
	ConfigFile string         `json:"config_file,omitempty" doc:"The permission file that it changes."`
	Locks      []string       `json:"locks,omitempty" doc:"Execution locks that it takes once it is allowed."`
	Answer     string         `json:"answer,omitempty" doc:"What was answered." enum:"approved,denied"`
	Scope      string         `json:"scope,omitempty" doc:"Of a yes: for how long." enum:"once,session,project"`
	CoveredBy  string         `json:"covered_by,omitempty" doc:"Of a yes: the call whose scope session or project is all that lets this one run."`
}

// ApprovalPlace is the workspace that calls work in.
type ApprovalPlace struct {
	Kind   string `json:"kind" doc:"A copy of a directory with its git history, of any other directory, a clone of a repository, an empty directory, or the operator's own." enum:"worktree,copy,clone,empty,in_place"`
	Path   string `json:"path,omitempty"`
	Source string `json:"source,omitempty" doc:"What it mirrors."`
	Ref    string `json:"ref,omitempty" doc:"The branch or commit that was checked out when it was asked."`
}

// ApprovalOffer is what can be remembered about a call.
type ApprovalOffer struct {
	Scope  string `json:"scope" doc:"A pattern, or a host."`
	Host   bool   `json:"host" doc:"Whether the scope is a host."`
	Covers string `json:"covers" doc:"What the scope covers, in words."`
	List   string `json:"list" doc:"The list of the file that it is written to." example:"permissions.promoted"`
}

// ApprovalOf is an approval that waits. What its run says of it is missing.
func ApprovalOf(p run.ApprovalRequested, at time.Time) Approval {
	a := Approval{
		ID: p.ApprovalID, StepID: p.StepID, Kind: string(p.Kind), Status: p.Status, Reason: p.PolicyReason,
		Summary: p.Summary, SummaryIncomplete: p.SummaryIncomplete, RequestedBy: p.RequestedBy, CreatedAt: FormatTime(at),
		Digest: p.Digest, RememberIn: p.RememberIn,
	}
	if at := p.Place; at != nil {
		a.Place = &ApprovalPlace{Kind: string(at.Kind), Path: at.Path, Source: at.Source, Ref: at.Ref}
	}
	for _, c := range p.Calls {
		call := ApprovalCall{
			ToolCallID: c.ToolCallID, ToolName: c.ToolName, Level: c.Ruling.Level, Decision: c.Ruling.Decision, Reason: c.Reason,
			Answers: c.Answers, Notes: c.Notes, Locks: c.Locks, ConfigFile: c.ConfigFile,
		}
		for _, g := range c.Gates {
			call.Gates = append(call.Gates, string(g))
		}
		if o := c.Offer; o != nil {
			call.Offer = &ApprovalOffer{Scope: o.Scope, Host: o.IsHost, Covers: o.Covers, List: o.List}
			if tool := pattern.Canonical(c.ToolName); tool == "shell" || tool == "background" {
				call.Offer.Scope = "" // it would be the whole command, which only the event shows
			}
		}
		a.Calls = append(a.Calls, call)
	}
	return a
}

// KindOperator is the kind of an actor that proved who it is.
const KindOperator = "operator"

// Close notes an end that no person gave.
func (a *Approval) Close(status, by, note string, at time.Time) {
	a.Status, a.ResolvedBy, a.ResolutionNote, a.ResolvedAt = status, by, note, FormatTime(at)
}

// Resolve notes the answer that a person gave.
func (a *Approval) Resolve(p run.ApprovalResolved, by eventstore.Actor, at time.Time) {
	a.Close(p.Status, p.By, p.Comment, at)
	verified := by.Kind == KindOperator
	a.ResolvedByName, a.ResolvedVerified = by.Name, &verified
	for i := range a.Calls {
		a.Calls[i].answered(p)
	}
}

// answered notes what became of a call. One that is not listed was answered as the
// whole, if it asked.
func (c *ApprovalCall) answered(p run.ApprovalResolved) {
	for _, x := range p.Calls {
		if x.ToolCallID != c.ToolCallID {
			continue
		}
		if c.Answer, c.CoveredBy = x.Decision, x.CoveredBy; c.Answer == run.DecisionApproved {
			c.Scope = x.Scope(p.Calls)
		}
		return
	}
	switch {
	case c.Decision != string(permission.Ask):
	case p.Decision == run.DecisionApproved:
		c.Answer, c.Scope = run.DecisionApproved, run.ScopeOnce
	case p.Decision == run.DecisionRejected:
		c.Answer = run.DecisionDenied
	}
}
