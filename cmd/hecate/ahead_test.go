package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is said ahead has to mean something, and the files that a run obeys have to be right
// or are complained about before it starts.
func TestWhatIsSaidAhead(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	bad := filepath.Join(dir, "bad.toml")
	if err := os.WriteFile(bad, []byte("[permissions]\ndeny = [\"shell(rm *)\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"write exec(go) args(*)": {"--allow-tools", "exec(go)"},
		"put the host into":      {"--allow-tools", "web_fetch(https://x.example/*)"},
		"no such file":           {"--project-config", filepath.Join(dir, "none.toml")},
		"the file has mistakes":  {"--project-config", bad},
		"one exact command":      {"--project-config", bad},
	} {
		var errs bytes.Buffer
		a := newApp()
		a.out, a.err, a.inTTY = &errs, &errs, false
		a.environ = []string{"HOME=" + home, "HECATE_DATA_DIR=" + filepath.Join(home, "data")}
		if code := a.run(append(append([]string{"run", "--dir", dir}, args...), "do it")); code != exitUsage {
			t.Errorf("%v: exit code %d: %s", args, code, &errs)
		}
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%v: it says %q, without %q", args, errs.String(), want)
		}
	}
}
