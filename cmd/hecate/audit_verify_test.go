package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/show"
	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

// auditing runs hecate audit in a home of its own and wants an exit code and a text.
func auditing(t *testing.T, a *app, code int, says string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a.out, a.err = &out, &errs
	got := a.run(append([]string{"audit"}, args...))
	if all := out.String() + errs.String(); got != code || !strings.Contains(all, says) {
		t.Errorf("hecate audit %s: exit code %d, want %d and %q\n%s", strings.Join(args, " "), got, code, says, all)
	}
	return out.String()
}

// An operator keeps a checkpoint and the key, and finds out later, on another machine, what
// was altered in a copy.
func TestAuditVerify(t *testing.T) {
	a, _, _ := testApp(t)
	c := configAt(t, a.getenv("HECATE_DATA_DIR"))
	auditing(t, a, exitFailed, "there is no log at", "verify")
	sealedLog(t, c, 5)
	elsewhere := t.TempDir()
	keep := func(name, text string) string {
		path := filepath.Join(elsewhere, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := keep("log.pub", auditing(t, a, exitCompleted, "hecate/log_", "key"))
	first := auditing(t, a, exitCompleted, "\n5\n", "checkpoint")
	sealedLog(t, c, 7)
	kept := keep("kept.txt", first+"\n"+auditing(t, a, exitCompleted, "\n12\n", "checkpoint", "--log", c.DataDir))

	auditing(t, a, exitCompleted, "nothing was altered", "verify")
	out := auditing(t, a, exitCompleted, "the checkpoint for 12 records fits", "verify", "--checkpoint", kept, "--key", key)
	if !strings.Contains(out, "the checkpoint for 5 records fits") || !strings.Contains(out, "which you gave") || !strings.Contains(out, "the last one") {
		t.Errorf("verify says\n%s", out)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(elsewhere)))
	defer server.Close()
	auditing(t, a, exitCompleted, "fits", "verify", "--checkpoint", server.URL+"/kept.txt", "--key", c.AuditKeyFile, c.DataDir)
	auditing(t, a, exitFailed, "404", "verify", "--checkpoint", server.URL+"/nothing")
	auditing(t, a, exitFailed, "no such file", "verify", "--checkpoint", "nothing.txt")

	raw, err := os.ReadFile(c.SQLitePath)
	if err != nil {
		t.Fatal(err)
	}
	copied := keep("copy.db", string(raw))
	auditing(t, a, exitCompleted, "nothing was altered", "verify", copied, "--checkpoint", kept)
	forge(t, copied, "DROP TRIGGER hecate_log_no_update; UPDATE hecate_log SET actor_name = 'op-2' WHERE position = 3")
	out = auditing(t, a, exitAltered, "record 3 (run-1 version 3): what it says does not match its hash", "verify", copied, "--checkpoint", kept)
	if strings.Contains(out, "fits") || strings.Contains(out, "nothing was altered") {
		t.Errorf("verify says\n%s", out)
	}
	var report struct{ Findings []struct{ Kind, Text string } }
	if err := json.Unmarshal([]byte(auditing(t, a, exitAltered, "", "verify", "--json", copied)), &report); err != nil || len(report.Findings) != 1 || report.Findings[0].Kind != "altered" {
		t.Errorf("as JSON: %+v, %v", report, err)
	}
}

func forge(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

// A log can be verified while its server uses it, with what is not sealed yet.
func TestAuditVerifyLive(t *testing.T) {
	a, _, _ := testApp(t)
	c := configAt(t, a.getenv("HECATE_DATA_DIR"))
	sealedLog(t, c, 5)
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: c.SQLitePath})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Append(t.Context(), storetest.To("run-2", eventstore.AnyVersion, storetest.NewEvents(2)...)); err != nil {
		t.Fatal(err)
	}
	auditing(t, a, exitCompleted, "the 2 records behind it not yet", "verify")
	auditing(t, a, exitCompleted, "2 records behind it not sealed yet", "checkpoint")
	if err := os.Remove(c.AuditKeyFile); err != nil {
		t.Fatal(err)
	}
	sealer, err := openSealer(t.Context(), c, s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := sealer.Seal(t.Context()); !errors.Is(err, proof.ErrOtherKey) {
		t.Error("sealed without the key", err)
	}
	auditing(t, a, exitCompleted, "nothing was altered", "verify")
}

// A stretch of the log goes into a file that is checked on its own.
func TestAuditExport(t *testing.T) {
	t.Chdir(t.TempDir())
	a, _, _ := testApp(t)
	c := configAt(t, a.getenv("HECATE_DATA_DIR"))
	sealedLog(t, c, 9)
	key := strings.TrimSpace(auditing(t, a, exitCompleted, "", "key"))
	kept := "kept.txt"
	if err := os.WriteFile(kept, []byte(auditing(t, a, exitCompleted, "", "checkpoint")), 0o600); err != nil {
		t.Fatal(err)
	}
	sealedLog(t, c, 3)
	auditing(t, a, exitUsage, "say what to export", "export")
	auditing(t, a, exitUsage, "do not go with --run", "export", "--run", "1", "--from", "3")
	auditing(t, a, exitFailed, "there is no run 7", "export", "--run", "7")
	auditing(t, a, exitFailed, "the log ends with record 12", "export", "--from", "3", "--to", "13")
	auditing(t, a, exitCompleted, "run 1", "export", "--run", "1")
	auditing(t, a, exitFailed, "give the export another name", "export", "--run", "1")
	auditing(t, a, exitUsage, "--from 9 is behind --to 3", "export", "--from", "9", "--to", "3")
	auditing(t, a, exitFailed, "name a log or an export that is there", "verify", "nope.zip")
	auditing(t, a, exitCompleted, "nothing was altered", "verify", "1.zip", "--key", key)
	auditing(t, a, exitCompleted, "says nothing about it", "verify", "1.zip", "--checkpoint", kept)
	auditing(t, a, exitCompleted, "records 3 to 6", "export", "--from", "3", "--to", "6", "--checkpoint", kept, "-o", "part.zip")
	out := auditing(t, a, exitCompleted, "the checkpoint for 9 records fits", "verify", "part.zip", "--checkpoint", kept, "--key", key)
	if !strings.Contains(out, show.Count(4, "record")) {
		t.Errorf("verify says\n%s", out)
	}
	if err := os.Truncate("part.zip", 700); err != nil {
		t.Fatal(err)
	}
	auditing(t, a, exitFailed, "damaged", "verify", "part.zip")

	forge(t, c.SQLitePath, "DROP TRIGGER hecate_payload_no_update; UPDATE hecate_payload SET data = x'7b7d' WHERE position = 4")
	auditing(t, a, exitFailed, "the log does not prove its records: record 4", "export", "--run", "1", "-o", "forged.zip")
	if exists("forged.zip") {
		t.Error("a forged export was left behind")
	}
}
