package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"hecate/domain/erasure"
	"hecate/eventstore"
	"hecate/migrations/readmodel"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// harness folds records into an empty model, batch by batch.
type harness struct {
	t  *testing.T
	db *readdb.DB
	f  *fold
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	db, err := readdb.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	h := &harness{t, db, newFold()}
	h.do(func(tx *readdb.Tx) error { return tx.Script(t.Context(), "x", readmodel.Audit) })
	return h
}

func (h *harness) do(do func(*readdb.Tx) error) {
	h.t.Helper()
	if err := h.db.Update(h.t.Context(), "x", do); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) take(records ...eventstore.Record) {
	h.t.Helper()
	h.do(func(tx *readdb.Tx) error {
		for _, r := range records {
			if err := h.f.Apply(h.t.Context(), tx, runner.Fact{Record: r}); err != nil {
				return err
			}
		}
		return h.f.Flush(h.t.Context(), tx)
	})
}

// find returns the positions of the records that speak of a name, nil if it is not known.
func (h *harness) find(n name, way direction) (out []int64) {
	h.t.Helper()
	h.do(func(tx *readdb.Tx) error {
		codes, err := choice{kind: n.kind, values: []string{n.value}}.codes(h.t.Context(), tx)
		if err != nil || len(codes) == 0 {
			return err
		}
		s := search{tx: tx, way: way, limit: 5000, lists: [][]int64{codes}}
		page, err := s.run(h.t.Context())
		for _, one := range page.Found {
			out = append(out, one.Position)
		}
		return err
	})
	return out
}

// A record that could not be taken when it came, and is taken later, stands where it
// belongs: between what came before and behind it, and before all that there is.
func TestLateRecords(t *testing.T) {
	h := newHarness(t)
	record := func(p int64) eventstore.Record {
		return eventstore.Record{Position: p, Stream: "run-a", Type: "run.queued", CausedBy: 1, Actor: eventstore.Actor{Kind: "worker", Name: fmt.Sprint(p % 2)}}
	}
	var all []int64
	missing := []int64{2, 40, 1500, 1501, 2999}
	for p := int64(2); p <= 3000; p++ {
		all = append(all, p)
		if !slices.Contains(missing, p) {
			h.take(record(p))
		}
	}
	h.take(record(40), record(1500), record(1501))
	h.f.Forget() // as after a restart
	h.take(record(2999), record(2))
	h.take(record(3001))
	all = append(all, 3001)
	if got := h.find(name{kindRun, "a"}, direction(OldestFirst)); !slices.Equal(got, all) {
		t.Errorf("oldest first %d records, want %d", len(got), len(all))
	}
	newest := h.find(name{kindRun, "a"}, direction(NewestFirst))
	if slices.Reverse(newest); !slices.Equal(newest, all) {
		t.Errorf("newest first %d records, want %d", len(newest), len(all))
	}
	h.do(func(tx *readdb.Tx) error {
		s := search{tx: tx, limit: 5000}
		effects, err := s.effects(t.Context(), 1)
		if len(effects.Found) != len(all) {
			t.Errorf("%d effects, want %d", len(effects.Found), len(all))
		}
		return err
	})
}

// Files and hosts are forgotten record by record, wherever in their lists these stand, and
// with the last one the name.
func TestStrip(t *testing.T) {
	h := newHarness(t)
	var records []eventstore.Record
	for p := int64(1); p <= 1000; p++ {
		r := eventstore.Record{Position: p, Stream: "run-a", Type: "tool.dispatch.intended", Actor: eventstore.Actor{Kind: "worker"}}
		r.Data = []byte(`{"tool_name":"read_file","input":{"path":"src/a.go"}}`)
		if p == 500 {
			r.Data = []byte(`{"tool_name":"read_file","input":{"path":"b.go"}}`)
		}
		records = append(records, r)
	}
	h.take(records[:700]...)
	h.f.Forget()
	h.take(records[700:]...)
	erase := func(at int64, positions ...int64) {
		e := erasure.Erased{Types: []string{"tool.dispatch.intended"}}
		for _, p := range positions {
			e.Records = append(e.Records, erasure.Record{Position: p})
		}
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		h.take(eventstore.Record{Position: at, Stream: erasure.Stream, Type: erasure.Type, Data: data})
	}
	file := name{kindPath, "src/a.go"}
	left := func() (out []int64) {
		for p := int64(1); p <= 1000; p++ {
			if p != 500 {
				out = append(out, p)
			}
		}
		return out
	}()
	drop := func(positions ...int64) {
		left = slices.DeleteFunc(left, func(p int64) bool { return slices.Contains(positions, p) })
	}
	for i, positions := range [][]int64{{500}, {1, 2, 385}, {386, 699, 700, 701, 1000}} {
		erase(int64(1001+i), positions...)
		drop(positions...)
		if got := h.find(file, direction(OldestFirst)); !slices.Equal(got, left) {
			t.Errorf("without %v: %d records, want %d", positions, len(got), len(left))
		}
	}
	if got := h.find(name{kindPath, "b.go"}, direction(OldestFirst)); got != nil {
		t.Errorf("b.go is found at %v", got)
	}
	erase(1004, slices.Clone(left)...)
	for _, n := range []name{file, {kindPath, "src/"}} {
		if got := h.find(n, direction(OldestFirst)); got != nil {
			t.Errorf("%s is found at %v", n.value, got)
		}
	}
	if got := h.find(name{kindTool, "read_file"}, direction(NewestFirst)); len(got) != 1000 {
		t.Errorf("the tool is found %d times", len(got))
	}
	h.do(func(tx *readdb.Tx) error {
		var names int
		_, err := tx.One(t.Context(), `SELECT count(*) FROM hecate_view_audit_names_@ WHERE kind = $1`, []any{kindPath}, &names)
		if names != 0 {
			t.Errorf("%d names of files are left", names)
		}
		return err
	})
}
