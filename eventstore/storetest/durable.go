package storetest

import (
	"errors"
	"fmt"
	"testing"

	"hecate/eventstore"
)

func testReopen(t *testing.T, l Log) {
	s := l.Open(t)
	b := To("run-1", 0, NewEvents(3)...)
	b.Streams[0].Work = eventstore.WorkOpen
	b.CommandID = "cmd-1"
	mustAppend(t, s, b)
	id, err := s.LogID(withPatience(t))
	if err != nil || id == "" {
		t.Fatalf("log id %q, %v", id, err)
	}
	before := readAll(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, l)
	if again, err := s.LogID(withPatience(t)); again != id || err != nil {
		t.Errorf("log id %q, %v, want %q", again, err, id)
	}
	same(t, "the log", before, readAll(t, s), nil)
	page, err := s.ReadAll(withPatience(t), 0, 10)
	same(t, "the log by way of the tail", before, page, err)
	if work, err := s.OpenWork(withPatience(t), 0, 10); err != nil || len(work) != 1 {
		t.Errorf("open work %v, %v", work, err)
	}
	if a := mustAppend(t, s, b); a != (eventstore.Appended{First: 1, Last: 3, Repeated: true}) {
		t.Errorf("the command again: %+v", a)
	}
	wantConflict(t, s, To("run-1", 2, NewEvents(1)...), "run-1", 2, 3)
	if a := mustAppend(t, s, To("run-1", 3, NewEvents(1)...)); a.First != 4 {
		t.Errorf("goes on at %d, want 4", a.First)
	}
	verify(t, readAll(t, s), 4)
}

func testImmutable(t *testing.T, l Log) {
	s := open(t, l)
	e := NewEvent("test.happened", "{}")
	salt := newSalt()
	e.Blobs = append(e.Blobs, newBlob(salt, "content"))
	b := To("run-1", 0, e)
	b.CommandID = "cmd-1"
	mustAppend(t, s, b)
	for _, table := range []string{"hecate_log", "hecate_payload", "hecate_blobs", "hecate_commands"} {
		column := map[string]string{"hecate_log": "stream", "hecate_payload": "data", "hecate_blobs": "content", "hecate_commands": "command_id"}[table]
		for _, sql := range []string{"DELETE FROM " + table, fmt.Sprintf("UPDATE %s SET %s = %s", table, column, column)} {
			if err := l.Exec(t, sql); err == nil {
				t.Errorf("%s was carried out", sql)
			}
		}
	}
	// SQLite's REPLACE deletes without triggers; other databases don't know it.
	for _, sql := range []string{
		"REPLACE INTO hecate_log SELECT * FROM hecate_log", "REPLACE INTO hecate_payload SELECT position, salt, salt FROM hecate_payload",
		"REPLACE INTO hecate_commands SELECT command_id, first, last + 1 FROM hecate_commands", "REPLACE INTO hecate_blobs SELECT digest, salt, size, media_type, codec, salt FROM hecate_blobs",
	} {
		if err := l.Exec(t, sql); err == nil {
			t.Errorf("%s was carried out", sql)
		}
	}
	verify(t, readAll(t, s), 1)
}

// Whoever owns the database can switch the triggers off. The hashes tell.
func testTampering(t *testing.T, l Log) {
	s := open(t, l)
	blob := newBlob(newSalt(), "content")
	first := NewEvents(4)
	first[0].Blobs = append(first[0].Blobs, blob)
	mustAppend(t, s, To("run-1", 0, first...))
	stored := s.(eventstore.StoredReader)
	if n, err := eventstore.VerifyAll(withPatience(t), stored, 0); n != 4 || err != nil {
		t.Fatalf("a sound log: verified up to %d, %v", n, err)
	}
	for _, c := range []struct {
		change, undo string
		good         int64 // the last position before the change
	}{
		{"UPDATE hecate_log SET type = 'test.forged' WHERE position = 2", "UPDATE hecate_log SET type = 'test.happened' WHERE position = 2", 1},
		{"UPDATE hecate_log SET actor_name = 'op-2' WHERE position = 3", "UPDATE hecate_log SET actor_name = 'op-1' WHERE position = 3", 2},
		{"UPDATE hecate_log SET at = at + 1 WHERE position = 4", "UPDATE hecate_log SET at = at - 1 WHERE position = 4", 3},
		{"UPDATE hecate_payload SET salt = data WHERE position = 1", "", 0},
	} {
		l.Forge(t, c.change)
		if n, err := eventstore.VerifyAll(withPatience(t), stored, 0); n != c.good || !errors.Is(err, eventstore.ErrTampered) {
			t.Errorf("%s: verified up to %d, %v, want ErrTampered after %d", c.change, n, err, c.good)
		}
		if c.undo != "" {
			l.Forge(t, c.undo)
		}
	}
	l.Forge(t, "DELETE FROM hecate_log WHERE position = 2")
	if n, err := eventstore.VerifyAll(withPatience(t), stored, 1); n != 1 || !errors.Is(err, eventstore.ErrTampered) {
		t.Errorf("a removed record: verified up to %d, %v, want ErrTampered after 1", n, err)
	}
	l.Forge(t, "UPDATE hecate_blobs SET content = salt")
	if _, err := s.Blob(withPatience(t), blob.Digest); !errors.Is(err, eventstore.ErrTampered) {
		t.Errorf("a changed blob: %v, want ErrTampered", err)
	}
}
