package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"

	"hecate/projections"
)

// ApprovalFilter narrows a list of approvals.
type ApprovalFilter struct {
	Status string // "" for all
	TaskID string // "" for those of all tasks
	Limit  int
}

// approvalsRead is how many approvals are looked at in one go.
const approvalsRead = 200

// Approvals returns the approvals of all tasks that the filter lets through, newest
// first. A task that does not exist has none.
func (v *Views) Approvals(ctx context.Context, f ApprovalFilter) ([]projections.Approval, error) {
	where := `a.pos < $1`
	if f.Status == "pending" { // a run that waits has one, others have none
		where = `r.status = 'awaiting_approval' AND r.since > 0 AND a.pending = 1 AND a.pos < $1`
	}
	if f.TaskID != "" {
		where += ` AND r.task_id = $3`
	}
	text := `SELECT a.pos, a.doc, r.doc FROM hecate_view_approvals_@ a JOIN hecate_view_runs_@ r ON r.pos = a.run
		WHERE ` + where + ` ORDER BY a.pos DESC LIMIT $2`
	return view(ctx, v, func(q query) ([]projections.Approval, error) {
		out := []projections.Approval{}
		for before := int64(math.MaxInt64); ; {
			args := []any{before, approvalsRead}
			if f.TaskID != "" {
				args = append(args, f.TaskID)
			}
			found, err := list(ctx, q, text, scanApproval, args...)
			if err != nil {
				return nil, err
			}
			for _, a := range found {
				if before = a.Position; f.Status != "" && a.Status != f.Status {
					continue
				}
				if out = append(out, a); len(out) == f.Limit {
					return out, nil
				}
			}
			if len(found) < approvalsRead {
				return out, nil
			}
		}
	})
}

// scanApproval reads an approval with what its run says.
func scanApproval(rows *sql.Rows) (a projections.Approval, err error) {
	var own, of sql.RawBytes
	var r runDoc
	if err := rows.Scan(&a.Position, &own, &of); err != nil {
		return a, err
	}
	if err := json.Unmarshal(own, &a); err != nil {
		return a, err
	}
	err = json.Unmarshal(of, &r)
	a.TaskID, a.RunID, a.RequestID, a.TraceID = r.Item.TaskID, r.Item.ID, r.Item.RequestID, r.Item.TraceID
	return a, err
}
