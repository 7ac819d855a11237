package v1

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"hecate/api/request"
	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/projections"
	"hecate/projections/runs"
)

// ApprovalPath names an approval of a task.
type ApprovalPath struct {
	TaskPath
	ApprovalID string `path:"approval_id" doc:"Id of the approval; it must be one of the task's." example:"approval_9b8a7c6d5e4f3a2b1c0d9e8f"`
}

// resolveRequest is a person's answer.
type resolveRequest struct {
	Decision string `json:"decision" doc:"approve (or approved), reject (or rejected, deny, denied); case does not matter."`
	Note     string `json:"note,omitempty" doc:"Kept with the answer. At most 4096 bytes."`
	Digest   string `json:"digest,omitempty" doc:"Digest of what was shown, from the approval.requested event. If it is no longer what the approval is for, nothing is approved."`

	Continue bool         `json:"continue,omitempty" doc:"Of a rejection: the calls are refused, the model is told so, and the run goes on. Without it a rejection ends the run."`
	Calls    []callChoice `json:"calls,omitempty" doc:"Answers to single calls, where they differ from the whole. Of an approval the calls that are not listed are approved once, of a rejection with continue they are refused." maxItems:"16"`
}

// callChoice is a person's answer to one call.
type callChoice struct {
	ToolCallID string `json:"tool_call_id" doc:"The call, as the approval names it."`
	Decision   string `json:"decision" doc:"approve or deny; case does not matter." example:"approve"`
	Note       string `json:"note,omitempty" doc:"Of a refusal: what the model is told. At most 4096 bytes."`
	Scope      string `json:"scope,omitempty" doc:"Of a yes: once; session for the runs that go on from each other; project for those and the project's permission file. More than once only if the approval has an offer for the call." enum:"once,session,project"`
	Pattern    string `json:"pattern,omitempty" doc:"Of a yes for more than once: the pattern or host, if it is not the one that was offered. At most 4096 bytes."`
	CoveredBy  string `json:"covered_by,omitempty" doc:"Of a yes: the call of this answer whose scope session or project is all that lets this one run. If it does not cover the call, the call is asked about again."`
}

// Limits of a list of the approvals of all tasks.
const (
	approvalsPage    = 100
	approvalsPageMax = 500
)

type allApprovalsInput struct {
	Status string `query:"status" doc:"Only those that stand so: pending for what waits for an answer." enum:"pending,approved,rejected,cancelled" example:"pending"`
	TaskID string `query:"task_id" doc:"Only those of this task."`
	Limit  count  `query:"limit" doc:"At most this many, 100 if absent, never more than 500."`
}

type resolveInput struct {
	ApprovalPath
	Payload required[resolveRequest]
}

func (a *API) registerApprovals() {
	register(a, spec{
		id: "listAllApprovals", method: http.MethodGet, path: Base + "/approvals", tag: "Approvals",
		summary: "List approvals of all tasks", description: "Newest first. Those of deleted tasks are not among them.",
		fails:   []int{http.StatusBadRequest},
		example: map[string]any{"object": "approvals", "data": []any{exampleApproval}},
	}, a.listAllApprovals)
	register(a, spec{
		id: "listApprovals", method: http.MethodGet, path: Base + "/tasks/{task_id}/approvals", tag: "Approvals",
		summary: "List approvals of a task", description: "The approvals of all runs of the task, newest first.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_approvals", "data": []any{exampleApproval}},
	}, a.listApprovals)
	register(a, spec{
		id: "getApproval", method: http.MethodGet, path: Base + "/tasks/{task_id}/approvals/{approval_id}", tag: "Approvals",
		summary: "Get an approval", description: "One approval of a task.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_approval", "data": exampleApproval},
	}, a.getApproval)
	register(a, spec{
		id: "resolveApproval", method: http.MethodPost, path: Base + "/tasks/{task_id}/approvals/{approval_id}/resolve", tag: "Approvals", keyed: true,
		summary: "Answer an approval",
		description: "A yes lets the run go on with exactly what was asked for, once. A no cancels the run, unless it has `continue`. Single calls can be answered by themselves. " +
			"The first answer counts; a later one gets 409, an unreadable decision 400 in any case. Where an agent's commands may be able to reach the server, " +
			"only a verified operator may answer (403).\n\n" +
			"One call allowed for the session and one refused, the others allowed once: `{\"decision\": \"approve\", \"calls\": [{\"tool_call_id\": \"call_1\", \"decision\": \"approve\", \"scope\": \"session\"}, " +
			"{\"tool_call_id\": \"call_2\", \"decision\": \"deny\", \"note\": \"use make instead\"}]}`. All refused, and the run goes on: `{\"decision\": \"reject\", \"continue\": true, \"note\": \"not on this machine\"}`.",
		fails: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict},
		body:  reflect.TypeFor[resolveRequest](), bodyExample: map[string]any{"decision": "approve", "note": "looks right"},
		example: map[string]any{"object": "task_approval", "data": exampleAnswered},
	}, a.resolveApproval)
}

func (a *API) listApprovals(ctx context.Context, in *TaskPath) (*answer[[]projections.Approval], error) {
	found, err := a.Views.TaskApprovals(ctx, in.TaskID)
	return list("task_approvals", found), err
}

func (a *API) listAllApprovals(ctx context.Context, in *allApprovalsInput) (*answer[[]projections.Approval], error) {
	limit, err := in.Limit.between(1, approvalsPage, approvalsPageMax)
	if err != nil {
		return nil, err
	}
	if in.Status != "" && !slices.Contains(approvalStates, in.Status) {
		return nil, fault.Invalid("invalid_request", "status must be one of %s", strings.Join(approvalStates, ", "))
	}
	found, err := a.Views.Approvals(ctx, runs.ApprovalFilter{Status: in.Status, TaskID: in.TaskID, Limit: limit})
	return list("approvals", found), err
}

var approvalStates = []string{"pending", "approved", "rejected", "cancelled"}

func (a *API) getApproval(ctx context.Context, in *ApprovalPath) (*answer[projections.Approval], error) {
	found, err := a.Views.Approval(ctx, in.TaskID, in.ApprovalID)
	return of("task_approval", found), err
}

func (a *API) resolveApproval(ctx context.Context, in *resolveInput) (*tracedAnswer[projections.Approval], error) {
	body := in.Payload.Value
	resolution, err := body.resolution(in.ApprovalID)
	if err != nil {
		return nil, err
	}
	if err := a.mustDecide(ctx, false); err != nil { // its own task's network counts as well: its run is open
		return nil, err
	}
	r, err := a.Commands.ResolveApproval(ctx, request.From(ctx).Meta(), in.TaskID, resolution)
	if err != nil {
		return nil, err
	}
	out, err := after(ctx, a, "task_approval", r.Position,
		func() (projections.Approval, error) { return a.Views.Approval(ctx, in.TaskID, in.ApprovalID) },
		func() (projections.Approval, error) { return approvalItem(ctx, a.Commands, r.State, in.ApprovalID) })
	if err != nil {
		return nil, err
	}
	return traced(ctx, out), nil
}

// resolution is the answer as the domain takes it. Whether the decision is one is
// looked at first, then whether everything has a sane size.
func (r resolveRequest) resolution(approvalID string) (run.Resolution, error) {
	out := run.Resolution{ApprovalID: approvalID, Decision: r.Decision, Note: r.Note, Digest: r.Digest, Continue: r.Continue}
	if err := out.Check(); err != nil {
		return out, err
	}
	if err := remark("note", r.Note); err != nil {
		return out, err
	}
	if len(r.Calls) > run.CallsMax {
		return out, invalid("calls has %d answers, at most %d are allowed", len(r.Calls), run.CallsMax)
	}
	for _, c := range r.Calls {
		if n := max(len(c.ToolCallID), len(c.CoveredBy)); n > run.CallIDBytesMax {
			return out, invalid("the id of a call has %d bytes, at most %d are allowed", n, run.CallIDBytesMax)
		}
		if err := cmp.Or(remark("note", c.Note), remark("pattern", c.Pattern)); err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, run.CallChoice(c))
	}
	return out, nil
}

// approvalItem reads an approval from its run's stream.
func approvalItem(ctx context.Context, x *commands.Executor, s *run.State, id string) (projections.Approval, error) {
	var a projections.Approval
	var failed error
	err := x.Load(ctx, commands.RunStream(s.ID), 0, func(e event.Event) {
		switch p := e.Payload.(type) {
		case run.ApprovalRequested:
			if p.ApprovalID == id {
				a = projections.ApprovalOf(p, e.At)
			}
		case run.ApprovalResolved:
			if p.ApprovalID == id {
				by, err := actorAt(ctx, x, e.Position)
				a.Resolve(p, by, e.At)
				failed = err
			}
		}
	})
	a.TaskID, a.RunID = s.TaskID, s.ID
	return a, errors.Join(err, failed)
}

// actorAt is who caused the record at a position.
func actorAt(ctx context.Context, x *commands.Executor, position int64) (eventstore.Actor, error) {
	r, err := x.Store.ReadAll(ctx, position-1, 1)
	if err != nil || len(r) == 0 {
		return eventstore.Actor{}, err
	}
	return r[0].Actor, nil
}
