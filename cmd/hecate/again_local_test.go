package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run that was started without any server can go on without one. It is looked for
// in every data directory, and goes on in the one that has it.
func TestGoOnFindsTheDataDirectory(t *testing.T) {
	dir := t.TempDir()
	environ, stop, err := e2eEnviron(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	t.Chdir(dir)
	run := func(args ...string) (string, int) {
		a, out, errs := testApp(t)
		a.environ, a.start = nil, newApp().start
		for _, entry := range environ {
			if !strings.HasPrefix(entry, "HECATE_DATA_DIR=") {
				a.environ = append(a.environ, entry)
			}
		}
		a.environ = append(a.environ, "XDG_DATA_HOME="+filepath.Join(dir, "xdg"))
		code := a.run(args)
		return out.String() + errs.String(), code
	}
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, code := run("run", "--dir", project, "nothing special"); code != 0 {
		t.Fatal(out)
	}
	id, _ := run("tasks", "--json")
	task := id[strings.Index(id, "task_"):][:len("task_")+24]
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	move("xdg/hecate", "kept")
	if out, code := run("run", "--dir", project, "another"); code != 0 {
		t.Fatal(out)
	}
	move("xdg/hecate", ".data") // is looked into first, and doesn't have it
	move("kept", "xdg/hecate")
	if out, code := run("continue", task, "more"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	move("xdg/hecate", "moved")
	if out, code := run("continue", task, "more"); code != exitFailed || !strings.Contains(out, "there is no task "+task) {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
