package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"hecate/eventstore/proof/verify"
)

func TestSound(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			l := b.tamper(t, "")
			for _, o := range []verify.Options{{}, {Keys: []string{b.public}}, {Keys: []string{b.public}, Checkpoints: [][]byte{b.kept, b.early}}} {
				r := b.verify(t, l, o)
				if !r.Sound() {
					t.Errorf("a sound log: %+v", r.Findings)
				}
				if r.Records != sceneLast || r.Verified != sceneLast || r.Sealed != sealedLast || r.Streams != 4 || r.Blobs != 1 || r.Checkpoints != 3 || r.Key != b.public {
					t.Errorf("the report: %+v", r)
				}
				if want := len(o.Checkpoints); len(r.Kept) != want || want > 0 && (r.Kept[0] != sealedEarly || r.Kept[1] != sealedLast) {
					t.Errorf("held against %v", r.Kept)
				}
			}
		})
	}
}

// forgery is one way to change a log, and what must be said about it.
type forgery struct {
	name, sql   string
	kind        verify.Kind
	first, last int64 // last 0: the same
}

// Every column of every table, whoever has changed it and forgot about the hashes.
func edits() (list []forgery) {
	other := func(table, column string) string { // another row's value
		return fmt.Sprintf("%s = (SELECT %[1]s FROM hecate_%s o WHERE o.position = 8)", column, table)
	}
	for column, set := range map[string]string{
		"stream": "stream = 'run-9'", "version": "version = version + 40", "event_id": other("log", "event_id"), "type": "type = 'test.forged'",
		"schema": "schema = schema + 1", "at": "at = at + 1", "actor_kind": "actor_kind = 'client'", "actor_name": "actor_name = 'op-2'",
		"actor_org": "actor_org = 'elsewhere'", "caused_by": "caused_by = 1", "command_id": "command_id = 'cmd-1'", "trace": "trace = 'x'",
		"hash": other("log", "hash"), "half the hash": "hash = substr(hash, 1, 16)",
	} {
		list = append(list, forgery{"log " + column, "UPDATE hecate_log SET " + set + " WHERE position = 7", verify.Altered, 7, 0})
	}
	for column, set := range map[string]string{"salt": other("payload", "salt"), "data": "data = salt", "half the salt": "salt = substr(salt, 1, 8)"} {
		list = append(list, forgery{"payload " + column, "UPDATE hecate_payload SET " + set + " WHERE position = 7", verify.Altered, 7, 0})
	}
	list = append(list, forgery{"log position", "UPDATE hecate_log SET position = 1000 WHERE position = 7", verify.Missing, 7, 0},
		forgery{"payload position", "UPDATE hecate_payload SET position = 1000 WHERE position = 7", verify.Content, 7, 0},
		forgery{"payload before the first", "UPDATE hecate_payload SET position = 0 WHERE position = 7", verify.Inserted, 0, 0})
	for column, set := range map[string]string{
		"digest": "digest = 'x'", "salt": "salt = content", "size": "size = size + 1", "media type": "media_type = 'text/html'",
		"codec": "codec = 1 - codec", "content": "content = salt",
	} {
		list = append(list, forgery{"blobs " + column, "UPDATE hecate_blobs SET " + set, verify.Content, 9, 0})
	}
	return append(list,
		forgery{"commands id", "UPDATE hecate_commands SET command_id = 'cmd-9' WHERE command_id = 'cmd-2'", verify.Link, 10, 0},
		forgery{"commands first", "UPDATE hecate_commands SET first = 9 WHERE command_id = 'cmd-2'", verify.Link, 9, 0},
		forgery{"commands first later", "UPDATE hecate_commands SET first = 11 WHERE command_id = 'cmd-2'", verify.Link, 10, 0},
		forgery{"commands last", "UPDATE hecate_commands SET last = 13 WHERE command_id = 'cmd-2'", verify.Link, 10, 0},
		forgery{"commands last earlier", "UPDATE hecate_commands SET last = 11 WHERE command_id = 'cmd-2'", verify.Link, 12, 0},
		forgery{"commands put in", "INSERT INTO hecate_commands (command_id, first, last) VALUES ('cmd-9', 5, 6)", verify.Link, 5, 0},
		forgery{"commands put in, empty", "INSERT INTO hecate_commands (command_id, first, last) VALUES ('cmd-9', 6, 2)", verify.Link, 6, 0},
		forgery{"commands taken out", "DELETE FROM hecate_commands WHERE command_id = 'cmd-1'", verify.Link, 1, 0},
		forgery{"open work stream", "UPDATE hecate_open_work SET stream = 'run-9'", verify.Link, 21 + 1, 0},
		forgery{"open work since", "UPDATE hecate_open_work SET since = 9", verify.Link, 9, 0},
		forgery{"log id", "UPDATE hecate_log_state SET log_id = 'log_2'", verify.Signature, 0, 0},
		forgery{"floor", "UPDATE hecate_log_state SET floor = 30", verify.Missing, sceneLast + 1, 30},
		forgery{"state taken out", "DELETE FROM hecate_log_state", verify.Signature, 0, 0},
		forgery{"tree start", "UPDATE hecate_tree SET start = start + 1 WHERE start = 7", verify.Tree, 0, 0},
		forgery{"tree leaf", "UPDATE hecate_tree SET hashes = (SELECT hashes FROM hecate_tree o WHERE o.start = 0) WHERE start > 0 AND start < 10", verify.Tree, 0, 0},
		forgery{"tree taken out", "DELETE FROM hecate_tree WHERE start = 0", verify.Tree, 0, 0},
		forgery{"tree cut off", "DELETE FROM hecate_tree WHERE start > 7", verify.Tree, 0, 0},
		forgery{"tree row put in", "INSERT INTO hecate_tree (start, hashes) SELECT 2, salt FROM hecate_payload WHERE position = 1", verify.Tree, 0, 0},
		forgery{"checkpoint size", "UPDATE hecate_checkpoints SET size = 11 WHERE size = 12", verify.Signature, 11, 0},
		forgery{"checkpoint note", "UPDATE hecate_checkpoints SET note = (SELECT note FROM hecate_checkpoints o WHERE o.size = 4) WHERE size = 12", verify.Signature, 12, 0},
		forgery{"checkpoint signature", "UPDATE hecate_checkpoints SET note = substr(note, 1, length(note) - 9) WHERE size = 12", verify.Signature, 12, 0},
		forgery{"checkpoint taken out", "DELETE FROM hecate_checkpoints WHERE size = 12", verify.Signature, 12, 0},
		forgery{"last checkpoint taken out", "DELETE FROM hecate_checkpoints WHERE size = 20", verify.Tree, 0, 0},
		forgery{"checkpoints taken out", "DELETE FROM hecate_checkpoints", verify.Tree, 0, 0},
		forgery{"seal taken out", "DELETE FROM hecate_checkpoints; DELETE FROM hecate_tree; DELETE FROM hecate_log_keys", verify.Signature, 0, 0},
		forgery{"key", "UPDATE hecate_log_keys SET key = 'x'", verify.Signature, 0, 0},
		forgery{"key since", "UPDATE hecate_log_keys SET since = 1", verify.Signature, 0, 0},
		forgery{"key taken out", "DELETE FROM hecate_log_keys", verify.Signature, 0, 0},
	)
}

// loosened are changes of what columns may hold, and of what one holds then.
func loosened(backend string) (list []forgery) {
	columns := map[string][]string{
		"log":     {"stream", "version", "event_id", "type", "schema", "at", "actor_kind", "actor_name", "actor_org", "caused_by", "command_id", "trace", "hash"},
		"payload": {"salt", "data"},
	}
	for table, names := range columns {
		for _, column := range names {
			loosen := fmt.Sprintf("ALTER TABLE hecate_%s ALTER COLUMN %s DROP NOT NULL; ", table, column)
			values := []string{"NULL"}
			if backend == "sqlite" {
				loosen = fmt.Sprintf("CREATE TABLE loose AS SELECT * FROM hecate_%s; DROP TABLE hecate_%[1]s; ALTER TABLE loose RENAME TO hecate_%[1]s; ", table)
				values = append(values, "1.5")
			}
			for _, value := range values {
				kind := verify.Altered
				if column == "data" {
					kind = verify.Content
				}
				list = append(list, forgery{
					table + " " + column + " is " + value,
					loosen + fmt.Sprintf("UPDATE hecate_%s SET %s = %s WHERE position = 7", table, column, value), kind, 7, 0,
				})
			}
		}
	}
	return list
}

// shift moves the records behind a position by one, with their data.
func shift(after, by int) string {
	out := ""
	for _, table := range []string{"log", "payload"} {
		out += fmt.Sprintf("UPDATE hecate_%s SET position = -(position + %d) WHERE position > %d; UPDATE hecate_%[1]s SET position = -position WHERE position < 0; ", table, by, after)
	}
	return out
}

// swap lets two records change places.
func swap(a, b int) string {
	out := ""
	for _, table := range []string{"log", "payload"} {
		out += fmt.Sprintf("UPDATE hecate_%s SET position = -%d WHERE position = %[2]d; UPDATE hecate_%[1]s SET position = %[2]d WHERE position = %[3]d; UPDATE hecate_%[1]s SET position = %[3]d WHERE position = -%[2]d; ", table, a, b)
	}
	return out
}

// copied puts a copy of a record at a place that is free.
func copied(from, to int, stream string, version int) string {
	return fmt.Sprintf(`INSERT INTO hecate_log (position, stream, version, event_id, type, schema, at, actor_kind, actor_name, actor_org, caused_by, command_id, trace, hash)
		SELECT %d, '%s', %d, event_id, type, schema, at, actor_kind, actor_name, actor_org, caused_by, '', trace, hash FROM hecate_log WHERE position = %d;
		INSERT INTO hecate_payload (position, salt, data) SELECT %[1]d, salt, data FROM hecate_payload WHERE position = %[4]d; `, to, stream, version, from)
}

const delete4 = "DELETE FROM hecate_log WHERE position = 4; DELETE FROM hecate_payload WHERE position = 4; "

// What somebody does who knows how hashes are made, and has no key.
func attacks(t *testing.T, b backend) []forgery {
	cut := "DELETE FROM hecate_log WHERE position > 18; DELETE FROM hecate_payload WHERE position > 18; "
	all := cut + "DELETE FROM hecate_tree WHERE start > 7; DELETE FROM hecate_checkpoints WHERE size > 4; "
	return []forgery{
		{"edited and hashed anew", b.rehash(t, "UPDATE hecate_log SET actor_name = 'op-2' WHERE position = 7", 7), verify.Altered, 7, 0},
		{"data edited and hashed anew", b.rehash(t, "UPDATE hecate_payload SET data = salt WHERE position = 2", 2), verify.Altered, 2, 0},
		{"the last sealed one edited and hashed anew", b.rehash(t, "UPDATE hecate_log SET type = 'x' WHERE position = 20", 20), verify.Altered, 20, 0},
		{"taken out", delete4, verify.Missing, 4, 0},
		{"only the row taken out", "DELETE FROM hecate_log WHERE position = 4", verify.Missing, 4, 0},
		{"only the data taken out", "DELETE FROM hecate_payload WHERE position = 4", verify.Content, 4, 0},
		{"several taken out", "DELETE FROM hecate_log WHERE position BETWEEN 5 AND 8", verify.Missing, 5, 8},
		{"the first taken out", "DELETE FROM hecate_log WHERE position = 1", verify.Missing, 1, 0},
		{"content taken out", "DELETE FROM hecate_blobs", verify.Content, 9, 0},
		{"taken out and closed up", delete4 + shift(4, -1), verify.Missing, 4, 0},
		{"put in", shift(4, 1) + b.rehash(t, shift(4, 1)+copied(1, 5, "lone", 2), 5)[len(shift(4, 1)):], verify.Inserted, 5, 0},
		{"put in before the first", copied(1, 0, "lone-2", 1), verify.Inserted, 0, 0},
		{"replayed", b.double + shift(4, 1) + strings.Replace(copied(2, 5, "run-1", 2), "caused_by, '',", "caused_by, command_id,", 1), verify.Inserted, 5, 0},
		{"replaced by a copy", delete4 + b.rehash(t, delete4+copied(3, 4, "lone", 1), 4)[len(delete4):], verify.Altered, 4, 0},
		{"neighbours swapped", swap(4, 5), verify.Reordered, 4, 5},
		{"swapped", swap(4, 14), verify.Reordered, 4, 0},
		{"cut off", cut, verify.Missing, 19, 20},
		{"cut off with all that was sealed", all, verify.Rewound, 19, 20},
		{"everything taken out", "DELETE FROM hecate_log; DELETE FROM hecate_payload; DELETE FROM hecate_tree; DELETE FROM hecate_checkpoints; DELETE FROM hecate_log_keys", verify.Rewound, 1, 20},
		{"edited where nothing is sealed any more", all + b.rehash(t, "UPDATE hecate_log SET type = 'x' WHERE position = 6", 6), verify.Rewound, 19, 20},
	}
}

// Whoever owns the database can drop the triggers and change what they like. Held against a
// checkpoint that was kept elsewhere, everything is found, and the first place named.
func TestTampering(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			list := append(append(edits(), attacks(t, b)...), loosened(name)...)
			if name == "sqlite" {
				list = append(list,
					forgery{"streams version", "UPDATE hecate_streams SET version = 99 WHERE position = 7", verify.Link, 7, 0},
					forgery{"streams stream", "UPDATE hecate_streams SET stream = 'x' WHERE position = 7", verify.Link, 7, 0},
					forgery{"streams position", "UPDATE hecate_streams SET position = 6 WHERE position = 7", verify.Link, 7, 0},
					forgery{"streams taken out", "DELETE FROM hecate_streams WHERE position = 7", verify.Link, 7, 0},
					forgery{"streams put in", "INSERT INTO hecate_streams VALUES ('x', 1, 7)", verify.Link, 0, 0},
					forgery{"streams swapped", "UPDATE hecate_streams SET position = 15 - position WHERE position IN (7, 8)", verify.Link, 7, 0},
					forgery{"indexed", "UPDATE hecate_log_state SET indexed = 3", verify.Link, 0, 0})
			}
			for _, f := range list {
				t.Run(f.name, func(t *testing.T) {
					r := b.verify(t, b.tamper(t, f.sql), verify.Options{Keys: keyUnless(f, b), Checkpoints: [][]byte{b.kept}})
					f.last = max(f.first, f.last)
					found := false
					for _, got := range r.Findings {
						found = found || got.Kind == f.kind && (got.First == f.first && got.Last == f.last || f.first == 0)
					}
					if !found {
						t.Errorf("found %+v, want %s %d to %d", r.Findings, f.kind, f.first, f.last)
					}
					if len(r.Findings) > 0 && f.first > 0 && r.Findings[0].First > f.first {
						t.Errorf("the first finding is at %d", r.Findings[0].First)
					}
				})
			}
		})
	}
}

// keyUnless is the key from elsewhere, but where a log is looked at that contradicts itself.
func keyUnless(f forgery, b backend) []string {
	if strings.HasPrefix(f.name, "key since") {
		return nil
	}
	return []string{b.public}
}
