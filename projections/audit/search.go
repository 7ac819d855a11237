package audit

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hecate/projections/readdb"
)

const (
	pieceMentions = 2000 // of the rarest name, that one step of a search looks at
	piecesMax     = 4    // steps of one page
)

// search finds the records that stand in all lists. Each step takes the list that has
// its next entries the farthest away, goes along these, and looks each up in the others.
type search struct {
	tx            *readdb.Tx
	newestFirst   bool
	limit         int
	from, to      time.Time
	after, before int64
	lists         [][]int64 // of each, one of the codes
}

func (s *search) run(ctx context.Context) (Page, error) {
	var out Page
	if s.before <= 0 {
		s.before = math.MaxInt64
	}
	some, err := s.within(ctx)
	for step := 0; err == nil && some && s.after < s.before-1; step++ {
		if step == piecesMax || len(out.Found) == s.limit {
			out.Next = s.edge()
			break
		}
		err = s.step(ctx, &out)
	}
	return out, err
}

// edge is where the search goes on.
func (s *search) edge() int64 {
	if s.newestFirst {
		return s.before
	}
	return s.after
}

const spansQuery = `SELECT min(first_place), max(last_place) FROM hecate_view_audit_spans_@ WHERE slot >= $1 AND slot <= $2`

// within narrows the positions to those that records of the time can have.
func (s *search) within(ctx context.Context) (bool, error) {
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if !s.from.IsZero() {
		from = slotOf(s.from.UnixMicro())
	}
	if !s.to.IsZero() {
		to = slotOf(s.to.UnixMicro())
	}
	var first, last sql.NullInt64
	query, args := spansQuery, []any{from, to}
	if s.from.IsZero() && s.to.IsZero() {
		query, args = `SELECT (SELECT min(position) FROM hecate_view_audit_records_@), (SELECT max(position) FROM hecate_view_audit_records_@)`, nil
	}
	_, err := s.tx.One(ctx, query, args, &first, &last)
	if err != nil || !first.Valid {
		return false, err
	}
	s.after, s.before = max(s.after, first.Int64-1), min(s.before, last.Int64+1)
	return true, nil
}

// step takes the next piece of the list that is the rarest from here on.
func (s *search) step(ctx context.Context, out *Page) error {
	piece, rarest := *s, 0
	if len(s.lists) == 0 {
		piece.cut(s.edge(), pieceMentions)
	}
	for i, codes := range s.lists {
		p, err := s.piece(ctx, codes)
		if err != nil {
			return err
		}
		if i == 0 || p.before-p.after > piece.before-piece.after {
			piece, rarest = p, i
		}
	}
	found, err := piece.find(ctx, rarest, s.limit-len(out.Found))
	if err != nil {
		return err
	}
	out.Found = append(out.Found, found...)
	done := piece.after + 1 // nothing is left of the piece
	if !s.newestFirst {
		done = piece.before - 1
	}
	if len(out.Found) == s.limit {
		done = out.Found[s.limit-1].Position
	}
	if s.newestFirst {
		s.before = done
	} else {
		s.after = done
	}
	return nil
}

// cut makes s a piece that ends n positions from its edge.
func (s *search) cut(edge, n int64) {
	if s.newestFirst {
		s.after = max(s.after, edge-1-n)
	} else {
		s.before = min(s.before, edge+1+n)
	}
}

// piece is what lies before the end of the next entries of one list.
func (s *search) piece(ctx context.Context, codes []int64) (search, error) {
	p := *s
	query := s.endQuery()
	for _, c := range codes {
		var position int64
		found, err := s.tx.One(ctx, query, []any{c, p.after, p.before}, &position)
		switch {
		case err != nil:
			return p, err
		case found && s.newestFirst:
			p.after = position - 1
		case found:
			p.before = position + 1
		}
	}
	return p, nil
}

// endQuery finds where the next entries of a code end.
func (s *search) endQuery() string {
	return fmt.Sprintf(`SELECT position FROM hecate_view_audit_places_@ WHERE code = $1 AND position > $2 AND position < $3 ORDER BY position %s LIMIT 1 OFFSET %d`,
		s.direction(), pieceMentions-1)
}

func (s *search) direction() string {
	if s.newestFirst {
		return "DESC"
	}
	return "ASC"
}

// find returns up to limit records of the piece, going along one of the lists. Whatever
// the database knows of its tables, it can look up the rest by keys only: scalar
// subqueries become no join.
func (s *search) find(ctx context.Context, along, limit int) ([]Found, error) {
	query, args := s.query(along, limit)
	var out []Found
	err := s.tx.Query(ctx, query, func(rows *sql.Rows) error {
		var f Found
		var task, run sql.RawBytes
		err := rows.Scan(&f.Position, &task, &run)
		f.TaskID, f.RunID = string(task), string(run)
		out = append(out, f)
		return err
	}, args...)
	return out, err
}

func (s *search) query(along, limit int) (string, []any) {
	var b strings.Builder
	args := []any{s.after, s.before}
	arg := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	one := func(codes []int64) string {
		list := make([]string, len(codes))
		for i, c := range codes {
			list[i] = arg(c)
		}
		return strings.Join(list, ", ")
	}
	b.WriteString(`SELECT p.position,
		(SELECT n.value FROM hecate_view_audit_names_@ n WHERE n.code = (SELECT r.task FROM hecate_view_audit_records_@ r WHERE r.position = p.position)),
		(SELECT n.value FROM hecate_view_audit_names_@ n WHERE n.code = (SELECT r.run FROM hecate_view_audit_records_@ r WHERE r.position = p.position))
		FROM `)
	if len(s.lists) == 0 {
		b.WriteString(`hecate_view_audit_records_@ p WHERE p.position > $1 AND p.position < $2`)
	} else {
		b.WriteString(`hecate_view_audit_places_@ p WHERE p.position > $1 AND p.position < $2 AND p.code IN (` + one(s.lists[along]) + `)`)
	}
	for i, codes := range s.lists {
		if i != along {
			b.WriteString(` AND (SELECT count(*) FROM hecate_view_audit_places_@ o WHERE o.code IN (` + one(codes) + `) AND o.position = p.position) > 0`)
		}
	}
	const at = `(SELECT r.at FROM hecate_view_audit_records_@ r WHERE r.position = p.position)`
	if !s.from.IsZero() {
		b.WriteString(` AND ` + at + ` >= ` + arg(s.from.UnixMicro()))
	}
	if !s.to.IsZero() {
		b.WriteString(` AND ` + at + ` < ` + arg(s.to.UnixMicro()))
	}
	b.WriteString(` ORDER BY p.position ` + s.direction() + ` LIMIT ` + arg(limit))
	return b.String(), slices.Clip(args)
}
