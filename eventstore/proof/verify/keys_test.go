package verify_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"hecate/domain/event"
	"hecate/domain/logkey"
	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/verify"
	"hecate/eventstore/storetest"
)

// playKeys is a log whose key was changed twice:
//
//	1-5 run-1   6 the first change   7-9 run-1   10 the second change   11-12 run-1   13 run-1, not sealed
//
// with checkpoints for 5 (first key), 6 and 9 (second), and 12 (third).
func playKeys(t *testing.T, s eventstore.Store) (sc scene) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	id, err := s.LogID(ctx)
	must(t, err)
	file := proof.KeyFile{Path: filepath.Join(t.TempDir(), "audit.key"), Origin: proof.Origin(id)}
	key, _, err := proof.OpenKey(file.Path, file.Origin)
	must(t, err)
	sealer, err := proof.NewSealer(ctx, s.(proof.Log), file, 0, slog.New(slog.DiscardHandler))
	must(t, err)
	add := func(stream string, events ...eventstore.Event) {
		_, err := s.Append(ctx, storetest.To(stream, eventstore.AnyVersion, events...))
		must(t, err)
	}
	seal := func() []byte {
		must(t, sealer.Seal(ctx))
		last, _, err := s.(eventstore.Tree).LastSeal(ctx)
		must(t, err)
		return last.Note
	}
	change := func() {
		next, err := file.Prepare()
		must(t, err)
		statement, err := key.Vouch(next.Public)
		must(t, err)
		add(logkey.Stream, keyEvent(t, logkey.Rotated{Old: key.Public, New: next.Public, Reason: "why", Statement: statement}))
		key = next
		sc.keys = append(sc.keys, key)
	}
	sc.public, sc.keys = key.Public, []proof.Key{key}
	add("run-1", storetest.NewEvents(5)...)
	sc.early = seal()
	change()
	seal()
	add("run-1", storetest.NewEvents(3)...)
	sc.kept = seal()
	change()
	add("run-1", storetest.NewEvents(2)...)
	seal()
	add("run-1", storetest.NewEvents(1)...)
	return sc
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func keyEvent(t testing.TB, p event.Payload) eventstore.Event {
	t.Helper()
	encoded, err := event.Encode(p, nil)
	must(t, err)
	return storetest.NewEvent(encoded.Type, string(encoded.Data))
}

// otherKey is a key of the log that nobody has named.
func otherKey(t testing.TB, b backend) proof.Key {
	t.Helper()
	origin, _, _ := strings.Cut(b.public, "+")
	key, _, err := proof.OpenKey(filepath.Join(t.TempDir(), "other.key"), origin)
	must(t, err)
	return key
}

// says returns SQL that lets a record say something else, with the hash that belongs to it.
func (b backend) says(t *testing.T, before string, position int64, p event.Payload) string {
	t.Helper()
	e := keyEvent(t, p)
	return b.rehash(t, before+fmt.Sprintf("UPDATE hecate_log SET type = '%s' WHERE position = %d; UPDATE hecate_payload SET data = %s WHERE position = %[2]d",
		e.Type, position, b.hex(e.Data)), position)
}

// resigned returns SQL that puts another signature under the checkpoints from a size on.
func (b backend) resigned(t *testing.T, from int64, key proof.Key) (query string) {
	t.Helper()
	list, err := b.tamper(t, "").Checkpoints(t.Context(), from-1, 100)
	must(t, err)
	for _, c := range list {
		head, err := proof.Read(c.Note)
		must(t, err)
		note, err := head.Sign(key)
		must(t, err)
		query += fmt.Sprintf("UPDATE hecate_checkpoints SET note = %s WHERE size = %d; ", b.hex(note), c.Size)
	}
	return query
}

const (
	onlyFirst = "DELETE FROM hecate_log_keys WHERE since > 5; "
	takenOut6 = "DELETE FROM hecate_log WHERE position = 6; DELETE FROM hecate_payload WHERE position = 6; "
)

// Any kept key leads to all others, those of later times and of earlier ones.
func TestChangedKeys(t *testing.T) {
	for name, b := range map[string]backend{"sqlite": onSQLite(t, playKeys), "postgres": onPostgres(t, playKeys)} {
		t.Run(name, func(t *testing.T) {
			l := b.tamper(t, "")
			for _, keys := range [][]string{nil, {b.keys[0].Public}, {b.keys[1].Public}, {b.keys[2].Public}, {b.keys[2].Public, b.keys[0].Public}} {
				r := b.verify(t, l, verify.Options{Keys: keys, Checkpoints: [][]byte{b.kept, b.early}})
				if !r.Sound() || r.Verified != 13 || r.Sealed != 12 || r.Checkpoints != 4 || len(r.Kept) != 2 || r.Key != b.keys[2].Public || len(r.Notices) != 0 {
					t.Errorf("with %v: %+v", keys, r)
				}
				for i, want := range []verify.Key{{b.keys[0].Public, 5, 0, false, ""}, {b.keys[1].Public, 6, 6, false, "why"}, {b.keys[2].Public, 12, 10, false, "why"}} {
					if r.Keys[i] != want {
						t.Errorf("key %d: %+v, want %+v", i, r.Keys[i], want)
					}
				}
			}
			keys, findings, err := verify.Keys(t.Context(), l)
			if len(keys) != 3 || len(findings) != 0 || err != nil {
				t.Errorf("%+v, %+v, %v", keys, findings, err)
			}
			b.forgedKeys(t, name)
		})
	}
}

func (b backend) forgedKeys(t *testing.T, name string) {
	first, second, third, other := b.keys[0], b.keys[1], b.keys[2], otherKey(t, b)
	vouch := func(by, next proof.Key) logkey.Rotated {
		statement, err := by.Vouch(next.Public)
		must(t, err)
		return logkey.Rotated{Old: first.Public, New: next.Public, Reason: "why", Statement: statement}
	}
	end := copied(13, 14, logkey.Stream, 3)
	row := func(since int, key proof.Key) string {
		return fmt.Sprintf("INSERT INTO hecate_log_keys (since, key) VALUES (%d, '%s'); ", since, key.Public)
	}
	stranger := b.resigned(t, 6, other)
	for _, f := range []forgery{
		{"a row put in", row(8, other), verify.Signature, 8, 0},
		{"a row put in behind the end", row(99, other), verify.Signature, 99, 0},
		{"a row put in before the first", row(1, other), verify.Signature, 1, 0},
		{"a key a second time", row(9, first), verify.Signature, 9, 0},
		{"a row taken out", "DELETE FROM hecate_log_keys WHERE since = 6", verify.Signature, 6, 0},
		{"the last row taken out", "DELETE FROM hecate_log_keys WHERE since = 12", verify.Signature, 12, 0},
		{"all rows taken out", "DELETE FROM hecate_log_keys", verify.Signature, 6, 0},
		{"since later", "UPDATE hecate_log_keys SET since = 7 WHERE since = 6", verify.Signature, 6, 0},
		{"since earlier", "UPDATE hecate_log_keys SET since = 11 WHERE since = 12", verify.Signature, 0, 0},
		{"since much earlier", "UPDATE hecate_log_keys SET since = 4 WHERE since = 5; UPDATE hecate_log_keys SET since = 5 WHERE since = 6", verify.Signature, 0, 0},
		{"another key", "UPDATE hecate_log_keys SET key = '" + other.Public + "' WHERE since = 6", verify.Signature, 6, 0},
		{"no key", "UPDATE hecate_log_keys SET key = '' WHERE since = 6", verify.Signature, 6, 0},
		{"signed by a stranger", stranger + onlyFirst + row(6, other), verify.Signature, 6, 0},
		{"all of it signed by a stranger", b.resigned(t, 0, other) + "DELETE FROM hecate_log_keys; " + row(5, other), verify.Signature, 5, 0},
		{"the old key used on", b.resigned(t, 6, first) + onlyFirst, verify.Signature, 6, 0},
		{"the second key used on", b.resigned(t, 12, second) + "DELETE FROM hecate_log_keys WHERE since = 12", verify.Signature, 12, 0},
		{"the third key used too early", b.resigned(t, 9, third) + "UPDATE hecate_log_keys SET since = 9 WHERE since = 12", verify.Signature, 9, 0},
		{"an event altered", "UPDATE hecate_payload SET data = salt WHERE position = 6", verify.Signature, 6, 0},
		{"an event of another type", "UPDATE hecate_log SET type = 'log.key_replaced' WHERE position = 6", verify.Altered, 6, 0},
		{"an event taken out", takenOut6, verify.Missing, 6, 0},
		{"an event without data", "DELETE FROM hecate_payload WHERE position = 6", verify.Signature, 6, 0},
		{"another key named", b.says(t, "", 6, vouch(first, other)), verify.Altered, 6, 0},
		{"another key named and signed with", b.says(t, stranger+onlyFirst+row(6, other), 6, vouch(first, other)), verify.Altered, 6, 0},
		{"a stranger's statement", b.says(t, "", 6, vouch(other, second)), verify.Signature, 6, 0},
		{"a stranger named by itself", b.says(t, stranger+onlyFirst+row(6, other), 6, vouch(other, other)), verify.Signature, 6, 0},
		{"replaced instead", b.says(t, "", 6, logkey.Replaced{Old: first.Public, New: second.Public, Reason: "lost", After: 5}), verify.Signature, 6, 0},
		{"replaced by a stranger", b.says(t, end, 14, logkey.Replaced{Old: third.Public, New: other.Public, Reason: "lost", After: 12}), verify.Signature, 14, 0},
		{"replaced from the beginning", b.says(t, end, 14, logkey.Replaced{Old: third.Public, New: other.Public, Reason: "lost"}), verify.Signature, 14, 0},
		{"rotated by a stranger", b.says(t, end, 14, logkey.Rotated{Old: third.Public, New: other.Public, Statement: "x"}), verify.Signature, 14, 0},
		{"round in a circle", b.says(t, end, 14, logkey.Rotated{Old: third.Public, New: first.Public, Statement: vouch(third, first).Statement}), verify.Signature, 14, 0},
		{"from a key of before", b.says(t, end, 14, vouch(first, other)), verify.Signature, 14, 0},
	} {
		t.Run(f.name, func(t *testing.T) {
			r := b.verify(t, b.tamper(t, f.sql), verify.Options{Keys: []string{first.Public}, Checkpoints: [][]byte{b.kept}})
			f.last = max(f.first, f.last)
			found := false
			for _, got := range r.Findings {
				found = found || got.Kind == f.kind && (got.First == f.first && got.Last == f.last || f.first == 0)
			}
			if !found {
				t.Errorf("found %+v, want %s %d", r.Findings, f.kind, f.first)
			}
		})
	}
	before := "DELETE FROM hecate_log WHERE position > 5; DELETE FROM hecate_payload WHERE position > 5; DELETE FROM hecate_checkpoints WHERE size > 5; " + onlyFirst +
		"DELETE FROM hecate_tree WHERE start > 0; UPDATE hecate_log_state SET floor = 5; "
	if r := b.verify(t, b.tamper(t, before), verify.Options{Keys: []string{first.Public, second.Public}}); r.Sound() || r.Findings[0].Kind != verify.Rewound {
		t.Errorf("an earlier state with keys of later: %+v", r.Findings)
	}
	if name == "sqlite" {
		for _, hidden := range []string{"DELETE FROM hecate_streams WHERE position = 6", "UPDATE hecate_streams SET stream = 'x' WHERE position = 6"} {
			if r := b.verify(t, b.tamper(t, hidden), verify.Options{}); r.Sound() || r.Findings[0].First > 6 {
				t.Errorf("%s: found %+v", hidden, r.Findings)
			}
		}
	}
	r := b.verify(t, b.tamper(t, b.says(t, end, 14, logkey.Replaced{Old: third.Public, New: other.Public, Reason: "lost", After: 12})), verify.Options{})
	if !r.Sound() || len(r.Notices) != 1 || r.Notices[0].First != 14 || !strings.Contains(r.Notices[0].Text, "more than 12 records") {
		t.Errorf("a replaced key without one to hold it against: %+v", r)
	}
}
