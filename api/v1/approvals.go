package v1

import (
	"context"
	"net/http"
	"reflect"

	"hecate/api/request"
	"hecate/domain/run"
	"hecate/projections"
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
}

type resolveInput struct {
	ApprovalPath
	Payload required[resolveRequest]
}

func (a *API) registerApprovals() {
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
		description: "A yes lets the run go on with exactly what was asked for, once. A no cancels the run. " +
			"The first answer counts; a later one gets 409, an unreadable decision 400 in any case.",
		fails: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict},
		body:  reflect.TypeFor[resolveRequest](), bodyExample: map[string]any{"decision": "approve", "note": "looks right"},
	}, a.resolveApproval)
}

func (a *API) listApprovals(ctx context.Context, in *TaskPath) (*answer[[]projections.Approval], error) {
	found, err := a.Views.TaskApprovals(ctx, in.TaskID)
	return list("task_approvals", found), err
}

func (a *API) getApproval(ctx context.Context, in *ApprovalPath) (*answer[projections.Approval], error) {
	found, err := a.Views.Approval(ctx, in.TaskID, in.ApprovalID)
	return of("task_approval", found), err
}

func (a *API) resolveApproval(ctx context.Context, in *resolveInput) (*tracedAnswer[projections.Approval], error) {
	body := in.Payload.Value
	if err := remark("note", body.Note); err != nil {
		return nil, err
	}
	if err := a.mustDecide(ctx, false); err != nil { // its own task's network counts as well: its run is open
		return nil, err
	}
	r, err := a.Commands.ResolveApproval(ctx, request.From(ctx).Meta(), in.TaskID, run.Resolution{ApprovalID: in.ApprovalID, Decision: body.Decision, Note: body.Note, Digest: body.Digest})
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
