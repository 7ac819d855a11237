package commands

import (
	"context"
	"slices"

	"hecate/domain/fault"
	"hecate/domain/run"
)

// ResolveApproval records a person's answer to one approval of the task. The first one wins; a later one gets a
// conflict. A yes puts the same run back before the workers, a no cancels it.
func (x *Executor) ResolveApproval(ctx context.Context, m Meta, taskID string, r run.Resolution) (RunResult, error) {
	return once(ctx, x, m, x.recallRun(ctx), func() (RunResult, error) {
		s, err := x.runWithApproval(ctx, taskID, r.ApprovalID)
		if err != nil {
			return RunResult{}, err
		}
		return retry(ctx, func() (RunResult, error) {
			if err := x.outline(ctx, s); err != nil {
				return RunResult{}, err
			}
			payloads, err := run.Resolve(s, r)
			if err != nil {
				return RunResult{}, err
			}
			done, err := x.Advance(ctx, m, s, payloads...)
			return RunResult{RunID: s.ID, State: s, Position: done.Last}, err
		})
	})
}

// runWithApproval finds the run that asked. A pending approval is always the open
// run's, so the others are only read to tell "answered before" from "unknown".
func (x *Executor) runWithApproval(ctx context.Context, taskID, approvalID string) (*run.State, error) {
	t, _, err := x.loadTask(ctx, taskID)
	if err != nil {
		return nil, err
	}
	if err := t.Visible(); err != nil {
		return nil, err
	}
	for _, id := range slices.Backward(t.Runs) {
		s := run.New(id)
		if err := x.outline(ctx, &s); err != nil {
			return nil, err
		}
		if _, answered := s.Resolved[approvalID]; answered || s.Approval != nil && s.Approval.ApprovalID == approvalID {
			return &s, nil
		}
	}
	return nil, fault.NotFound("not_found", "task approval not found")
}
