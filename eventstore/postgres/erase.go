package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hecate/eventstore"
	"hecate/eventstore/internal/groupcommit"
)

// recordsChanged is the SQL state of an erasure of records that are not as they were read.
const recordsChanged = "HE001"

type queryRower interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// erasing reports whether a group takes something away.
func erasing(requests []*groupcommit.Request) bool {
	return slices.ContainsFunc(requests, func(r *groupcommit.Request) bool { return r.Batch.Erase != nil })
}

// erase carries out what the events of a group name, as far as they were appended.
func (s *Store) erase(ctx context.Context, tx pgx.Tx, requests []*groupcommit.Request, outcome, first []int64) error {
	for i, r := range requests {
		e := r.Batch.Erase
		if e == nil || outcome[i] != outcomeAppended {
			continue
		}
		positions, salts, forms := make([]int64, len(e.Records)), make([][]byte, len(e.Records)), make([][]byte, len(e.Records))
		for n := range e.Records {
			positions[n], salts[n], forms[n] = e.Records[n].Position, e.Records[n].Salt[:], e.Records[n].Form
		}
		_, err := tx.Exec(ctx, s.sql.erase, first[i], positions, salts, forms, orEmpty(e.Contents))
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code == recordsChanged {
			return fmt.Errorf("%w: %s", eventstore.ErrInvalid, refused.Message)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
