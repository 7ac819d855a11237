package sqlite

import (
	"context"
	"fmt"

	"hecate/eventstore"
	"hecate/eventstore/internal/groupcommit"
)

// erase carries out what the event of a request names. The database is opened so that SQLite
// overwrites what it frees.
func (a *appender) erase(ctx context.Context, g *group, r *groupcommit.Request) error {
	by := r.Appended.First
	for _, e := range r.Batch.Erase.Records {
		done, err := g.tx.StmtContext(ctx, a.write.erase).ExecContext(ctx, eventstore.ErasedSalt(e.Digest, by), e.Form, e.Position, e.Salt[:])
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil {
			return err
		} else if n != 1 {
			return fmt.Errorf("%w: record %d is not as it was read", eventstore.ErrInvalid, e.Position)
		}
	}
	for _, digest := range r.Batch.Erase.Contents {
		if _, err := g.tx.StmtContext(ctx, a.write.eraseBlob).ExecContext(ctx, digest, by); err != nil {
			return err
		}
		if _, err := g.tx.StmtContext(ctx, a.write.dropBlob).ExecContext(ctx, digest); err != nil {
			return err
		}
	}
	return nil
}
