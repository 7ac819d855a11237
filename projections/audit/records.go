package audit

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"hecate/projections/readdb"
)

// slotRecords is how many positions share a row.
const slotRecords = 32

func slotOfPlace(position int64) int64 { return position / slotRecords }

// entry is what the model knows of one record.
type entry struct {
	position  int64
	at        int64 // microseconds since 1970
	cause     int64 // position of the record that led to it, 0 for none
	task, run int64 // codes, 0 for none; both are among the codes
	codes     []int64
}

func (e *entry) speaksOf(codes []int64) bool {
	return slices.ContainsFunc(e.codes, func(c int64) bool { return slices.Contains(codes, c) })
}

// in reports whether the record is of the time from … to; no bound where one is zero.
func (e *entry) in(from, to time.Time) bool {
	return (from.IsZero() || e.at >= from.UnixMicro()) && (to.IsZero() || e.at < to.UnixMicro())
}

// records writes the entries of records, some neighbours to a row.
type records struct {
	slots map[int64][]entry
	top   int64 // the highest slot with a row or in memory
}

func newRecords() records { return records{slots: map[int64][]entry{}} }

// add takes one entry.
func (r *records) add(ctx context.Context, tx *readdb.Tx, e entry) error {
	slot := slotOfPlace(e.position)
	entries, err := r.load(ctx, tx, slot)
	if err != nil {
		return err
	}
	i, _ := slices.BinarySearchFunc(entries, e.position, func(e entry, p int64) int { return cmp.Compare(e.position, p) })
	r.slots[slot], r.top = slices.Insert(entries, i, e), max(r.top, slot)
	return nil
}

// load returns the entries of a row.
func (r *records) load(ctx context.Context, tx *readdb.Tx, slot int64) ([]entry, error) {
	entries, known := r.slots[slot]
	if known || slot > r.top {
		return entries, nil
	}
	var data []byte
	if _, err := tx.One(ctx, `SELECT data FROM hecate_view_audit_records_@ WHERE slot = $1`, []any{slot}, &data); err != nil {
		return nil, err
	}
	err := eachEntry(slot, data, func(e *entry) {
		own := *e
		own.codes = slices.Clone(e.codes)
		entries = append(entries, own)
	})
	return entries, err
}

// flush writes what has changed.
func (r *records) flush(ctx context.Context, tx *readdb.Tx) error {
	rows := readdb.Rows{Table: recordsTable}
	slots := make([]int64, 0, len(r.slots))
	for slot := range r.slots {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	for _, slot := range slots {
		rows.Add(slot, packEntries(slot, r.slots[slot]))
		if slot != r.top {
			delete(r.slots, slot)
		}
	}
	return tx.Put(ctx, &rows)
}

// packEntries returns the data of a row: for each record its place and its time, both as
// the distance from the one before, the distance from its cause, the codes that it speaks
// of, and which of these are its task and run.
func packEntries(slot int64, entries []entry) []byte {
	var data []byte
	place, at := slot*slotRecords, int64(0)
	for _, e := range entries {
		data = binary.AppendUvarint(data, uint64(e.position-place))
		data = binary.AppendVarint(data, e.at-at)
		place, at = e.position, e.at
		back := int64(0)
		if e.cause > 0 {
			back = e.position - e.cause
		}
		data = binary.AppendVarint(data, back)
		data = binary.AppendUvarint(data, uint64(len(e.codes)))
		for _, c := range e.codes {
			data = binary.AppendUvarint(data, uint64(c))
		}
		data = binary.AppendUvarint(data, uint64(slices.Index(e.codes, e.task)+1))
		data = binary.AppendUvarint(data, uint64(slices.Index(e.codes, e.run)+1))
	}
	return data
}

// eachEntry hands over the entries of a row, each until the next one.
func eachEntry(slot int64, data []byte, do func(*entry)) error {
	r := reader{data: data}
	e := entry{position: slot * slotRecords}
	for len(r.data) > 0 && !r.bad {
		e.position += int64(r.unsigned())
		e.at += r.signed()
		e.cause = 0
		if back := r.signed(); back != 0 {
			e.cause = e.position - back
		}
		n := r.unsigned()
		if n > uint64(len(r.data)) { // each takes a byte at least
			return errPiece
		}
		e.codes = e.codes[:0]
		for range n {
			e.codes = append(e.codes, int64(r.unsigned()))
		}
		e.task, e.run = r.pick(e.codes), r.pick(e.codes)
		if !r.bad {
			do(&e)
		}
	}
	if r.bad {
		return errPiece
	}
	return nil
}

// reader takes numbers from the data of a row.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) unsigned() uint64 {
	v, n := binary.Uvarint(r.data)
	r.skip(n)
	return v
}

func (r *reader) signed() int64 {
	v, n := binary.Varint(r.data)
	r.skip(n)
	return v
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.bad, r.data = true, nil
		return
	}
	r.data = r.data[n:]
}

// pick returns the code at an index that counts from 1, 0 for 0.
func (r *reader) pick(codes []int64) int64 {
	i := r.unsigned()
	if i > uint64(len(codes)) {
		r.bad = true
		return 0
	}
	if i == 0 {
		return 0
	}
	return codes[i-1]
}
