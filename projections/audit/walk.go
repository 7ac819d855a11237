package audit

import (
	"context"
	"database/sql"
	"slices"

	"hecate/projections/readdb"
)

// Rows that a walk reads at once: few at first, more as long as it goes on where it was.
const (
	aheadMin  = 2
	aheadMax  = 64
	aheadGrow = 4
)

// budget counts what a page costs. Rows and questions have a price that is about the
// time that they take.
type budget struct{ rows, questions int }

const (
	questionPrice = 5 // rows that could be read in the time of asking for none
	pageBudget    = 600
)

// over reports whether a page has cost enough.
func (b *budget) over() bool { return b.left() < 0 }

func (b *budget) left() int { return pageBudget - b.rows - questionPrice*b.questions }

// direction turns positions into numbers that rise the way that a search goes, and back.
type direction bool

func (newestFirst direction) turn(n int64) int64 {
	if newestFirst {
		return -n
	}
	return n
}

// walk goes along the list of a code in the direction of a search. Its places are turned.
type walk struct {
	tx    *readdb.Tx
	spent *budget
	way   direction
	code  int64

	places []int64 // that were read and are not passed
	all    []int64 // the same with those that are passed: its memory is used again
	ended  bool    // no more can be read
	ahead  int
	from   int64 // where the last reading began
	to     int64 // the last place that was read
}

// seek passes over the places before at, and returns the first one that is left.
func (w *walk) seek(ctx context.Context, at int64) (int64, bool, error) {
	for {
		if i := w.find(at); i < len(w.places) {
			w.places = w.places[i:]
			return w.places[0], true, nil
		}
		w.places = w.places[:0]
		if w.ended {
			return 0, false, nil
		}
		if err := w.read(ctx, at); err != nil {
			return 0, false, err
		}
	}
}

// find returns the index of the first place that is not before at: most often it is near.
func (w *walk) find(at int64) int {
	for i, p := range w.places[:min(4, len(w.places))] {
		if p >= at {
			return i
		}
	}
	i, _ := slices.BinarySearch(w.places, at)
	return i
}

// read gets the pieces from a place on.
func (w *walk) read(ctx context.Context, at int64) error {
	if w.ahead == 0 || at-w.to > w.to-w.from { // a leap: who knows how far the next one goes
		w.ahead = aheadMin
	} else {
		w.ahead = min(aheadGrow*w.ahead, aheadMax)
	}
	rows := 0
	w.places = w.all[:0]
	err := w.tx.Query(ctx, piecesQuery(w.way), func(r *sql.Rows) error {
		var first int64
		var data sql.RawBytes
		err := r.Scan(&first, &data)
		if err == nil {
			err = w.take(first, data)
		}
		rows++
		return err
	}, w.code, w.way.turn(at), w.ahead)
	w.all = w.places
	w.spent.rows += rows
	w.spent.questions++
	w.ended = rows < w.ahead
	if w.from = at; len(w.places) > 0 {
		w.to = w.places[len(w.places)-1]
	}
	return err
}

// take adds a piece behind the others.
func (w *walk) take(first int64, data []byte) error {
	n := len(w.places)
	w.places = slices.Grow(w.places, len(data)+1) // a place takes a byte at least
	var err error
	if w.places, err = unpack(w.places, first, data); err == nil && w.way {
		piece := w.places[n:]
		slices.Reverse(piece)
		for i := range piece {
			piece[i] = -piece[i]
		}
	}
	return err
}

// piecesQuery finds the pieces of a list from a place on. Oldest first, the first piece
// may lie before the place.
func piecesQuery(way direction) string {
	if way {
		return `SELECT first, data FROM hecate_view_audit_places_@ WHERE code = $1 AND first <= $2 ORDER BY first DESC LIMIT $3`
	}
	return `SELECT first, data FROM hecate_view_audit_places_@ WHERE code = $1
		AND first >= coalesce((SELECT b.first FROM hecate_view_audit_places_@ b WHERE b.code = $1 AND b.first <= $2 ORDER BY b.first DESC LIMIT 1), 0)
		ORDER BY first LIMIT $3`
}

// choiceWalk goes along the lists of several codes as if they were one.
type choiceWalk struct {
	codes []int64
	walks []*walk
}

func (c *choiceWalk) seek(ctx context.Context, at int64) (nearest int64, some bool, err error) {
	for _, w := range c.walks {
		place, ok, err := w.seek(ctx, at)
		if err != nil {
			return 0, false, err
		}
		if ok && (!some || place < nearest) {
			nearest, some = place, true
		}
	}
	return nearest, some, nil
}

func newChoiceWalk(s *search, codes []int64) *choiceWalk {
	c := &choiceWalk{codes: codes}
	for _, code := range codes {
		c.walks = append(c.walks, &walk{tx: s.tx, spent: &s.spent, way: s.way, code: code})
	}
	return c
}

// begin reads the first pieces of all lists from a place on, which one by one would be as
// many questions.
func (c *choiceWalk) begin(ctx context.Context, tx *readdb.Tx, way direction, at int64) error {
	if len(c.walks) == 1 {
		return nil
	}
	begun := make(map[int64]bool, len(c.walks))
	err := byKeys(ctx, tx, firstPiecesQuery(way), []any{way.turn(at)}, c.codes, func(r *sql.Rows) error {
		var code int64
		var first sql.NullInt64
		var data sql.RawBytes
		if err := r.Scan(&code, &first, &data); err != nil || !first.Valid || begun[code] {
			return err
		}
		begun[code] = true
		w := c.walks[slices.Index(c.codes, code)]
		err := w.take(first.Int64, data)
		w.all = w.places
		return err
	})
	for i, w := range c.walks {
		w.ended = !begun[c.codes[i]]
	}
	return err
}

// firstPiecesQuery finds the first piece of each list from a place on, as piecesQuery does
// for one list.
func firstPiecesQuery(way direction) string {
	piece := `p.first <= $1 ORDER BY p.first DESC LIMIT 1`
	if way == direction(OldestFirst) {
		piece = `p.first >= coalesce((SELECT b.first FROM hecate_view_audit_places_@ b WHERE b.code = n.code AND b.first <= $1 ORDER BY b.first DESC LIMIT 1), 0)
			ORDER BY p.first LIMIT 1`
	}
	return `SELECT n.code, (SELECT p.first FROM hecate_view_audit_places_@ p WHERE p.code = n.code AND ` + piece + `),
		(SELECT p.data FROM hecate_view_audit_places_@ p WHERE p.code = n.code AND ` + piece + `)
		FROM hecate_view_audit_names_@ n WHERE n.code IN `
}

// density is how many places there are in a stretch of the log ahead, as far as that was read.
func (c *choiceWalk) density(from, end int64) float64 {
	var sum float64
	for _, w := range c.walks {
		to := end
		if !w.ended && len(w.places) > 0 {
			to = w.places[len(w.places)-1]
		}
		sum += float64(len(w.places)) / float64(max(to-from, 1))
	}
	return sum
}
