package readdb

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Type is the type of a column.
type Type int

// The types of columns.
const (
	Int Type = iota
	Text
	Bytes
)

// Column is a column of a table.
type Column struct {
	Name string
	Type Type
}

// Table is a table that rows are put into. The first Key columns are its key; a row
// with the key of another takes its place.
type Table struct {
	Name    string // with @ for the build
	Key     int
	Columns []Column
}

// Rows are rows on their way into a table. The zero value with Table set is empty.
type Rows struct {
	Table *Table
	n     int
	ints  [][]int64  // per column of type Int
	texts [][]string // per column of type Text
	bytes [][][]byte // per column of type Bytes
}

// sizes are the numbers of rows that one SQLite statement takes. Few sizes mean
// few statements to prepare; large ones mean few steps through the driver.
var sizes = []int{64, 16, 4, 1}

// postgresRows bounds one statement of PostgreSQL.
const postgresRows = 4096

// Len returns the number of rows.
func (r *Rows) Len() int { return r.n }

// Add adds one row: its values in the order of the columns, each an int64, a string
// or a []byte. A key may occur once. Strings are made fit for a text column.
func (r *Rows) Add(values ...any) {
	if r.ints == nil {
		n := len(r.Table.Columns)
		r.ints, r.texts, r.bytes = make([][]int64, n), make([][]string, n), make([][][]byte, n)
	}
	for i, v := range values {
		switch v := v.(type) {
		case int64:
			r.ints[i] = append(r.ints[i], v)
		case string:
			r.texts[i] = append(r.texts[i], clean(v))
		case []byte:
			r.bytes[i] = append(r.bytes[i], v)
		default:
			panic(fmt.Sprintf("readdb: a %T in a row of %s", v, r.Table.Name))
		}
	}
	r.n++
}

// clean replaces what PostgreSQL does not take in a text.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// reset empties the rows and keeps their memory.
func (r *Rows) reset() {
	r.n = 0
	for i := range r.ints {
		r.ints[i] = r.ints[i][:0]
		r.texts[i] = r.texts[i][:0]
		clear(r.bytes[i])
		r.bytes[i] = r.bytes[i][:0]
	}
}

// Put writes the rows and empties them.
func (t *Tx) Put(ctx context.Context, r *Rows) error {
	defer r.reset()
	if r.n == 0 {
		return nil
	}
	put := t.putSQLite
	if t.db.postgres {
		put = t.putPostgres
	}
	if err := put(ctx, r); err != nil {
		return fmt.Errorf("write %s: %w", r.Table.Name, err)
	}
	return nil
}

func (t *Tx) putSQLite(ctx context.Context, r *Rows) error {
	from := 0
	for _, size := range sizes {
		var query string
		for r.n-from >= size {
			if query == "" {
				query = r.Table.insert() + r.Table.values(size) + r.Table.conflict()
			}
			if err := t.Exec(ctx, query, r.args(from, from+size)...); err != nil {
				return err
			}
			from += size
		}
	}
	return nil
}

func (t *Tx) putPostgres(ctx context.Context, r *Rows) error {
	query := r.Table.insert() + r.Table.unnest() + r.Table.conflict()
	for from := 0; from < r.n; from += postgresRows {
		to := min(from+postgresRows, r.n)
		args := make([]any, len(r.Table.Columns))
		for i, c := range r.Table.Columns {
			switch c.Type {
			case Int:
				args[i] = r.ints[i][from:to]
			case Text:
				args[i] = r.texts[i][from:to]
			case Bytes:
				args[i] = r.bytes[i][from:to]
			}
		}
		if err := t.Exec(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rows) args(from, to int) []any {
	out := make([]any, 0, (to-from)*len(r.Table.Columns))
	for n := from; n < to; n++ {
		for i, c := range r.Table.Columns {
			switch c.Type {
			case Int:
				out = append(out, r.ints[i][n])
			case Text:
				out = append(out, r.texts[i][n])
			case Bytes:
				out = append(out, r.bytes[i][n])
			}
		}
	}
	return out
}

func (t *Table) insert() string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ") "
}

func (t *Table) values(rows int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(t.Columns)), ", ") + ")"
	return "VALUES " + strings.TrimSuffix(strings.Repeat(row+", ", rows), ", ")
}

func (t *Table) unnest() string {
	arrays := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, [...]string{Int: "bigint", Text: "text", Bytes: "bytea"}[c.Type])
	}
	return "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")"
}

func (t *Table) conflict() string {
	keys := make([]string, t.Key)
	for i := range keys {
		keys[i] = t.Columns[i].Name
	}
	if t.Key == len(t.Columns) {
		return " ON CONFLICT (" + strings.Join(keys, ", ") + ") DO NOTHING"
	}
	sets := make([]string, 0, len(t.Columns))
	for _, c := range t.Columns[t.Key:] {
		sets = append(sets, c.Name+" = excluded."+c.Name)
	}
	return " ON CONFLICT (" + strings.Join(keys, ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}
