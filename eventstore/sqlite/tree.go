package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hecate/eventstore"
	"hecate/migrations"
)

const (
	lastSeal   = `SELECT size, note, (SELECT key FROM hecate_log_keys ORDER BY since DESC LIMIT 1) FROM hecate_checkpoints ORDER BY size DESC LIMIT 1`
	logKeys    = `SELECT since, key FROM hecate_log_keys ORDER BY since`
	treeHashes = `SELECT (SELECT substr(t.hashes, (i.value - t.start) * 32 + 1, 32) FROM hecate_tree t
		WHERE t.start <= i.value ORDER BY t.start DESC LIMIT 1) FROM json_each(?) i ORDER BY i.key`
	treeEnd       = `SELECT start + length(hashes) / 32 FROM hecate_tree ORDER BY start DESC LIMIT 1`
	addTreeRow    = `INSERT INTO hecate_tree (start, hashes) VALUES (?, ?)`
	addCheckpoint = `INSERT INTO hecate_checkpoints (size, note) VALUES (?, ?)`
	addKey        = `INSERT INTO hecate_log_keys (since, key) VALUES (?, ?)`
)

// LastSeal returns the newest checkpoint, see eventstore.Tree.
func (s *Store) LastSeal(ctx context.Context) (eventstore.Checkpoint, string, error) {
	var last eventstore.Checkpoint
	var key sql.NullString
	err := s.reader.QueryRowContext(ctx, migrations.Rename(lastSeal, s.prefix)).Scan(&last.Size, &last.Note, &key)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return last, "", fmt.Errorf("read last checkpoint: %w", s.closedOr(err))
	}
	return last, key.String, nil
}

// LogKeys returns the keys that have signed, see eventstore.Tree.
func (s *Store) LogKeys(ctx context.Context) (keys []eventstore.LogKey, err error) {
	rows, err := s.reader.QueryContext(ctx, migrations.Rename(logKeys, s.prefix))
	if err != nil {
		return nil, fmt.Errorf("read keys of the log: %w", s.closedOr(err))
	}
	defer rows.Close()
	for rows.Next() {
		var k eventstore.LogKey
		if err := rows.Scan(&k.Since, &k.Public); err != nil {
			return nil, fmt.Errorf("read keys of the log: %w", err)
		}
		keys = append(keys, k)
	}
	return keys, rows.Err()
}

// TreeHashes returns hashes of the tree, see eventstore.Tree.
func (s *Store) TreeHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	list, err := json.Marshal(indexes)
	if err != nil {
		return nil, err
	}
	rows, err := s.reader.QueryContext(ctx, migrations.Rename(treeHashes, s.prefix), string(list))
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", s.closedOr(err))
	}
	defer rows.Close()
	out := make([][32]byte, 0, len(indexes))
	for rows.Next() {
		var hash []byte
		if err := rows.Scan(&hash); err != nil {
			return nil, fmt.Errorf("read tree: %w", err)
		}
		if len(hash) != 32 {
			return nil, fmt.Errorf("%w: hash %d of the tree is missing", eventstore.ErrTampered, indexes[len(out)])
		}
		out = append(out, [32]byte(hash))
	}
	return out, rows.Err()
}

// AddSeal extends the tree, see eventstore.Tree.
func (s *Store) AddSeal(ctx context.Context, seal eventstore.Seal) error {
	err := s.addSeal(ctx, seal)
	var refused *sqlite.Error
	if errors.As(err, &refused) && refused.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
		err = fmt.Errorf("%w: %w", eventstore.ErrSealed, err)
	}
	if err != nil {
		return fmt.Errorf("seal up to %d: %w", seal.Checkpoint.Size, s.closedOr(err))
	}
	return nil
}

// addSeal takes its turn among the appends: there is one writing connection.
func (s *Store) addSeal(ctx context.Context, seal eventstore.Seal) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	end := int64(0)
	err = tx.QueryRowContext(ctx, migrations.Rename(treeEnd, s.prefix)).Scan(&end)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if len(seal.Rows) > 0 && seal.Rows[0].Start != end {
		return eventstore.ErrSealed
	}
	for _, row := range seal.Rows {
		if _, err := tx.ExecContext(ctx, migrations.Rename(addTreeRow, s.prefix), row.Start, row.Hashes); err != nil {
			return err
		}
	}
	if seal.Key != "" {
		if _, err := tx.ExecContext(ctx, migrations.Rename(addKey, s.prefix), seal.Checkpoint.Size, seal.Key); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, migrations.Rename(addCheckpoint, s.prefix), seal.Checkpoint.Size, seal.Checkpoint.Note); err != nil {
		return err
	}
	return tx.Commit()
}

var _ eventstore.Tree = (*Store)(nil)
