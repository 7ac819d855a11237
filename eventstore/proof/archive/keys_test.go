package archive_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/domain/event"
	"hecate/domain/logkey"
	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/archive"
	"hecate/eventstore/proof/stored"
	"hecate/eventstore/proof/verify"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

// keyScene is a log whose key was changed, and lost later.
type keyScene struct {
	scene
	keys   []proof.Key
	middle []byte // checkpoint under the second key
}

// playKeys: 1-3 run-1, 4 the change, 5-7 run-1, 8 the replacement, 9-10 run-1; checkpoints for 3, 7 and 10.
func playKeys(t testing.TB) (sc keyScene) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	must(t, err)
	defer s.Close()
	id, err := s.LogID(t.Context())
	must(t, err)
	file := proof.KeyFile{Path: filepath.Join(t.TempDir(), "audit.key"), Origin: proof.Origin(id)}
	key, _, err := proof.OpenKey(file.Path, file.Origin)
	must(t, err)
	sealer, err := proof.NewSealer(t.Context(), s, file, 0, slog.New(slog.DiscardHandler))
	must(t, err)
	add := func(stream string, events ...eventstore.Event) []byte {
		_, err := s.Append(t.Context(), storetest.To(stream, eventstore.AnyVersion, events...))
		must(t, err)
		if stream == logkey.Stream {
			return nil
		}
		must(t, sealer.Seal(t.Context()))
		last, _, err := s.LastSeal(t.Context())
		must(t, err)
		return last.Note
	}
	change := func(p func(next proof.Key) event.Payload) {
		next, err := file.Prepare()
		must(t, err)
		encoded, err := event.Encode(p(next), nil)
		must(t, err)
		add(logkey.Stream, storetest.NewEvent(encoded.Type, string(encoded.Data)))
		sc.keys = append(sc.keys, next)
	}
	sc.keys, sc.public = []proof.Key{key}, key.Public
	sc.early = add("run-1", storetest.NewEvents(3)...)
	change(func(next proof.Key) event.Payload {
		statement, err := key.Vouch(next.Public)
		must(t, err)
		return logkey.Rotated{Old: key.Public, New: next.Public, Statement: statement}
	})
	sc.middle = add("run-1", storetest.NewEvents(3)...)
	must(t, os.Remove(file.Path))
	change(func(next proof.Key) event.Payload {
		return logkey.Replaced{Old: sc.keys[1].Public, New: next.Public, Reason: "lost", After: 7}
	})
	sc.newest = add("run-1", storetest.NewEvents(2)...)
	sc.log, err = stored.OpenSQLite(t.Context(), path, "", 2)
	must(t, err)
	t.Cleanup(func() { _ = sc.log.Close() })
	return sc
}

// An export is verified with any kept key that leads to the one that has signed it, and says
// where none does.
func TestExportUnderChangedKeys(t *testing.T) {
	sc := playKeys(t)
	under := func(checkpoint []byte) []byte {
		return export(t, sc.scene, archive.Selection{Asked: "run run_1", Records: stream(t, sc.log, "run-1"), Checkpoint: checkpoint})
	}
	for name, c := range map[string]struct {
		raw      []byte
		key      string // that is kept
		unsealed int64
		findings int64 // position of the one finding, 0 for none
		notices  int
	}{
		"the first key":                  {under(sc.early), sc.keys[0].Public, 5, 0, 0},
		"the first key leads on":         {under(sc.middle), sc.keys[0].Public, 2, 0, 0},
		"the second key":                 {under(sc.middle), sc.keys[1].Public, 2, 0, 0},
		"no key":                         {under(nil), "", 0, 0, 1},
		"the third key":                  {under(nil), sc.keys[2].Public, 0, 0, 1},
		"the first key does not suffice": {under(nil), sc.keys[0].Public, 0, 8, 0},
	} {
		r := check(t, c.raw, c.key)
		found := int64(0)
		if len(r.Findings) == 1 && r.Findings[0].Kind == verify.Signature {
			found = r.Findings[0].First
		}
		if len(r.Findings) > 1 || found != c.findings || len(r.Notices) != c.notices || r.Unsealed != c.unsealed || r.Records != 8 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := check(t, under(nil), sc.keys[2].Public, sc.early, sc.middle, sc.newest); !r.Sound() || !slices.Equal(r.Other, []int64{3, 7}) || !slices.Equal(r.Kept, []int64{10}) {
		t.Errorf("checkpoints of all keys: %+v", r)
	}
	var all []string
	for _, k := range sc.keys {
		all = append(all, k.Public)
	}
	for _, checkpoint := range [][]byte{sc.early, sc.middle, nil} {
		raw := under(checkpoint)
		if r, err := archive.Verify(bytes.NewReader(raw), int64(len(raw)), all, nil); err != nil || !r.Sound() {
			t.Errorf("with all keys: %+v, %v", r, err)
		}
	}
	if r := check(t, under(sc.early), sc.keys[2].Public); r.Sound() {
		t.Error("an early export knows of a key that came later")
	}
}

// A chain of keys that somebody made up leads nowhere.
func TestForgedKeys(t *testing.T) {
	sc := playKeys(t)
	raw := export(t, sc.scene, archive.Selection{Asked: "run run_1", Records: stream(t, sc.log, "run-1"), Checkpoint: sc.middle})
	otherStatement, err := sc.keys[2].Vouch(sc.keys[1].Public)
	must(t, err)
	quoted := func(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }
	statement, err := sc.keys[0].Vouch(sc.keys[1].Public)
	must(t, err)
	for name, c := range map[string]struct {
		raw   []byte
		first int64
	}{
		"without the change":             {member(t, raw, "keys.jsonl", nil), 0},
		"another key":                    {member(t, raw, "key.txt", func(string) string { return sc.keys[2].Public + "\n" }), 0},
		"the first key":                  {member(t, raw, "key.txt", func(string) string { return sc.keys[0].Public + "\n" }), 0},
		"another statement":              {member(t, raw, "keys.jsonl", replace(quoted(statement), quoted(otherStatement))), 4},
		"the statement at another place": {member(t, raw, "keys.jsonl", replace(`"position":4`, `"position":5`)), 5},
		"the statement of later":         {member(t, raw, "keys.jsonl", replace(`"position":4`, `"position":8`)), 8},
		"a checkpoint of before":         {member(t, raw, "checkpoint.txt", func(string) string { return string(sc.early) }), 0},
	} {
		r := check(t, c.raw, sc.public)
		found := false
		for _, f := range r.Findings {
			found = found || f.First == c.first
		}
		if !found {
			t.Errorf("%s: found %+v, want something at %d", name, r.Findings, c.first)
		}
	}
	for name, raw := range map[string][]byte{
		"another stream":  member(t, raw, "keys.jsonl", replace("audit-key", "run-1")),
		"another version": member(t, raw, "keys.jsonl", replace(`"version":1`, `"version":2`)),
		"twice":           member(t, raw, "keys.jsonl", func(s string) string { return s + s }),
		"no line":         member(t, raw, "keys.jsonl", func(string) string { return "x\n" }),
	} {
		if _, err := archive.Verify(bytes.NewReader(raw), int64(len(raw)), nil, nil); !errors.Is(err, archive.ErrForm) {
			t.Errorf("%s: %v, want ErrForm", name, err)
		}
	}
}

// FuzzKeys puts anything in the place of the records that change the key.
func FuzzKeys(f *testing.F) {
	sc := playKeys(f)
	raw := export(f, sc.scene, archive.Selection{Asked: "run run_1", Records: stream(f, sc.log, "run-1"), Checkpoint: sc.middle})
	var before string
	member(f, raw, "keys.jsonl", func(s string) string { before = s; return s + " " })
	f.Add(before)
	f.Add(before + before)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) == strings.TrimSpace(before) {
			return
		}
		forged := member(t, raw, "keys.jsonl", func(s string) string { return text })
		r, err := archive.Verify(bytes.NewReader(forged), int64(len(forged)), []string{sc.public}, nil)
		if err == nil && r.Sound() && !strings.Contains(text, "hecate.key-rotation.v1") {
			t.Errorf("sound with keys %q", text)
		}
	})
}
