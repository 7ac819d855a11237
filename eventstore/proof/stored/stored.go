// Package stored reads a log as its database holds it: rows and columns, from no cache,
// also what a store would never have written. It only reads, and does so while a server
// uses the database as well as when none does.
package stored

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hecate/eventstore"
	"hecate/migrations"
)

// Log is a log that is open for reading.
type Log struct {
	db        *sql.DB
	scanner   // for what there is much of
	prefix    string
	dollars   bool   // parameters are $1, $2 … instead of ?
	id        string // of an event, as bytes
	list      string // of the texts in a JSON array, as a query
	numbers   string // the same of whole numbers, by their order
	indexed   bool   // streams have a table of their own that says where their versions stand
	hasTree   bool
	hasErased bool
	describe  string
}

// scanner hands the rows of a query to do. Cells are only good until do returns.
type scanner interface {
	scan(ctx context.Context, query string, args []any, do func([]cell) error) error
	close()
}

// String names the database, without secrets.
func (l *Log) String() string { return l.describe }

// Close ends the reading.
func (l *Log) Close() error {
	l.close()
	return l.db.Close()
}

// sql gives a query the form that the database wants.
func (l *Log) sql(query string) string {
	query = migrations.Rename(query, l.prefix)
	query = strings.NewReplacer("{id}", l.id, "{list}", l.list, "{numbers}", l.numbers).Replace(query)
	if !l.dollars {
		return query
	}
	var b strings.Builder
	for i, part := range strings.Split(query, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

func (l *Log) row(ctx context.Context, query string, args ...any) *sql.Row {
	return l.db.QueryRowContext(ctx, l.sql(query), args...)
}

// begin checks that this is a log, and of which form.
func (l *Log) begin(ctx context.Context, hasTable string) error {
	has := func(table string) (yes bool, err error) {
		err = l.row(ctx, hasTable, migrations.Rename(table, l.prefix)).Scan(&yes)
		return yes, err
	}
	isLog, err := has("hecate_log")
	if err != nil {
		return err
	}
	if !isLog {
		return errors.New("there is no log in it; is the table prefix another one?")
	}
	if l.hasTree, err = has("hecate_checkpoints"); err != nil {
		return err
	}
	l.hasErased, err = has("hecate_erased")
	return err
}

// ID identifies the log.
func (l *Log) ID(ctx context.Context) (id string, err error) {
	err = l.row(ctx, `SELECT log_id FROM hecate_log_state`).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// Bounds are the ends of what the database holds, all at one moment.
type Bounds struct {
	First, Last               int64 // positions of records, 0 for none
	FirstPayload, LastPayload int64 // positions of the rows with their data
	Floor                     int64 // positions that were given out, whatever the log holds
	Sealed                    int64 // size of the newest checkpoint
	TreeEnd                   int64 // how many hashes the tree has, going by its last row
	Indexed                   int64 // records that stand in the table of streams; 0 where there is no such table
}

// Bounds reads them.
func (l *Log) Bounds(ctx context.Context) (b Bounds, err error) {
	tree, indexed := "0, 0", "0"
	if l.hasTree {
		tree = `(SELECT coalesce(max(size), 0) FROM hecate_checkpoints),
			coalesce((SELECT start + length(hashes) / 32 FROM hecate_tree ORDER BY start DESC LIMIT 1), 0)`
	}
	if l.indexed {
		indexed = `(SELECT coalesce(max(indexed), 0) FROM hecate_log_state)`
	}
	err = l.row(ctx, `SELECT (SELECT coalesce(min(position), 0) FROM hecate_log), (SELECT coalesce(max(position), 0) FROM hecate_log),
		(SELECT coalesce(min(position), 0) FROM hecate_payload), (SELECT coalesce(max(position), 0) FROM hecate_payload),
		(SELECT coalesce(max(floor), 0) FROM hecate_log_state), `+tree+", "+indexed).
		Scan(&b.First, &b.Last, &b.FirstPayload, &b.LastPayload, &b.Floor, &b.Sealed, &b.TreeEnd, &b.Indexed)
	return b, err
}

// Keys returns who signs, beginning with which size of the tree.
func (l *Log) Keys(ctx context.Context) (keys []eventstore.LogKey, err error) {
	if !l.hasTree {
		return nil, nil
	}
	err = l.each(ctx, func(rows *sql.Rows) error {
		var k eventstore.LogKey
		err := rows.Scan(&k.Since, &k.Public)
		keys = append(keys, k)
		return err
	}, `SELECT since, key FROM hecate_log_keys ORDER BY since`)
	return keys, err
}

// Checkpoints returns up to limit checkpoints of trees with more than after leaves.
func (l *Log) Checkpoints(ctx context.Context, after int64, limit int) (list []eventstore.Checkpoint, err error) {
	if !l.hasTree {
		return nil, nil
	}
	err = l.each(ctx, func(rows *sql.Rows) error {
		var c eventstore.Checkpoint
		err := rows.Scan(&c.Size, &c.Note)
		list = append(list, c)
		return err
	}, `SELECT size, note FROM hecate_checkpoints WHERE size > ? ORDER BY size LIMIT ?`, after, limit)
	return list, err
}

// Newest returns the newest checkpoint, of size 0 if there is none.
func (l *Log) Newest(ctx context.Context) (c eventstore.Checkpoint, err error) {
	if !l.hasTree {
		return c, nil
	}
	err = l.row(ctx, `SELECT size, note FROM hecate_checkpoints ORDER BY size DESC LIMIT 1`).Scan(&c.Size, &c.Note)
	if errors.Is(err, sql.ErrNoRows) {
		return c, nil
	}
	return c, err
}

// TreeRows returns up to limit rows of the tree that begin at hash from or behind it.
func (l *Log) TreeRows(ctx context.Context, from int64, limit int) (list []eventstore.TreeRow, err error) {
	if !l.hasTree {
		return nil, nil
	}
	err = l.each(ctx, func(rows *sql.Rows) error {
		var r eventstore.TreeRow
		err := rows.Scan(&r.Start, &r.Hashes)
		list = append(list, r)
		return err
	}, `SELECT start, hashes FROM hecate_tree WHERE start >= ? ORDER BY start LIMIT ?`, from, limit)
	return list, err
}

// TreeHashes returns hashes of the tree by their indexes, in that order; those that are
// missing are empty.
func (l *Log) TreeHashes(ctx context.Context, indexes []int64) ([][32]byte, error) {
	arg, err := json.Marshal(indexes)
	if err != nil {
		return nil, err
	}
	out := make([][32]byte, 0, len(indexes))
	err = l.each(ctx, func(rows *sql.Rows) error {
		var hash []byte
		err := rows.Scan(&hash)
		out = append(out, [32]byte{})
		copy(out[len(out)-1][:], hash)
		return err
	}, `SELECT (SELECT substr(t.hashes, CAST((i.value - t.start) * 32 + 1 AS int), 32) FROM hecate_tree t
		WHERE t.start <= i.value ORDER BY t.start DESC LIMIT 1) FROM {numbers} ORDER BY i.number`, string(arg))
	if err == nil && len(out) != len(indexes) {
		err = fmt.Errorf("asked for %d hashes, got %d", len(indexes), len(out))
	}
	return out, err
}

// each hands the rows of a query to do.
func (l *Log) each(ctx context.Context, do func(*sql.Rows) error, query string, args ...any) error {
	rows, err := l.db.QueryContext(ctx, l.sql(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
