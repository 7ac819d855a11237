package runs

import (
	"context"
	"database/sql"
	"time"

	"hecate/domain/run"
	"hecate/projections"
)

// RunStats counts the runs that have not ended. Ages are whole seconds up to now since
// the run came to its present status. Runs that have ended cost nothing.
func (v *Views) RunStats(ctx context.Context, now time.Time) (projections.RunStats, error) {
	return view(ctx, v, func(q query) (s projections.RunStats, err error) {
		err = q.tx.Query(ctx, `SELECT status, count(*), min(since), CAST(sum(waiting) AS bigint) FROM hecate_view_runs_@ WHERE since > 0 GROUP BY status`, func(rows *sql.Rows) error {
			var status string
			var count, since, waiting int64
			if err := rows.Scan(&status, &count, &since, &waiting); err != nil {
				return err
			}
			age := max(0, int64(now.Sub(time.UnixMicro(since))/time.Second))
			switch run.Status(status) {
			case run.StatusQueued:
				s.Queued, s.OldestQueuedSeconds, s.WaitingWorkspace = count, age, waiting
			case run.StatusRunning:
				s.Running, s.OldestRunningSeconds = count, age
			case run.StatusAwaitingApproval:
				s.AwaitingApproval = count
			}
			return nil
		})
		return s, err
	})
}
