package audit

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"hecate/projections/readdb"
)

const (
	pieceBytes = 384      // of one piece of a list; beyond that the next one begins
	tailsMax   = 16 << 10 // ends of lists that are kept in memory, see recent
)

// tail is the last piece of a list, which what comes next is added to.
type tail struct {
	code, first, last int64
	data              []byte // distances of the places behind the first one
	dirty             bool
}

// lists writes the places of codes. Only what it has written itself is added to: a list
// whose end it does not know goes on in another piece, so that nothing need be read.
type lists struct {
	tails *recent[int64, *tail]
	full  []*tail // pieces that are full and not written
	dirty []*tail // unfinished pieces that have changed
	late  []place // that belong before the ends of their lists
}

// place is an entry of the list of a code.
type place struct{ code, at int64 }

func newLists() lists { return lists{tails: newRecent[int64, *tail](tailsMax)} }

// add puts a place at the end of the list of a code.
func (l *lists) add(code, at int64) {
	t, ok := l.tails.get(code)
	switch {
	case !ok:
		t = &tail{code: code, first: at, data: []byte{}}
		l.tails.put(code, t)
	case len(t.data) >= pieceBytes:
		if t.dirty {
			whole := *t
			l.full = append(l.full, &whole)
		}
		t.first, t.data = at, []byte{}
	default:
		t.data = binary.AppendUvarint(t.data, uint64(at-t.last))
	}
	t.last = at
	if !t.dirty {
		t.dirty = true
		l.dirty = append(l.dirty, t)
	}
}

// flush writes what has changed.
func (l *lists) flush(ctx context.Context, tx *readdb.Tx) error {
	rows := readdb.Rows{Table: placesTable}
	changed := append(l.full, l.dirty...)
	slices.SortFunc(changed, func(a, b *tail) int { return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.first, b.first)) })
	for _, t := range changed { // neighbours in the table come together
		rows.Add(t.code, t.first, t.data)
		t.dirty = false
	}
	clear(changed)
	l.full, l.dirty = l.full[:0], l.dirty[:0]
	if err := tx.Put(ctx, &rows); err != nil {
		return err
	}
	for _, p := range l.late {
		if err := l.insert(ctx, tx, p); err != nil {
			return err
		}
	}
	l.late = l.late[:0]
	l.tails.trim()
	return nil
}

// pieceQuery finds the piece of a list that a place belongs to.
const pieceQuery = `SELECT first, data FROM hecate_view_audit_places_@ WHERE code = $1 AND first <= $2 ORDER BY first DESC LIMIT 1`

// insert puts a place where it belongs in its list.
func (l *lists) insert(ctx context.Context, tx *readdb.Tx, p place) error {
	l.tails.forget(p.code)
	var first int64
	var data []byte
	found, err := tx.One(ctx, pieceQuery, []any{p.code, p.at}, &first, &data)
	if err != nil {
		return err
	}
	rows := readdb.Rows{Table: placesTable}
	if !found {
		rows.Add(p.code, p.at, []byte{})
		return tx.Put(ctx, &rows)
	}
	places, err := unpack(nil, first, data)
	if err != nil {
		return err
	}
	if i, there := slices.BinarySearch(places, p.at); !there {
		places = slices.Insert(places, i, p.at)
	}
	rows.Add(p.code, first, pack(places))
	return tx.Put(ctx, &rows)
}

// pack returns the data of a piece with these places.
func pack(places []int64) []byte {
	data := []byte{}
	for i := 1; i < len(places); i++ {
		data = binary.AppendUvarint(data, uint64(places[i]-places[i-1]))
	}
	return data
}

var errPiece = errors.New("a row of the read model is damaged: rebuild the model audit")

// unpack adds the places of a piece to a list.
func unpack(to []int64, first int64, data []byte) ([]int64, error) {
	at := first
	to = append(to, at)
	for len(data) > 0 {
		distance, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, errPiece
		}
		at, data = at+int64(distance), data[n:]
		to = append(to, at)
	}
	return to, nil
}
