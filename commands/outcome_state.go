package commands

import (
	"context"
	"strings"

	"hecate/domain/fault"
	"hecate/domain/run"
)

// StateOutcome is what an operator found out about a call whose outcome is unknown.
type StateOutcome struct {
	TaskID, RunID string
	StepID        string // of the call
	Outcome       string // done: its effect happened; not_done: it did not
	Note          string
}

// StateOutcome records it. History stays as it was; the model is told at the next
// resume or continue. A call whose outcome is known, or stated, is a conflict.
func (x *Executor) StateOutcome(ctx context.Context, m Meta, c StateOutcome) (RunResult, error) {
	done, err := parseOutcome(c.Outcome)
	if err != nil {
		return RunResult{}, err
	}
	if err := x.hasRun(ctx, c.TaskID, c.RunID); err != nil {
		return RunResult{}, err
	}
	s := run.New(c.RunID)
	return once(ctx, x, m, x.recallRun(ctx), func() (RunResult, error) {
		return retry(ctx, func() (RunResult, error) {
			if err := x.outline(ctx, &s); err != nil {
				return RunResult{}, err
			}
			payloads, err := run.StateOutcome(&s, c.StepID, done, c.Note)
			if err != nil {
				return RunResult{}, err
			}
			appended, err := x.Advance(ctx, m, &s, payloads...)
			return RunResult{RunID: c.RunID, State: &s, Position: appended.Last}, err
		})
	})
}

func parseOutcome(s string) (done bool, err error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "done":
		return true, nil
	case "not_done":
		return false, nil
	}
	return false, fault.Invalid("invalid_request", "unknown outcome %q: use done or not_done", s)
}
