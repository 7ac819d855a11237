package run

import (
	"fmt"
	"strings"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/ident"
	"hecate/domain/permission"
)

// Decisions about an approval, as they stand in the log.
const (
	DecisionApproved  = "approved"
	DecisionRejected  = "rejected"
	DecisionCancelled = "cancelled"
)

// Answered is what the runtime knows of a finished model call.
type Answered struct {
	Message      Message
	FinishReason string
	Route        Route
	Usage        *Usage
	CostPicoUSD  int64
	CostKnown    bool
}

// Respond records the answer to the call in flight, once, with its account and
// what it proposes. A bundle that cannot be used proposes nothing.
func (s *State) Respond(a Answered) []event.Payload {
	index, stepID, response := s.InFlight.Index, s.InFlight.StepID, s.Version+1
	run := s.SpentPicoUSD + a.CostPicoUSD
	out := []event.Payload{
		ModelResponseRecorded{ModelCallIndex: index, Message: a.Message, FinishReason: a.FinishReason},
		ModelCallCompleted{
			ModelCallIndex: index, StepID: stepID, Route: a.Route, CostMicroUSD: MicroUSD(a.CostPicoUSD),
			RunCumulativeMicroUSD: MicroUSD(run), TaskCumulativeMicro: MicroUSD(s.PriorPicoUSD + run),
			CostPicoUSD: a.CostPicoUSD, CostKnown: a.CostKnown, ToolCalls: int64(len(a.Message.ToolCalls)), Usage: a.Usage,
		},
	}
	if InvalidBundle(a.Message.ToolCalls) != "" {
		return out
	}
	if strings.TrimSpace(a.Message.Content.String()) != "" {
		out = append(out, AssistantText{ModelCallIndex: index, Response: response})
	}
	for i, c := range a.Message.ToolCalls {
		out = append(out, ToolCallProposed{ModelCallIndex: index, ToolCallID: c.ID, ToolName: c.Name, Call: int64(i), Response: response})
	}
	return out
}

// Conclude ends the run with the answer of the batch.
func (s *State) Conclude(b *Batch) []event.Payload {
	return []event.Payload{
		FinalAnswer{ModelCallIndex: b.Index, ArtifactID: FinalAnswerID(s.ID), Response: b.Response},
		Finished{FinalStatus: StatusCompleted, ModelCallCount: s.CallsDone},
	}
}

// FinalAnswerID and ConversationID are the fixed ids of a run's two texts.
func FinalAnswerID(runID string) string  { return "final-answer-" + runID }
func ConversationID(runID string) string { return "convo-" + runID }

// Failing ends the run badly.
func (s *State) Failing(f Fail) []event.Payload {
	return []event.Payload{Failed{Code: "run_failed", Message: f.Message, ModelCallCount: s.CallsDone, Reason: f.Reason}}
}

// RequestApproval parks the run before the calls of a. Lines describe them safely.
func (s *State) RequestApproval(a Ask, lines []string, incomplete bool) []event.Payload {
	var gated []string
	calls := make([]ApprovalCall, len(a.Calls))
	for i, c := range a.Calls {
		calls[i] = ApprovalCall{ToolCallID: c.ID, ToolName: c.Name, Ruling: RulingOf(a.Verdicts[i])}
		if a.Verdicts[i].Decision == permission.Ask {
			gated = append(gated, c.Name)
		}
	}
	lines, cut := boundLines(lines)
	asked := ApprovalRequested{
		ApprovalID: s.approvalID(a.Digest), Kind: ApprovalBundle, Status: "pending", StepID: s.NextStepID(),
		PolicyReason:   "Agent requested tools that require approval: " + strings.Join(gated, ", "),
		ModelCallIndex: a.Batch.Index, Digest: a.Digest, Calls: calls, Summary: lines, SummaryIncomplete: incomplete || cut,
	}
	if o := a.Batch.Origin; o != nil {
		asked.SourceRunID, asked.SourceIndex = o.RunID, o.Index
	}
	return []event.Payload{asked, AwaitingApproval{}}
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

// Resolve answers the run's pending approval. digest may be empty; if it is not,
// it must name what the approval names. Approving queues the same run again,
// rejecting cancels it. Events that end the run close it; the caller closes its task.
func Resolve(s *State, approvalID, decision, note, digest string) ([]event.Payload, error) {
	verdict, err := parseDecision(decision)
	if err != nil {
		return nil, err
	}
	if was, ok := s.Resolved[approvalID]; ok {
		return nil, fault.Conflict("invalid_request", "approval is already %s", was)
	}
	a := s.Approval
	if a == nil || a.ApprovalID != approvalID || s.Status != StatusAwaitingApproval {
		return nil, fault.NotFound("not_found", "task approval not found")
	}
	if digest != "" && digest != a.Digest {
		return nil, fault.Conflict("invalid_request", "the digest does not name what this approval is for; load it again")
	}
	resolved := ApprovalResolved{
		ApprovalID: a.ApprovalID, Kind: a.Kind, Decision: verdict, Status: verdict, By: "operator", Comment: note, Scope: "once", Digest: a.Digest,
	}
	if verdict == DecisionApproved {
		return []event.Payload{resolved, Queued{Kind: Orchestrator, Route: s.Route, Resume: true}}, nil
	}
	return []event.Payload{resolved, Cancelled{By: "operator", Reason: "approval rejected"}, TaskUpdated{}}, nil
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

// Cancel ends the run because an operator says so. A run that has ended stays as it is.
func Cancel(s *State, reason string) []event.Payload {
	if s.Status.Terminal() {
		return nil
	}
	text := "run cancelled"
	if reason = strings.TrimSpace(reason); reason != "" {
		text += ": " + reason
	}
	var out []event.Payload
	if a := s.Approval; a != nil {
		out = append(out, ApprovalResolved{
			ApprovalID: a.ApprovalID, Kind: a.Kind, Decision: DecisionCancelled, Status: DecisionCancelled, By: "system", Comment: text, Scope: "once",
		})
	}
	out = append(out, Cancelled{By: "operator", Reason: text}, TaskUpdated{})
	if c := s.InFlight; c != nil { // the request may have left, and may be charged
		out = append(out, ModelCallAbandoned{ModelCallIndex: c.Index, StepID: c.StepID, Reason: "the run was cancelled while the model call was under way"})
	}
	return out
}
