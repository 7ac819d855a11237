package stored

import (
	"fmt"
	"time"
)

// cell is what stands in one column of a row.
type cell struct {
	kind kind
	n    int64  // of an integer
	b    []byte // of a text or blob; only good until the next row
}

type kind byte

const (
	null kind = iota
	integer
	text
	blob
	other
)

func (k kind) String() string {
	return [...]string{"nothing", "an integer", "a text", "bytes", "of another type"}[k]
}

// columns are those of a record, in the order in which they are read.
var columns = [...]string{
	"position", "stream", "version", "event id", "type", "schema", "time",
	"actor kind", "actor name", "actor organisation", "cause", "command id", "trace", "hash", "salt", "data",
}

// decoder makes records of rows.
type decoder struct {
	row   Row
	cells []cell
	at    int
	texts [len(columns)]string // of the row before: most are the same again
}

// decode returns the record in a row. It is overwritten by the next one.
func (d *decoder) decode(cells []cell) *Row {
	d.cells, d.at, d.row = cells, 0, Row{}
	r := &d.row
	salt, data := &cells[len(cells)-2], &cells[len(cells)-1]
	missing := salt.kind == null && data.kind == null
	if missing {
		salt.kind, data.kind = blob, blob
	}
	r.Position, r.Stream, r.Version = d.int(), d.text(), d.int()
	id := d.bytes()
	r.Type, r.Schema, r.At = d.text(), int(d.int()), time.UnixMicro(d.int()).UTC()
	r.Actor.Kind, r.Actor.Name, r.Actor.Org = d.text(), d.text(), d.text()
	r.CausedBy, r.CommandID, r.Trace = d.int(), d.text(), d.text()
	hash := d.bytes()
	d.bytes()
	r.Data = d.bytes()
	switch {
	case r.Odd != "": // a column of another type comes first
	case len(id) != len(r.ID):
		r.Odd = fmt.Sprintf("its event id has %d bytes", len(id))
	case len(hash) != len(r.Hash):
		r.Odd = fmt.Sprintf("its hash has %d bytes", len(hash))
	case missing:
		r.Odd = "its data is missing"
	case !r.SetSalt(salt.b):
		r.Odd = fmt.Sprintf("its salt has %d bytes", len(salt.b))
	}
	copy(r.ID[:], id)
	copy(r.Hash[:], hash)
	return r
}

// next takes the next column, which should hold a kind.
func (d *decoder) next(want kind) *cell {
	c := &d.cells[d.at]
	if c.kind != want && d.row.Odd == "" {
		d.row.Odd = fmt.Sprintf("its %s is %s", columns[d.at], c.kind)
	}
	d.at++
	return c
}

func (d *decoder) int() int64 { return d.next(integer).n }

func (d *decoder) bytes() []byte { return d.next(blob).b }

func (d *decoder) text() string {
	last := &d.texts[d.at]
	if b := d.next(text).b; *last != string(b) {
		*last = string(b)
	}
	return *last
}
