package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// doctor runs "hecate doctor --json" and returns its exit code and what it found.
func doctor(t *testing.T, environ ...string) (code int, found map[string]finding) {
	t.Helper()
	a, out, errs := testApp(t)
	a.environ = append(a.environ, environ...)
	code = a.run([]string{"doctor", "--json"})
	var f findings
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	if f.OK != (code == exitCompleted) {
		t.Errorf("exit code %d, ok %t", code, f.OK)
	}
	found = map[string]finding{}
	for _, x := range f.List {
		found[x.Name] = x
	}
	return code, found
}

func TestDoctorOfAMachineThatIsReady(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	code, found := doctor(t, "HECATE_DATA_DIR="+dir, "HECATE_ADDRESS=127.0.0.1:0", "TMPDIR="+t.TempDir(), "HECATE_TASK_SANDBOX=auto")
	if code != exitCompleted {
		t.Errorf("exit code %d: %v", code, found)
	}
	for name, health := range map[string]health{"data": healthy, "database": noted, "git": healthy, "shells": healthy, "workspaces": healthy, "address": healthy} {
		if found[name].Health != health {
			t.Errorf("%s is %v, want %s", name, found[name], health)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it has changed the data directory: %v, %v", left, err)
	}
}

func TestDoctorFindsWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(dir, "notes")
	if err := os.WriteFile(notes, []byte("no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := []string{"HECATE_DATA_DIR=" + dir, "HECATE_ADDRESS=127.0.0.1:0", "HECATE_TASK_SANDBOX=none"}
	for name, c := range map[string]struct {
		environ []string
		check   string
		health  health
		text    string
	}{
		"no sandbox":              {nil, "sandbox", noted, "HECATE_TASK_SANDBOX=none"},
		"no network namespace":    {nil, "network", wanting, "only their text is checked"},
		"read-only":               {nil, "read-only", wanting, "run none"},
		"a directory of everyone": {nil, "data", wanting, "chmod 700"},
		"everybody decides":       {[]string{"HECATE_OPERATOR_TOKEN_REQUIRED=never"}, "approvals", wanting, "commands of agents as well"},
		"no models":               {nil, "models", wanting, "no provider"},
		"in memory":               {[]string{"HECATE_BACKEND=memory"}, "database", noted, "forgotten"},
		"no database":             {[]string{"HECATE_SQLITE_PATH=" + notes}, "database", failing, "is no database of SQLite"},
		"no place for it":         {[]string{"HECATE_SQLITE_PATH=" + notes + "/x/db"}, "database", failing, ""},
		"PostgreSQL away":         {[]string{"HECATE_BACKEND=postgres", "HECATE_POSTGRES_URL=postgres://u:s3cret@127.0.0.1:1/x"}, "database", failing, "cannot be reached"},
		"no place for copies":     {[]string{"TMPDIR=" + notes}, "workspaces", failing, "TMPDIR"},
		"a bad setting":           {[]string{"HECATE_TASK_SANDBOX=maybe"}, "configuration", failing, "use auto, none or required"},
		"a bad provider":          {[]string{"PROVIDER_X_KIND=nonsense", "PROVIDER_X_BASE_URL=http://127.0.0.1:1", "PROVIDER_X_PRECONFIGURED=1"}, "models", failing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, found := doctor(t, append(base, c.environ...)...)
			x := found[c.check]
			if x.Health != c.health || !strings.Contains(x.Text, c.text) || (code == exitFailed) != (c.health == failing) {
				t.Errorf("exit code %d, found %+v", code, x)
			}
			if strings.Contains(x.Text, "s3cret") {
				t.Errorf("a password shows: %s", x.Text)
			}
		})
	}
}

// It fits on a screen, and says of a server that runs that it does.
func TestDoctorPrints(t *testing.T) {
	a, out, errs := testApp(t)
	dir := t.TempDir()
	lock, err := lockNode(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	a.environ = append(a.environ, "HECATE_DATA_DIR="+dir, "HECATE_ADDRESS=127.0.0.1:0")
	if code := a.run([]string{"doctor"}); code != exitCompleted {
		t.Errorf("exit code %d: %s", code, errs)
	}
	text := out.String()
	if n := strings.Count(text, "\n"); n > 28 || n < 10 {
		t.Errorf("%d lines:\n%s", n, text)
	}
	for _, want := range []string{"sandbox ", "network ", "git ", "a server uses it"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// How the proof of the log stands: the key, how far it is sealed, what the witness has.
func TestDoctorOfTheAudit(t *testing.T) {
	dir := t.TempDir()
	c := configAt(t, dir)
	witness := filepath.Join(t.TempDir(), "kept.txt")
	environ := []string{"HECATE_DATA_DIR=" + dir, "HECATE_ADDRESS=127.0.0.1:0", "HECATE_AUDIT_WITNESS=" + witness}
	says := func(name string, h health, text string) {
		t.Helper()
		_, found := doctor(t, environ...)
		if got := found[name]; got.Health != h || !strings.Contains(got.Text, text) {
			t.Errorf("%s: %+v, want %s and %q", name, got, h, text)
		}
	}
	if _, found := doctor(t, environ...); found["audit"].Name != "" {
		t.Errorf("without a log: %+v", found["audit"])
	}
	sealedLog(t, c, 3)
	says("audit", healthy, "sealed up to record 3, 0 records behind")
	says("witness", wanting, "no such file")
	a, _, _ := testApp(t)
	kept := auditing(t, a, exitCompleted, "", "checkpoint", "--log", dir)
	if err := os.WriteFile(witness, []byte(strings.Repeat(kept+"\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	says("witness", healthy, "the checkpoint for 3 records")
	if err := os.WriteFile(witness, []byte(strings.Replace(kept, "\n3\n", "\n4\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	says("witness", wanting, "sealed up to record 3")
	if err := os.Remove(c.AuditKeyFile); err != nil {
		t.Fatal(err)
	}
	says("audit", wanting, "there is no key at")
	environ[2] = "HECATE_AUDIT_WITNESS=http://127.0.0.1:1/x"
	says("witness", wanting, "cannot be reached")
}
