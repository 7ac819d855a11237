package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"hecate/domain/logkey"
	"hecate/eventstore/proof"
)

// An operator changes the key of a log, and loses it later. Who has kept the first public key
// can verify the log as far as keys vouch for each other.
func TestAuditKeyLife(t *testing.T) {
	t.Chdir(t.TempDir())
	a, _, _ := testApp(t)
	c := configAt(t, a.getenv("HECATE_DATA_DIR"))
	auditing(t, a, exitFailed, "there is no log at", "key", "rotate")
	sealedLog(t, c, 5)
	first := strings.TrimSpace(auditing(t, a, exitCompleted, "", "key"))
	secret := readAll(t, c.AuditKeyFile)
	if err := os.WriteFile("kept.txt", []byte(auditing(t, a, exitCompleted, "", "checkpoint")), 0o600); err != nil {
		t.Fatal(err)
	}

	second := strings.TrimSpace(auditing(t, a, exitCompleted, "keep a copy", "key", "rotate", "--reason", "the yearly change"))
	if now := readAll(t, c.AuditKeyFile); now == secret || exists(c.AuditKeyFile+".next") {
		t.Error("the old key is still there, or the next one has not taken its place")
	}
	sealedLog(t, c, 3)
	out := auditing(t, a, exitCompleted, "nothing was altered", "verify", "--key", first, "--checkpoint", "kept.txt")
	for _, says := range []string{first + " (which you gave)", second, "named by the key before, in record 6: the yearly change", "the checkpoint for 5 records fits"} {
		if !strings.Contains(out, says) {
			t.Errorf("verify does not say %q:\n%s", says, out)
		}
	}
	if err := os.WriteFile("log.pub", []byte(auditing(t, a, exitCompleted, "signs since the checkpoint for 6 records", "key")), 0o600); err != nil {
		t.Fatal(err)
	}
	auditing(t, a, exitCompleted, "nothing was altered", "verify", "--key", "log.pub")
	auditing(t, a, exitFailed, "is not lost", "key", "replace", "--reason", "gone")
	auditing(t, a, exitCompleted, "", "export", "--from", "2", "--to", "8", "-o", "part.zip")
	auditing(t, a, exitCompleted, "which follows from what you gave", "verify", "part.zip", "--key", first, "--checkpoint", "kept.txt")

	if err := os.Remove(c.AuditKeyFile); err != nil {
		t.Fatal(err)
	}
	auditing(t, a, exitFailed, "key replace", "key", "rotate")
	auditing(t, a, exitUsage, "--reason", "key", "replace")
	third := strings.TrimSpace(auditing(t, a, exitCompleted, "", "key", "replace", "--reason", "the disk broke"))
	sealedLog(t, c, 2)
	auditing(t, a, exitCompleted, "notice     trees of more than 9 records are signed by another key", "verify")
	auditing(t, a, exitAltered, "give it as well", "verify", "--key", first)
	auditing(t, a, exitCompleted, "(the disk broke)", "verify", "--key", first, "--key", third)
	origin, _, _ := strings.Cut(first, "+")
	other, _, err := proof.OpenKey("other.key", origin)
	if err != nil {
		t.Fatal(err)
	}
	stranger := other.Public // of the same log, and none of its keys
	auditing(t, a, exitAltered, "names another key than the given one", "verify", "--key", stranger)
	out = auditing(t, a, exitAltered, "give the earlier one, too", "verify", "part.zip", "--key", stranger)
	if !strings.Contains(out, "which is none that you gave") || strings.Contains(out, "follows from") {
		t.Errorf("verify says\n%s", out)
	}
	auditing(t, a, exitUsage, "cannot be read", "verify", "--key", strings.Replace(first, "+", "+0", 1))
	auditing(t, a, exitFailed, "there is none", "verify", "--key", os.DevNull)
	var report struct {
		Keys    []struct{ Key string }
		Notices []struct{ First int }
	}
	if err := json.Unmarshal([]byte(auditing(t, a, exitCompleted, "", "verify", "--json")), &report); err != nil || len(report.Keys) != 3 || len(report.Notices) != 1 || report.Notices[0].First != 10 {
		t.Errorf("as JSON: %+v, %v", report, err)
	}
	auditing(t, a, exitCompleted, "", "export", "--from", "2", "--to", "8", "-o", "last.zip")
	auditing(t, a, exitAltered, "give it as well", "verify", "last.zip", "--key", first)
	auditing(t, a, exitCompleted, "notice", "verify", "last.zip", "--key", third)
	auditing(t, a, exitCompleted, "", "export", "--from", "2", "--to", "4", "--checkpoint", "kept.txt", "-o", "early.zip")
	auditing(t, a, exitCompleted, "which you gave", "verify", "early.zip", "--key", first)
}

// A change that was cut off is carried on by whoever comes next, from each of its steps.
func TestAuditKeyCutOff(t *testing.T) {
	a, _, _ := testApp(t)
	c := configAt(t, a.getenv("HECATE_DATA_DIR"))
	sealedLog(t, c, 4)
	changing := func() *rekeying {
		r, err := a.openRekeying(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := strings.TrimSpace(auditing(t, a, exitCompleted, "", "key"))
	r := changing()
	auditing(t, a, exitFailed, "hecate stop", "key", "rotate")
	prepared, err := r.file.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.x.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(auditing(t, a, exitCompleted, "", "key", "rotate")); got != prepared.Public {
		t.Errorf("the key that was prepared is not taken: %s", got)
	}

	r = changing()
	next, err := r.file.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	statement, err := mustHold(t, r.file, prepared.Public).Vouch(next.Public)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.x.RotateKey(t.Context(), r.meta(next), logkey.Rotated{Old: prepared.Public, New: next.Public, Statement: statement}); err != nil {
		t.Fatal(err)
	}
	if err := r.x.Store.Close(); err != nil {
		t.Fatal(err)
	}
	auditing(t, a, exitCompleted, "has signed nothing yet", "key")
	auditing(t, a, exitCompleted, "not yet", "verify", "--key", first)
	auditing(t, a, exitFailed, "is not lost", "key", "replace", "--reason", "the command ended halfway") // and has sealed with it
	mustHold(t, r.file, next.Public)
	auditing(t, a, exitCompleted, "the last one", "verify", "--key", first)

	if info, err := os.Stat(c.AuditKeyFile); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the key can be read by others: %v, %v", info.Mode(), err)
	}
}

func mustHold(t *testing.T, f proof.KeyFile, public string) proof.Key {
	t.Helper()
	key, err := f.Holding(public)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
