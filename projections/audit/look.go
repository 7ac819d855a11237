package audit

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"hecate/projections/readdb"
)

// keysMax is how many rows one question names by their keys.
const keysMax = 256

// byKeys asks for the rows of all keys. The query ends where the list of keys begins; args
// are its parameters before that.
func byKeys[K any](ctx context.Context, tx *readdb.Tx, query string, args []any, keys []K, scan func(*sql.Rows) error) error {
	for part := range slices.Chunk(keys, keysMax) {
		size := 1
		for size < len(part) {
			size *= 4 // few sizes are few statements to prepare
		}
		all := slices.Clone(args)
		marks := make([]string, size)
		for i := range marks {
			marks[i] = fmt.Sprintf("$%d", len(all)+1)
			all = append(all, part[min(i, len(part)-1)])
		}
		if err := tx.Query(ctx, query+"("+strings.Join(marks, ", ")+")", scan, all...); err != nil {
			return err
		}
	}
	return nil
}

const (
	recordsQuery = `SELECT slot, data FROM hecate_view_audit_records_@ WHERE slot IN `
	codesQuery   = `SELECT code FROM hecate_view_audit_names_@ WHERE kind = $1 AND value IN `
	kindsQuery   = `SELECT code, kind FROM hecate_view_audit_names_@ WHERE code IN `
	topQuery     = `SELECT max(slot) FROM hecate_view_audit_records_@`
	namesQuery   = `SELECT code, value FROM hecate_view_audit_names_@ WHERE code IN `
)

// eachEntry hands over the entries of the records at turned places, in their order, until
// do has enough. There is none for a record that the model could not take.
func (s *search) eachEntry(ctx context.Context, places []int64, do func(*entry) bool) error {
	for len(places) > 0 {
		var slots []int64
		n := 0
		for ; n < len(places); n++ {
			slot := slotOfPlace(s.way.turn(places[n]))
			if len(slots) > 0 && slots[len(slots)-1] == slot {
				continue
			}
			if len(slots) == keysMax {
				break
			}
			slots = append(slots, slot)
		}
		rows, err := s.rows(ctx, slots)
		if err != nil {
			return err
		}
		if done, err := s.entriesOf(rows, places[:n], do); done || err != nil {
			return err
		}
		places = places[n:]
	}
	return nil
}

// rows reads the rows of slots.
func (s *search) rows(ctx context.Context, slots []int64) (map[int64][]byte, error) {
	rows := make(map[int64][]byte, len(slots))
	s.spent.questions++
	s.spent.rows += len(slots)
	err := byKeys(ctx, s.tx, recordsQuery, nil, slots, func(r *sql.Rows) error {
		var slot int64
		var data []byte
		err := r.Scan(&slot, &data)
		rows[slot] = data
		return err
	})
	return rows, err
}

// entriesOf hands over the entries at places, which are all in the rows.
func (s *search) entriesOf(rows map[int64][]byte, places []int64, do func(*entry) bool) (done bool, err error) {
	for len(places) > 0 {
		slot := slotOfPlace(s.way.turn(places[0]))
		n := 1
		for n < len(places) && slotOfPlace(s.way.turn(places[n])) == slot {
			n++
		}
		entries, err := entriesAt(slot, rows[slot], s.way, places[:n])
		if err != nil {
			return false, err
		}
		for i := range entries {
			if !do(&entries[i]) {
				return true, nil
			}
		}
		places = places[n:]
	}
	return false, nil
}

// entriesAt returns the entries of a row that are at places, in the order of these.
func entriesAt(slot int64, data []byte, way direction, places []int64) ([]entry, error) {
	out := make([]entry, 0, len(places))
	err := eachEntry(slot, data, func(e *entry) {
		if slices.Contains(places, way.turn(e.position)) {
			own := *e
			own.codes = slices.Clone(e.codes)
			out = append(out, own)
		}
	})
	if way == direction(NewestFirst) {
		slices.Reverse(out)
	}
	return out, err
}

// names returns the ids of the tasks and runs that what was found belongs to, by code.
func (s *search) names(ctx context.Context) (map[int64]string, error) {
	out, codes := map[int64]string{}, []int64{}
	for _, e := range s.found {
		for _, c := range []int64{e.task, e.run} {
			if _, asked := out[c]; !asked && c != 0 {
				out[c] = ""
				codes = append(codes, c)
			}
		}
	}
	err := byKeys(ctx, s.tx, namesQuery, nil, codes, func(r *sql.Rows) error {
		var code int64
		var value []byte
		err := r.Scan(&code, &value)
		out[code] = string(value)
		return err
	})
	return out, err
}
