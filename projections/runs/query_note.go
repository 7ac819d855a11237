package runs

import (
	"context"
	"database/sql"

	"hecate/projections"
)

// notes returns what the time line of a run shows besides its steps, artifacts and
// approvals, in order.
func (q query) notes(ctx context.Context, r foundRun) ([]projections.Note, error) {
	out, err := list(ctx, q, `SELECT pos, doc FROM hecate_view_notes_@ WHERE run = $1 ORDER BY pos`, func(rows *sql.Rows) (n projections.Note, err error) {
		err = scanDoc(rows, &n, &n.Position)
		return n, err
	}, r.pos)
	if o := r.doc.Open; o != nil {
		n := o.Note
		n.Position = o.Pos
		out = append(out, n)
	}
	return out, err
}
