package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"hecate/domain/erasure"
	"hecate/eventstore"
	"hecate/projections/readdb"
)

// erased forgets which files and hosts records have named whose data is erased, and the names
// that no other record speaks of. What the erased form keeps, such as the tool, stays.
func (f *fold) erased(ctx context.Context, tx *readdb.Tx, r *eventstore.Record) error {
	var e erasure.Erased
	if err := json.Unmarshal(r.Data, &e); err != nil {
		return err
	}
	if len(e.Records) == 0 || !slices.ContainsFunc(e.Types, func(t string) bool { return !silent[t] }) {
		return nil
	}
	if err := f.Flush(ctx, tx); err != nil {
		return err
	}
	gone := map[int64]bool{}
	for _, one := range e.Records {
		gone[one.Position] = true
	}
	taken, err := f.records.strip(ctx, tx, gone)
	for code, positions := range taken {
		if err == nil {
			err = f.lists.remove(ctx, tx, code, positions)
		}
		if err == nil {
			err = tx.Exec(ctx, `DELETE FROM hecate_view_audit_names_@ WHERE code = $1 AND NOT EXISTS (SELECT 1 FROM hecate_view_audit_places_@ p WHERE p.code = $1)`, code)
		}
	}
	f.whole, f.codes = false, newRecent[name, code](namesMax)
	return err
}

// strip takes the files and hosts out of the entries of records, and returns which there were.
func (r *records) strip(ctx context.Context, tx *readdb.Tx, of map[int64]bool) (taken map[int64][]int64, err error) {
	slots := map[int64][]entry{}
	for position := range of {
		slots[slotOfPlace(position)] = nil
	}
	var codes []int64
	read := func(rows *sql.Rows) error {
		var slot int64
		var data []byte
		if err := rows.Scan(&slot, &data); err != nil {
			return err
		}
		return eachEntry(slot, data, func(e *entry) {
			own := *e
			own.codes = slices.Clone(e.codes)
			slots[slot] = append(slots[slot], own)
			if of[e.position] {
				codes = append(codes, e.codes...)
			}
		})
	}
	if err := byKeys(ctx, tx, recordsQuery, nil, keysOf(slots), read); err != nil {
		return nil, err
	}
	slices.Sort(codes)
	named, err := contentOf(ctx, tx, slices.Compact(codes))
	if err != nil {
		return nil, err
	}
	taken, rows := map[int64][]int64{}, readdb.Rows{Table: recordsTable}
	for slot, entries := range slots {
		for i := range entries {
			e := &entries[i]
			if !of[e.position] {
				continue
			}
			e.codes = slices.DeleteFunc(e.codes, func(c int64) bool {
				if named[c] {
					taken[c] = append(taken[c], e.position)
				}
				return named[c]
			})
		}
		if len(entries) > 0 {
			rows.Add(slot, packEntries(slot, entries))
		}
	}
	clear(r.slots) // the last one is read again
	return taken, tx.Put(ctx, &rows)
}

func keysOf[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// contentOf returns which codes stand for names out of the content of records.
func contentOf(ctx context.Context, tx *readdb.Tx, codes []int64) (map[int64]bool, error) {
	out := map[int64]bool{}
	err := byKeys(ctx, tx, kindsQuery, nil, codes, func(rows *sql.Rows) error {
		var code, kind int64
		err := rows.Scan(&code, &kind)
		out[code] = kind == kindPath || kind == kindHost
		return err
	})
	return out, err
}

// remove takes places out of the list of a code.
func (l *lists) remove(ctx context.Context, tx *readdb.Tx, code int64, places []int64) error {
	l.tails.forget(code)
	slices.Sort(places)
	for len(places) > 0 {
		var first int64
		var data []byte
		found, err := tx.One(ctx, pieceQuery, []any{code, places[0]}, &first, &data)
		if err != nil {
			return err
		}
		piece := []int64{}
		if found {
			if piece, err = unpack(nil, first, data); err != nil {
				return err
			}
		}
		n := 1 // of the places that the piece can hold
		for n < len(places) && len(piece) > 0 && places[n] <= piece[len(piece)-1] {
			n++
		}
		left := slices.DeleteFunc(slices.Clone(piece), func(p int64) bool { return slices.Contains(places[:n], p) })
		if len(left) < len(piece) {
			if err := tx.Exec(ctx, `DELETE FROM hecate_view_audit_places_@ WHERE code = $1 AND first = $2`, code, first); err != nil {
				return err
			}
		}
		if len(left) < len(piece) && len(left) > 0 {
			rows := readdb.Rows{Table: placesTable}
			rows.Add(code, left[0], pack(left))
			if err := tx.Put(ctx, &rows); err != nil {
				return err
			}
		}
		places = places[n:]
	}
	return nil
}
