package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hecate/eventstore"
	"hecate/migrations"
)

const (
	lastSeal   = `SELECT size, note, coalesce((SELECT key FROM hecate_log_keys ORDER BY since DESC LIMIT 1), '') FROM hecate_checkpoints ORDER BY size DESC LIMIT 1`
	logKeys    = `SELECT since, key FROM hecate_log_keys ORDER BY since`
	treeHashes = `SELECT coalesce((SELECT substr(t.hashes, ((i.index - t.start) * 32 + 1)::int, 32) FROM hecate_tree t
		WHERE t.start <= i.index ORDER BY t.start DESC LIMIT 1), '') FROM unnest($1::bigint[]) WITH ORDINALITY AS i(index, number) ORDER BY i.number`
	treeEnd       = `SELECT start + length(hashes) / 32 FROM hecate_tree ORDER BY start DESC LIMIT 1`
	addTreeRow    = `INSERT INTO hecate_tree (start, hashes) VALUES ($1, $2)`
	addCheckpoint = `INSERT INTO hecate_checkpoints (size, note) VALUES ($1, $2)`
	addKey        = `INSERT INTO hecate_log_keys (since, key) VALUES ($1, $2)`
)

// LastSeal returns the newest checkpoint, see eventstore.Tree.
func (s *Store) LastSeal(ctx context.Context) (last eventstore.Checkpoint, key string, err error) {
	query := migrations.Rename(lastSeal, s.prefix)
	err = s.tryTwice(ctx, func() error { return s.reader.QueryRow(ctx, query).Scan(&last.Size, &last.Note, &key) })
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return last, "", fmt.Errorf("read last checkpoint: %w", s.closedOr(err))
	}
	return last, key, nil
}

// LogKeys returns the keys that have signed, see eventstore.Tree.
func (s *Store) LogKeys(ctx context.Context) (keys []eventstore.LogKey, err error) {
	query := migrations.Rename(logKeys, s.prefix)
	err = s.tryTwice(ctx, func() error {
		rows, err := s.reader.Query(ctx, query)
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, pgx.RowToStructByPos[eventstore.LogKey])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read keys of the log: %w", s.closedOr(err))
	}
	return keys, nil
}

// TreeHashes returns hashes of the tree, see eventstore.Tree.
func (s *Store) TreeHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	var found [][]byte
	query := migrations.Rename(treeHashes, s.prefix)
	err := s.tryTwice(ctx, func() error {
		rows, err := s.reader.Query(ctx, query, indexes)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", s.closedOr(err))
	}
	out := make([][32]byte, len(found))
	for i, hash := range found {
		if len(hash) != 32 {
			return nil, fmt.Errorf("%w: hash %d of the tree is missing", eventstore.ErrTampered, indexes[i])
		}
		out[i] = [32]byte(hash)
	}
	return out, nil
}

// AddSeal extends the tree, see eventstore.Tree. It shares no lock with the appends.
func (s *Store) AddSeal(ctx context.Context, seal eventstore.Seal) error {
	err := pgx.BeginFunc(ctx, s.writer, func(tx pgx.Tx) error { return s.addSeal(ctx, tx, seal) })
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == uniqueViolation {
		err = fmt.Errorf("%w: %w", eventstore.ErrSealed, err)
	}
	if err != nil {
		return fmt.Errorf("seal up to %d: %w", seal.Checkpoint.Size, s.closedOr(err))
	}
	return nil
}

func (s *Store) addSeal(ctx context.Context, tx pgx.Tx, seal eventstore.Seal) error {
	end := int64(0)
	if err := tx.QueryRow(ctx, migrations.Rename(treeEnd, s.prefix)).Scan(&end); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if len(seal.Rows) > 0 && seal.Rows[0].Start != end {
		return eventstore.ErrSealed
	}
	b := &pgx.Batch{}
	for _, row := range seal.Rows {
		b.Queue(migrations.Rename(addTreeRow, s.prefix), row.Start, row.Hashes)
	}
	if seal.Key != "" {
		b.Queue(migrations.Rename(addKey, s.prefix), seal.Checkpoint.Size, seal.Key)
	}
	b.Queue(migrations.Rename(addCheckpoint, s.prefix), seal.Checkpoint.Size, seal.Checkpoint.Note)
	return tx.SendBatch(ctx, b).Close()
}

var _ eventstore.Tree = (*Store)(nil)
