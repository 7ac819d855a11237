package runs

import (
	"context"
	"database/sql"
)

// Opened returns the ids of at most limit runs, newest first: of those that a request has
// opened, or of all if the request's id is empty. Runs of deleted tasks are not among them.
func (v *Views) Opened(ctx context.Context, requestID string, limit int) ([]string, error) {
	text, args := `SELECT run_id FROM hecate_view_runs_@ ORDER BY pos DESC LIMIT $1`, []any{limit}
	if requestID != "" {
		text, args = `SELECT run_id FROM hecate_view_runs_@ WHERE request = $2 ORDER BY pos DESC LIMIT $1`, append(args, requestID)
	}
	return view(ctx, v, func(q query) ([]string, error) {
		return list(ctx, q, text, func(rows *sql.Rows) (id string, err error) {
			err = rows.Scan(&id)
			return id, err
		}, args...)
	})
}
