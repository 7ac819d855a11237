package verify_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"hecate/domain/erasure"
	"hecate/eventstore"
	"hecate/eventstore/proof/verify"
	"hecate/eventstore/storetest"
)

// erasedBy is the record that erases records 6 and 9, with the large content of the latter.
const erasedBy = sceneLast + 1

// erase does so.
func erase(t *testing.T, s eventstore.Store, sc *scene) {
	t.Helper()
	records, err := s.ReadAll(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	sc.before = records
	p := erasure.Erased{Rule: erasure.RuleRequest, Reason: "a test", Subject: "two records", Contents: []string{sc.blob}}
	e := eventstore.Erasure{Contents: p.Contents}
	for _, position := range []int64{6, 9} {
		r, form := records[position-1], []byte(fmt.Sprintf(`{"left":%d}`, position))
		e.Records = append(e.Records, eventstore.ErasedRecord{Position: position, Salt: r.Salt, Digest: r.DataDigest(), Form: form})
		p.Records = append(p.Records, erasure.Record{Position: position, Form: eventstore.FormDigest(form)})
	}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	b := storetest.To(erasure.Stream, 0, storetest.NewEvent(erasure.Type, string(data)))
	b.Erase = &e
	if _, err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

func erasedBackends(t *testing.T) map[string]backend {
	play := func(t *testing.T, s eventstore.Store) scene { return playWith(t, s, erase) }
	return map[string]backend{"sqlite": onSQLite(t, play), "postgres": onPostgres(t, play)}
}

// A log of which something was erased verifies, also against a checkpoint from before, and
// tells what was erased, by whom and why.
func TestErased(t *testing.T) {
	for name, b := range erasedBackends(t) {
		t.Run(name, func(t *testing.T) {
			r := b.verify(t, b.tamper(t, ""), verify.Options{Keys: []string{b.public}, Checkpoints: [][]byte{b.early, b.kept}})
			if !r.Sound() || r.Erased != 2 || len(r.Kept) != 2 || len(r.Erasures) != 1 {
				t.Fatalf("%+v", r)
			}
			if e := r.Erasures[0]; e.Position != erasedBy || e.Actor.Name != "op-1" || e.Reason != "a test" || e.Records != 2 || e.Contents != 1 {
				t.Errorf("%+v", e)
			}
		})
	}
}

// Whatever is done to what was erased, to what is left of it or to what says so, is found; and
// so is what only looks as if it had been erased.
func TestErasureIsProven(t *testing.T) {
	for name, b := range erasedBackends(t) {
		set := func(position int64, salt, data []byte) string {
			return fmt.Sprintf("UPDATE hecate_payload SET salt = %s, data = %s WHERE position = %d", b.hex(salt), b.hex(data), position)
		}
		was := func(position int64) *eventstore.Record { return &b.before[position-1] }
		mark := func(r *eventstore.Record, by int64) []byte { return eventstore.ErasedSalt(r.DataDigest(), by) }
		left := []byte(`{"left":6}`)
		for _, f := range []forgery{
			{"another form", set(6, mark(was(6), erasedBy), []byte(`{"left":"a lie"}`)), verify.Erasure, 6, 0},
			{"another digest", set(6, mark(was(7), erasedBy), left), verify.Altered, 6, 0},
			{"another erasure", set(6, mark(was(6), 5), left), verify.Erasure, 6, 0},
			{"an erasure to come", set(6, mark(was(6), 99), left), verify.Erasure, 6, 0},
			{"no erasure", set(6, append(mark(was(6), erasedBy)[:32], make([]byte, 8)...), left), verify.Altered, 6, 0},
			{"brought back", set(6, was(6).Salt[:], was(6).Data), verify.Erasure, 6, 0},
			{"erased by a thief", set(7, mark(was(7), erasedBy), []byte("{}")), verify.Erasure, 7, 0},
			{"erased with another's form", set(7, mark(was(7), erasedBy), left), verify.Erasure, 7, 0},
			{"the erasure altered", fmt.Sprintf("UPDATE hecate_payload SET data = %s WHERE position = %d", b.hex([]byte("{}")), erasedBy), verify.Altered, erasedBy, 0},
			{"the erasure erased", fmt.Sprintf("UPDATE hecate_payload SET salt = %s, data = %s WHERE position = %d", b.hex(eventstore.ErasedSalt([32]byte{1}, erasedBy)), b.hex([]byte("{}")), erasedBy), verify.Altered, erasedBy, 0},
			{"the erasure taken out", fmt.Sprintf("DELETE FROM hecate_payload WHERE position = %d; DELETE FROM hecate_log WHERE position = %[1]d", erasedBy), verify.Missing, erasedBy, 0},
			{"content brought back", fmt.Sprintf("INSERT INTO hecate_blobs (digest, salt, size, media_type, codec, content) VALUES ('%s', %s, 1, '', 0, %s)", b.blob, b.hex([]byte{1}), b.hex([]byte{1})), verify.Erasure, erasedBy, 0},
			{"content not in the table", "DELETE FROM hecate_erased", verify.Link, erasedBy, 0},
			{"content by another", "UPDATE hecate_erased SET erased_by = 5", verify.Link, 5, 0},
			{"content put in the table", "INSERT INTO hecate_erased (digest, erased_by) VALUES ('00', 7)", verify.Link, 7, 0},
		} {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				r := b.verify(t, b.tamper(t, f.sql), verify.Options{Keys: []string{b.public}, Checkpoints: [][]byte{b.kept}})
				found := false
				for _, got := range r.Findings {
					found = found || got.Kind == f.kind && got.First == f.first
				}
				if !found {
					t.Errorf("found %+v, want %s at %d", r.Findings, f.kind, f.first)
				}
			})
		}
	}
}
