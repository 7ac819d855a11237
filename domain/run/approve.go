package run

import (
	"fmt"
	"slices"
	"strings"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/ident"
	"hecate/domain/permission"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// Decisions about an approval or one of its calls, as they stand in the log.
const (
	DecisionApproved  = "approved"
	DecisionRejected  = "rejected"
	DecisionCancelled = "cancelled"
	DecisionDenied    = "denied" // of a single call
)

// Scopes of a yes.
const (
	ScopeOnce    = "once"    // this call only
	ScopeSession = "session" // the chain of runs that go on from each other
	ScopeProject = "project" // the session, and the project's file
)

// Question is what the worker adds to the calls that a run asks about.
type Question struct {
	Lines      []string         // describe the calls safely, in order
	Incomplete bool             // something is withheld from them
	RememberIn string           // the file that an answer for good is written to; "" if there is none
	Place      *Place           // where the calls work
	About      map[string]About // by call: what its arguments do not say
}

// About is what a person cannot read in the arguments of a call.
type About struct {
	Files      []FileDigest // that it runs
	Program    string       // that it starts or acts on
	ConfigFile string       // that it changes
}

// NoteAllowedBefore is the note beside a call that an earlier answer let run.
const NoteAllowedBefore = "this call was allowed before; it is asked about again because the calls that are left are one question"

// RequestApproval parks the run before the calls of a.
func (s *State) RequestApproval(a Ask, q Question) []event.Payload {
	var gated []string
	calls := make([]ApprovalCall, len(a.Calls))
	for i, c := range a.Calls {
		calls[i] = askedCall(c, a.Verdicts[i], a.Locks[i])
		about := q.About[c.ID]
		calls[i].Files, calls[i].Program, calls[i].ConfigFile = about.Files, about.Program, about.ConfigFile
		if g := s.grant(); g != nil && g.Opened[c.ID] != nil && calls[i].asks() {
			calls[i].Notes = append([]string{NoteAllowedBefore}, calls[i].Notes...)
		}
		if a.Verdicts[i].Decision == permission.Ask {
			gated = append(gated, c.Name)
		}
	}
	lines, cut := boundLines(q.Lines)
	asked := ApprovalRequested{
		ApprovalID: s.approvalID(a.Digest), Kind: ApprovalBundle, Status: "pending", StepID: s.NextStepID(),
		PolicyReason:   "Agent requested tools that require approval: " + strings.Join(gated, ", "),
		ModelCallIndex: a.Batch.Index, Digest: a.Digest, Calls: calls, Summary: lines, SummaryIncomplete: q.Incomplete || cut, RememberIn: q.RememberIn,
		Place: q.Place,
	}
	if o := a.Batch.Origin; o != nil {
		asked.SourceRunID, asked.SourceIndex = o.RunID, o.Index
	}
	return []event.Payload{asked, AwaitingApproval{}}
}

func askedCall(c ToolCall, v permission.Verdict, locks []string) ApprovalCall {
	out := ApprovalCall{ToolCallID: c.ID, ToolName: c.Name, Ruling: RulingOf(v), Notes: v.Notes, Locks: locks}
	if v.Decision == permission.Ask {
		out.Reason, out.Offer, out.Answers = v.Reason, v.Offer, v.Answers
		for _, g := range v.Gates {
			out.Gates = append(out.Gates, g.Gate)
		}
	}
	return out
}

// approvalID differs for every request of a run, also for the same bundle asked for twice.
func (s *State) approvalID(digest string) string {
	return ident.Derive("approval", s.ID, fmt.Sprint(s.Version), digest)
}

// RulingOf is the verdict as events carry it.
func RulingOf(v permission.Verdict) Ruling {
	r := Ruling{Decision: string(v.Decision), Level: v.Level, Layer: v.Layer, Rule: v.Rule, Posture: v.Posture, Config: v.Config}
	if v.Grant != nil {
		r.Grant = v.Grant.ID
	}
	return r
}

// Bounds of the summary that an approval shows.
const (
	summaryLinesMax = 16
	summaryLineMax  = 512     // bytes
	summaryMax      = 4 << 10 // bytes
)

func boundLines(lines []string) (out []string, cut bool) {
	total := 0
	for _, l := range lines {
		if len(l) > summaryLineMax {
			l, cut = strings.ToValidUTF8(l[:summaryLineMax], ""), true
		}
		if len(out) == summaryLinesMax || total+len(l) > summaryMax {
			return out, true
		}
		total += len(l)
		out = append(out, l)
	}
	return out, cut
}

// Resolution is what a person says to an approval.
type Resolution struct {
	ApprovalID string
	Decision   string // approve, approved, reject, rejected, deny or denied, in any case
	Note       string
	Digest     string       // if not empty: of what the person was shown
	Continue   bool         // of a rejection: the calls are refused, and the run goes on
	Calls      []CallChoice // what is decided otherwise than the whole
}

// CallChoice is what a person says to one call of an approval.
type CallChoice struct {
	ToolCallID string
	Decision   string // as of a Resolution
	Note       string // of a refusal: what the model is told
	Scope      string // of a yes: once, session or project; "" is once
	Pattern    string // of a yes for more than once: the pattern or host, if not the one that was offered
	CoveredBy  string // of a yes: the call whose grant, given in the same answer, is all that lets this one run
}

// Check returns a fault if the decision is none. It is the first thing that is looked at.
func (a Resolution) Check() error {
	_, err := parseDecision(a.Decision)
	return err
}

// Resolve answers the run's pending approval. A digest that is given must name what
// the approval names. Approving queues the same run again, with the calls that were
// allowed; rejecting cancels it, unless it is to continue with its calls refused.
// Events that end the run close it; the caller closes its task.
func Resolve(s *State, a Resolution) ([]event.Payload, error) {
	verdict, err := parseDecision(a.Decision)
	if err != nil {
		return nil, err
	}
	if was, ok := s.Resolved[a.ApprovalID]; ok {
		return nil, fault.Conflict("invalid_request", "approval is already %s", was)
	}
	asked := s.Approval
	if asked == nil || asked.ApprovalID != a.ApprovalID || s.Status != StatusAwaitingApproval {
		return nil, fault.NotFound("not_found", "task approval not found")
	}
	if a.Digest != "" && a.Digest != asked.Digest {
		return nil, fault.Conflict("invalid_request", "the digest does not name what this approval is for; load it again")
	}
	resolved := ApprovalResolved{
		ApprovalID: asked.ApprovalID, Kind: asked.Kind, Decision: verdict, Status: verdict, By: "operator", Comment: a.Note, Scope: ScopeOnce, Digest: asked.Digest,
	}
	if verdict == DecisionRejected && !a.Continue {
		if len(a.Calls) > 0 {
			return nil, fault.Invalid("invalid_request", "a rejection ends the run, so nothing can be said to single calls; add continue, or approve and refuse some")
		}
		return []event.Payload{resolved, Cancelled{By: "operator", Reason: "approval rejected"}, TaskUpdated{}}, nil
	}
	if resolved.Calls, err = s.choose(asked, a, verdict); err != nil {
		return nil, err
	}
	resolved.Continue = verdict == DecisionRejected
	for _, c := range resolved.Calls {
		if c.Grant != nil && resolved.Scope != ScopeProject {
			resolved.Scope = c.Grant.scope()
		}
	}
	return []event.Payload{resolved, Queued{Kind: Orchestrator, Route: s.Route, Resume: true}}, nil
}

func (g SessionGrant) scope() string {
	if g.Remember {
		return ScopeProject
	}
	return ScopeSession
}

func parseDecision(d string) (string, error) {
	switch strings.ToLower(strings.TrimSpace(d)) {
	case "approve", "approved":
		return DecisionApproved, nil
	case "reject", "rejected", "deny", "denied":
		return DecisionRejected, nil
	}
	return "", fault.Invalid("invalid_request", "unknown decision %q: use approve or reject", d)
}

// choose turns what was said to single calls into answers. Of a rejection after which
// the run goes on, every call that asks is refused unless it was allowed by itself.
func (s *State) choose(asked *ApprovalRequested, a Resolution, verdict string) ([]CallAnswer, error) {
	if asked.Kind != ApprovalBundle {
		if a.Continue || len(a.Calls) > 0 {
			return nil, fault.Invalid("invalid_request", "this approval stands before a run, so it is answered as a whole")
		}
		return nil, nil
	}
	chosen := map[string]CallChoice{}
	for _, c := range a.Calls {
		if _, twice := chosen[c.ToolCallID]; twice {
			return nil, fault.Invalid("invalid_request", "call %q is answered twice", c.ToolCallID)
		}
		chosen[c.ToolCallID] = c
	}
	var out []CallAnswer
	for _, c := range asked.Calls {
		choice, said := chosen[c.ToolCallID]
		delete(chosen, c.ToolCallID)
		switch {
		case said:
			answer, err := s.answer(asked, c, choice)
			if err != nil {
				return nil, err
			}
			out = append(out, answer)
		case verdict == DecisionRejected && c.asks():
			out = append(out, CallAnswer{ToolCallID: c.ToolCallID, Decision: DecisionDenied, Note: a.Note})
		}
	}
	for _, c := range a.Calls {
		if _, left := chosen[c.ToolCallID]; left {
			return nil, fault.Invalid("invalid_request", "the approval is not about call %q", c.ToolCallID)
		}
	}
	return out, covered(out)
}

// covered checks that what is said to cover a call was given with another one.
func covered(answers []CallAnswer) error {
	for _, c := range answers {
		given := func(x CallAnswer) bool { return x.ToolCallID == c.CoveredBy && x.Grant != nil }
		if c.CoveredBy != "" && !slices.ContainsFunc(answers, given) {
			return fault.Invalid("invalid_request", "call %q cannot be covered by %q: nothing for more than once is given with that", c.ToolCallID, c.CoveredBy)
		}
	}
	return nil
}

func (c ApprovalCall) asks() bool { return c.Ruling.Decision == string(permission.Ask) }

func (s *State) answer(asked *ApprovalRequested, c ApprovalCall, choice CallChoice) (CallAnswer, error) {
	verdict, err := parseDecision(choice.Decision)
	if err != nil {
		return CallAnswer{}, err
	}
	if verdict == DecisionRejected {
		return CallAnswer{ToolCallID: c.ToolCallID, Decision: DecisionDenied, Note: choice.Note}, nil
	}
	out := CallAnswer{ToolCallID: c.ToolCallID, Decision: DecisionApproved, CoveredBy: choice.CoveredBy}
	if out.CoveredBy != "" && (choice.Pattern != "" || choice.Scope != "" && choice.Scope != ScopeOnce) {
		return out, fault.Invalid("invalid_request", "call %q is covered by another one's grant, so nothing can be given with it", c.ToolCallID)
	}
	letter := permission.AnswerSession
	switch choice.Scope {
	case "", ScopeOnce:
		return out, nil
	case ScopeSession:
	case ScopeProject:
		letter = permission.AnswerRemember
	default:
		return out, fault.Invalid("invalid_request", "unknown scope %q: use once, session or project", choice.Scope)
	}
	if c.Offer == nil || !slices.Contains(c.Answers, letter) {
		return out, fault.Invalid("invalid_request", "call %q can only be answered once: nothing about it can be remembered in the scope %q", c.ToolCallID, choice.Scope)
	}
	g := SessionGrant{Scope: c.Offer.Scope, Host: c.Offer.IsHost, Remember: choice.Scope == ScopeProject}
	if choice.Pattern != "" {
		if g.Scope, err = edited(c, choice.Pattern); err != nil {
			return out, err
		}
	}
	g.ID = ident.Derive("grant", s.ID, asked.ApprovalID, c.ToolCallID)
	out.Grant = &g
	return out, nil
}

// edited is the scope that a person made of an offer: a pattern of the same tool, or a
// host. That it covers the call is for the one who edits it to see to; if it does not, it
// opens nothing for calls like this.
func edited(c ApprovalCall, text string) (string, error) {
	invalid := func(err error) error {
		return fault.Invalid("invalid_request", "the pattern for call %q cannot be used: %s", c.ToolCallID, err)
	}
	if c.Offer.IsHost {
		h, err := host.Parse(text)
		if err != nil {
			return "", invalid(err)
		}
		return h.String(), nil
	}
	p, err := pattern.Parse(text)
	if err == nil {
		_, err = p.ForApprove()
	}
	if err == nil && p.Tool() != pattern.Canonical(c.ToolName) {
		err = fmt.Errorf("it is about %s, not about %s", p.Tool(), pattern.Canonical(c.ToolName))
	}
	if err != nil {
		return "", invalid(err)
	}
	return p.String(), nil
}
