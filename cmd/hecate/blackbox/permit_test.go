//go:build linux

package blackbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"hecate/runtime/model/scripted"
)

// userFile is the permission file of the user that the server runs as.
func (s *server) userFile() string {
	return filepath.Join(filepath.Dir(s.dir), ".config", "hecate", "config.toml")
}

// permit writes the user's permission file.
func (s *server) permit(t *testing.T, text string) {
	t.Helper()
	put(t, s.userFile(), text)
}

// put makes a file with its directories, in one step, so that no reader sees half of it.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, path+"~", text)
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

// projectFile is the permission file of the project in a directory.
func projectFile(dir string) string { return filepath.Join(dir, ".hecate", "config.toml") }

// program is a call of exec.
func program(id, name string, arguments ...string) scripted.Call {
	return call(id, "exec", args{"program": name, "args": arguments})
}

// levels is a task whose calls ask by their level.
var levels = args{"permission_posture": "levels"}
