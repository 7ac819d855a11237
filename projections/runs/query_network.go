package runs

import (
	"context"
	"database/sql"
	"encoding/json"
)

// NetworkOpen reports whether a run that has not ended belongs to a task whose
// commands may use the network. Runs that have ended cost nothing.
func (v *Views) NetworkOpen(ctx context.Context) (bool, error) {
	return view(ctx, v, func(q query) (open bool, err error) {
		err = q.tx.Query(ctx, `SELECT t.doc FROM hecate_view_runs_@ r JOIN hecate_view_tasks_@ t ON t.task_id = r.task_id WHERE r.since > 0`, func(rows *sql.Rows) error {
			var raw sql.RawBytes
			var doc struct {
				Definition struct {
					Network bool `json:"sandbox_network"`
				} `json:"definition"`
			}
			if err := rows.Scan(&raw); err != nil || open {
				return err
			}
			err := json.Unmarshal(raw, &doc)
			open = doc.Definition.Network
			return err
		})
		return open, err
	})
}
