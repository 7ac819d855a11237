package audit

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"hecate/projections/readdb"
)

const (
	minute     = int64(60 * 1000000) // the shortest piece of time, in microseconds
	longer     = 60                  // how many pieces of a level make one of the next
	spanLevels = 3                   // a minute, an hour, 60 hours
	spansMax   = 256                 // pieces that are kept in memory between batches
	noBound    = int64(1) << 50      // a slot that no time reaches
)

type spanKey struct{ level, slot int64 }

type span struct {
	first, last int64
	dirty       bool
}

// spans writes between which positions the records of a piece of time lie.
type spans map[spanKey]*span

// add notes a record in its pieces of time.
func (s spans) add(ctx context.Context, tx *readdb.Tx, position, micros int64) error {
	slot := floor(micros, minute)
	for level := range int64(spanLevels) {
		if err := s.stretch(ctx, tx, spanKey{level, slot}, position); err != nil {
			return err
		}
		slot = floor(slot, longer)
	}
	return nil
}

func (s spans) stretch(ctx context.Context, tx *readdb.Tx, k spanKey, position int64) error {
	one := s[k]
	if one == nil {
		one = &span{}
		_, err := tx.One(ctx, `SELECT first_place, last_place FROM hecate_view_audit_spans_@ WHERE level = $1 AND slot = $2`, []any{k.level, k.slot}, &one.first, &one.last)
		if err != nil {
			return err
		}
		s[k] = one
	}
	if one.first == 0 || position < one.first {
		one.first = position
	}
	one.last, one.dirty = max(one.last, position), true
	return nil
}

func (s spans) flush(ctx context.Context, tx *readdb.Tx) error {
	rows := readdb.Rows{Table: spansTable}
	for k, one := range s {
		if one.dirty {
			rows.Add(k.level, k.slot, one.first, one.last)
			one.dirty = false
		}
	}
	if len(s) > spansMax {
		clear(s)
	}
	return tx.Put(ctx, &rows)
}

// floor divides and rounds down, also a moment before 1970.
func floor(n, by int64) int64 {
	q := n / by
	if n < q*by {
		q--
	}
	return q
}

// stretchOf are the pieces of one level from one slot to another, both included.
type stretchOf struct{ level, from, to int64 }

// cover splits a time into pieces, long ones where that can be, so that few rows say
// where its records are: two stretches of each level at most, and one of the longest.
func cover(from, to int64) []stretchOf {
	var out []stretchOf
	for level := int64(0); ; level++ {
		head, end := floor(from, longer), floor(to, longer)
		if level == spanLevels-1 || head == end {
			return append(out, stretchOf{level, from, to})
		}
		out = append(out, stretchOf{level, from, (head+1)*longer - 1}, stretchOf{level, end * longer, to})
		if from, to = head+1, end-1; from > to {
			return out
		}
	}
}

// coverMax is the most that cover returns.
const coverMax = 2*(spanLevels-1) + 1

// spansQuery finds between which positions the records of all stretches lie.
var spansQuery = func() string {
	parts := make([]string, coverMax)
	for i := range parts {
		parts[i] = fmt.Sprintf(`SELECT min(first_place) AS a, max(last_place) AS b FROM hecate_view_audit_spans_@ WHERE level = $%d AND slot >= $%d AND slot <= $%d`, 3*i+1, 3*i+2, 3*i+3)
	}
	return `SELECT min(a), max(b) FROM (` + strings.Join(parts, " UNION ALL ") + `) s`
}()

func spansArgs(from, to time.Time) []any {
	a, b := -noBound, noBound
	if !from.IsZero() {
		a = max(a, floor(from.UnixMicro(), minute))
	}
	if !to.IsZero() {
		b = min(b, floor(to.UnixMicro(), minute))
	}
	args := make([]any, 0, 3*coverMax)
	for _, s := range cover(a, b) {
		args = append(args, s.level, s.from, s.to)
	}
	for len(args) < 3*coverMax {
		args = append(args, int64(0), int64(1), int64(0)) // nothing
	}
	return args
}

// between returns the positions that records of a time lie between, both included;
// false if there are none.
func between(ctx context.Context, tx *readdb.Tx, from, to time.Time) (first, last int64, some bool, err error) {
	var a, b sql.NullInt64
	_, err = tx.One(ctx, spansQuery, spansArgs(from, to), &a, &b)
	return a.Int64, b.Int64, a.Valid, err
}
