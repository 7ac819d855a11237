//go:build linux

package blackbox_test

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"hecate/eventstore/postgres/pgtest"
)

// audit runs "hecate audit" beside the server, and wants an exit code.
func (s *server) audit(t *testing.T, code int, words ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"audit"}, words...)...)
	cmd.Env, cmd.Dir = s.env, filepath.Dir(s.dir)
	var printed strings.Builder
	cmd.Stderr = &printed
	out, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("hecate audit %s: exit code %d, want %d\n%s%s", strings.Join(words, " "), got, code, out, printed.String())
	}
	return string(out) + printed.String()
}

// key is what the command prints alone on a line: a public key.
func keyIn(t *testing.T, printed string) string {
	t.Helper()
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "hecate/log_") {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("there is no key in\n%s", printed)
	return ""
}

// sealed waits until everything is under a checkpoint of the given key.
func (s *server) sealed(t *testing.T, key string) doc {
	t.Helper()
	var at doc
	eventually(t, "the log is sealed", func() bool {
		at = s.get(t, api+"/audit/checkpoint")
		return at.num("sealed") == at.num("head") && at.str("key") == key
	})
	return at
}

// Who has kept the first key and a checkpoint can verify a copy of the log on another machine,
// and an export, after the key was changed.
func TestKeyIsChanged(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.begin(t, sh("echo one")).becomes(t, "completed")
	first := keyIn(t, eventualKey(t, s))
	s.sealed(t, first)
	kept := filepath.Join(filepath.Dir(s.dir), "kept.txt")
	if err := os.WriteFile(kept, []byte(s.audit(t, 0, "checkpoint")), 0o600); err != nil {
		t.Fatal(err)
	}
	if says := s.audit(t, 1, "key", "rotate"); !strings.Contains(says, "hecate stop") {
		t.Errorf("while the server runs: %s", says)
	}
	equal(t, "exit code", s.terminate(t), 0)
	second := keyIn(t, s.audit(t, 0, "key", "rotate", "--reason", "the yearly change"))
	s.start(t)
	r := s.begin(t, sh("echo two"))
	r.becomes(t, "completed")
	at := s.sealed(t, second)
	if keys := at.list("keys"); len(keys) != 2 || keys[0].str("key") != first || keys[1].str("key") != second || keys[1].str("reason") != "the yearly change" {
		t.Errorf("keys: %v", keys)
	}
	zip := filepath.Join(filepath.Dir(s.dir), "run.zip")
	s.audit(t, 0, "export", "--run", r.id, "-o", zip)
	s.kill()
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{copied, zip} {
		if says := s.audit(t, 0, "verify", what, "--key", first, "--checkpoint", kept); !strings.Contains(says, second) {
			t.Errorf("%s is verified without a word of the second key:\n%s", what, says)
		}
	}
	origin, _, _ := strings.Cut(second, "+")
	_, nobodys, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	s.audit(t, 5, "verify", copied, "--key", nobodys)
	s.audit(t, 2, "verify", copied, "--key", strings.Replace(second, second[len(second)-6:], "AAAAAA", 1)) // no key at all
}

// eventualKey is the key once the log has one.
func eventualKey(t *testing.T, s *server) string {
	t.Helper()
	eventually(t, "the log has a key", func() bool { return s.get(t, api+"/audit/checkpoint").str("key") != "" })
	return s.audit(t, 0, "key")
}

// Nodes that share a log and the file of its key go on with the next key by themselves.
func TestKeyIsChangedUnderNodes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shared.key")
	url := pgtest.URL(t)
	all := nodesOn(t, url, 2, "HECATE_AUDIT_KEY_FILE="+file, "TMPDIR="+t.TempDir())
	all[0].begin(t, sh("echo one")).becomes(t, "completed")
	first := keyIn(t, eventualKey(t, all[0]))
	second := keyIn(t, all[1].audit(t, 0, "key", "rotate"))
	all[1].begin(t, sh("echo two")).becomes(t, "completed")
	all[0].sealed(t, second)
	all[0].crash(t)
	all[0].begin(t, sh("echo three")).becomes(t, "completed")
	all[1].sealed(t, second)
	all[1].audit(t, 0, "verify", url, "--key", first)
}
