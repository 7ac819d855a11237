package migrations

import (
	"context"
	"database/sql"
	"fmt"
)

// SQLite brings one set of an SQLite database up to date in one transaction. It
// returns an error that wraps ErrNewer if a newer build was here before. The
// connection should begin transactions IMMEDIATE, so that two processes take turns.
func SQLite(ctx context.Context, db *sql.DB, set Set, prefix string) error {
	steps, err := set.steps(prefix)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", set.Name, err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if err := applySQLite(ctx, tx, set, steps, prefix); err != nil {
		return fmt.Errorf("migrate %s: %w", set.Name, err)
	}
	return tx.Commit()
}

func applySQLite(ctx context.Context, tx *sql.Tx, set Set, steps []step, prefix string) error {
	_, err := tx.ExecContext(ctx, Rename(`CREATE TABLE IF NOT EXISTS hecate_schema (
		name TEXT NOT NULL, version INTEGER NOT NULL, applied_at INTEGER NOT NULL, -- microseconds
		PRIMARY KEY (name, version)) STRICT, WITHOUT ROWID`, prefix))
	if err != nil {
		return err
	}
	var applied int64
	err = tx.QueryRowContext(ctx, Rename(`SELECT coalesce(max(version), 0) FROM hecate_schema WHERE name = ?`, prefix), set.Name).Scan(&applied)
	if err != nil {
		return err
	}
	todo, err := missing(set, steps, applied)
	if err != nil {
		return err
	}
	for _, s := range todo {
		if _, err := tx.ExecContext(ctx, s.sql); err != nil {
			return fmt.Errorf("step %d: %w", s.version, err)
		}
		_, err := tx.ExecContext(ctx, Rename(`INSERT INTO hecate_schema (name, version, applied_at)
			VALUES (?, ?, CAST(unixepoch('subsec') * 1000000 AS INTEGER))`, prefix), set.Name, s.version)
		if err != nil {
			return err
		}
	}
	return nil
}
