//go:build linux

package blackbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A project is built in the sandbox, where home cannot be written: build tools get a
// cache of their own. Go writes to its cache only for files that are some seconds old.
func TestBuildToolsHaveACache(t *testing.T) {
	t.Parallel()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "m.go": "package m\n\nfunc One() int { return 1 }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, "HECATE_TASK_APPROVAL_POLICIES=", "HOME="+home).begin(t, args{
		"execution_kind": "shell", "working_directory": dir, "timeout_ms": 120000,
		"shell_command": "sleep 3; GOFLAGS=-mod=mod " + goTool + " build ./... && " + goTool + " vet -unreachable ./...",
	})
	r.becomes(t, "completed")
}
