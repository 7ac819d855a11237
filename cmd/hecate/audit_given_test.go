package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"hecate/eventstore/proof"
)

// The token of a server goes to the operation of the API that answers checkpoints, and nowhere else.
func TestCheckpointOfServer(t *testing.T) {
	a, _, _ := testApp(t)
	c := configAt(t, a.getenv("HECATE_DATA_DIR"))
	sealedLog(t, c, 5)
	checkpoint := auditing(t, a, exitCompleted, "\n5\n", "checkpoint")
	const token = "a-token-of-twenty-four-signs"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Get("X-Hecate-Runtime-Token")
		switch {
		case r.URL.Path != "/hecate/v1/audit/checkpoint":
			if sent != "" {
				t.Error("the token was sent to", r.URL.Path)
			}
			fmt.Fprint(w, checkpoint)
		case r.URL.RawQuery == "away":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case sent != token:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprintf(w, `{"data":{"checkpoint":%q}}`, checkpoint)
		}
	}))
	defer server.Close()
	at := server.URL + "/hecate/v1/audit/checkpoint"
	auditing(t, a, exitFailed, "set HECATE_RUNTIME_TOKEN", "verify", "--checkpoint", at)
	environ := a.environ
	a.environ = append(environ, "HECATE_RUNTIME_TOKEN=another-token-of-twenty-four-signs")
	auditing(t, a, exitFailed, "not the token of that server", "verify", "--checkpoint", at)
	a.environ = append(environ, "HECATE_RUNTIME_TOKEN="+token)
	auditing(t, a, exitCompleted, "the checkpoint for 5 records fits", "verify", "--checkpoint", at)
	auditing(t, a, exitCompleted, "the checkpoint for 5 records fits", "verify", "--checkpoint", server.URL+"/kept.txt")
	auditing(t, a, exitFailed, "302", "verify", "--checkpoint", at+"?away")
	t.Chdir(t.TempDir())
	auditing(t, a, exitCompleted, "5 records", "export", "--from", "1", "--to", "5", "--checkpoint", at)
}

// A mistake of whoever verifies is told as one before anything is verified; what is of this log and
// signed by nobody is a finding.
func TestGivenByMistake(t *testing.T) {
	t.Chdir(t.TempDir())
	keep := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other, _, _ := testApp(t)
	sealedLog(t, configAt(t, other.getenv("HECATE_DATA_DIR")), 3)
	keep("other.txt", auditing(t, other, exitCompleted, "", "checkpoint"))
	keep("other.pub", auditing(t, other, exitCompleted, "", "key"))
	a, _, _ := testApp(t)
	sealedLog(t, configAt(t, a.getenv("HECATE_DATA_DIR")), 5)
	kept := auditing(t, a, exitCompleted, "", "checkpoint")
	keep("kept.txt", kept)
	keep("log.pub", auditing(t, a, exitCompleted, "", "key"))
	keep("forged.txt", strings.Replace(kept, "\n5\n", "\n4\n", 1))
	keep("text.txt", "box\n")
	auditing(t, a, exitCompleted, "", "export", "--from", "1", "--to", "5", "-o", "part.zip")
	for _, what := range []string{"", "part.zip"} {
		verify := func(code int, says string, args ...string) {
			t.Helper()
			out := auditing(t, a, code, says, append([]string{"verify", what}, args...)...)
			if code != exitAltered && strings.Contains(out, "log_") {
				t.Errorf("something was verified:\n%s", out)
			}
		}
		verify(exitFailed, "this is no checkpoint", "--checkpoint", "text.txt")
		verify(exitUsage, "this is a key; give it with --key", "--checkpoint", "log.pub")
		verify(exitUsage, "this is a checkpoint; give it with --checkpoint", "--key", "kept.txt")
		verify(exitUsage, "hecate audit key prints", "--key", "text.txt")
		verify(exitFailed, "a checkpoint that you gave is about another log", "--checkpoint", "other.txt")
		verify(exitFailed, "a key that you gave is about another log", "--key", "other.pub")
		verify(exitAltered, "not signed by the key", "--checkpoint", "forged.txt")
	}
	auditing(t, a, exitFailed, "about another log", "export", "--from", "1", "--to", "2", "--checkpoint", "other.txt")
	if auditing(t, a, exitCompleted, "fits", "verify", "--key", "log.pub", "--checkpoint", "kept.txt"); exists("records-1-2.zip") {
		t.Error("an export was left behind")
	}
}

// A second history that is signed with the true key contradicts a checkpoint that was kept of the
// first, and what is named then are the records since the last one on which both agree.
func TestSecondHistory(t *testing.T) {
	t.Chdir(t.TempDir())
	a, _, _ := testApp(t)
	c := configAt(t, a.getenv("HECATE_DATA_DIR"))
	sealedLog(t, c, 3)
	first := auditing(t, a, exitCompleted, "\n3\n", "checkpoint")
	auditing(t, a, exitCompleted, "3 records in 1 stream", "verify")
	sealedLog(t, c, 2)
	head, err := proof.Read([]byte(auditing(t, a, exitCompleted, "", "checkpoint")))
	if err != nil {
		t.Fatal(err)
	}
	key, err := proof.ReadKey(c.AuditKeyFile, head.Origin)
	if err != nil {
		t.Fatal(err)
	}
	head.Root[0]++
	other, err := head.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"other.txt": string(other), "both.txt": first + string(other)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := auditing(t, a, exitAltered, "the records 1 to 5, or some of them", "verify", "--checkpoint", "other.txt")
	if strings.Contains(out, "stream") {
		t.Errorf("verify counts streams that it has not read:\n%s", out)
	}
	auditing(t, a, exitAltered, `"first":4,"last":5`, "verify", "--json", "--checkpoint", "both.txt")
}
