package migrations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Postgres brings one set of a PostgreSQL database up to date in one transaction.
// Nodes that start together take turns under an advisory lock. It returns an
// error that wraps ErrNewer if a newer build was here before.
func Postgres(ctx context.Context, conn *pgx.Conn, set Set, prefix string) error {
	steps, err := set.steps(prefix)
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return applyPostgres(ctx, tx, set, steps, prefix) })
	if err != nil {
		return fmt.Errorf("migrate %s: %w", set.Name, err)
	}
	return nil
}

func applyPostgres(ctx context.Context, tx pgx.Tx, set Set, steps []step, prefix string) error {
	_, err := tx.Exec(ctx, Rename(`SELECT pg_advisory_xact_lock(hashtextextended('hecate_schema', 0))`, prefix))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, Rename(`CREATE TABLE IF NOT EXISTS hecate_schema (
		name text NOT NULL, version bigint NOT NULL, applied_at bigint NOT NULL, -- microseconds
		PRIMARY KEY (name, version))`, prefix))
	if err != nil {
		return err
	}
	var applied int64
	err = tx.QueryRow(ctx, Rename(`SELECT coalesce(max(version), 0) FROM hecate_schema WHERE name = $1`, prefix), set.Name).Scan(&applied)
	if err != nil {
		return err
	}
	todo, err := missing(set, steps, applied)
	if err != nil {
		return err
	}
	for _, s := range todo {
		if _, err := tx.Conn().PgConn().Exec(ctx, s.sql).ReadAll(); err != nil { // many statements at once
			return fmt.Errorf("step %d: %w", s.version, err)
		}
		_, err := tx.Exec(ctx, Rename(`INSERT INTO hecate_schema (name, version, applied_at)
			VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)`, prefix), set.Name, s.version)
		if err != nil {
			return err
		}
	}
	return nil
}
