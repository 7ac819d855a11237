package permissions_test

import (
	"os"
	"path/filepath"
	"testing"

	"hecate/runtime/permissions"
)

// Which file counts for a task that works on a directory.
func TestProjectFile(t *testing.T) {
	d := newDesk(t)
	at := func(parts ...string) string { return filepath.Join(append([]string{d.project}, parts...)...) }
	for _, dir := range []string{at("repo", "sub", "deep"), at("plain", "sub")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.write(at("repo", ".git"), "gitdir: elsewhere\n") // as in a worktree
	d.write(at(".hecate", "config.toml"), "")          // above all of them
	if err := os.Symlink(at("repo", "sub"), at("link")); err != nil {
		t.Fatal(err)
	}
	check := func(p permissions.Project, want string) {
		t.Helper()
		if got := d.files.ProjectFile(p); got != want {
			t.Errorf("for %+v: %s, want %s", p, got, want)
		}
	}
	check(permissions.Project{}, "")
	check(permissions.Project{Dir: "not/absolute"}, "")
	check(permissions.Project{Dir: at("repo")}, at("repo", ".hecate", "config.toml"))
	check(permissions.Project{Dir: at("repo", "sub", "deep")}, at("repo", ".hecate", "config.toml"))
	check(permissions.Project{Dir: at("link", "deep", "..")}, at("repo", ".hecate", "config.toml"))
	check(permissions.Project{Dir: at("plain", "sub")}, at("plain", "sub", ".hecate", "config.toml"))
	check(permissions.Project{Dir: at("gone", "..", "gone")}, at("gone", ".hecate", "config.toml"))
	check(permissions.Project{Dir: at("repo"), File: "not/absolute"}, at("repo", ".hecate", "config.toml"))
	check(permissions.Project{Dir: at("repo"), File: at("x", "..", "mine.toml")}, at("mine.toml"))

	d.write(at("repo", "sub", ".hecate", "config.toml"), "permissions.deny = ['exec(rm)']\n")
	check(permissions.Project{Dir: at("repo", "sub")}, at("repo", "sub", ".hecate", "config.toml"))
	check(permissions.Project{Dir: at("repo", "sub", "deep")}, at("repo", ".hecate", "config.toml"))
	if c := d.files.For(permissions.Project{Dir: at("link")}); len(c.Entries) != 1 {
		t.Errorf("in force: %+v", c.Entries)
	}
}

// A file that a person named counts as it is, in place of the project's own.
func TestNamedProjectFile(t *testing.T) {
	d := newDesk(t)
	d.setProject("permissions.deny = ['shell']\n")
	p := permissions.Project{Dir: d.project, File: filepath.Join(t.TempDir(), "ours.toml")}
	if c := d.files.For(p); len(c.Entries) != 0 {
		t.Errorf("without the file: %+v", c.Entries)
	}
	d.write(p.File, "permissions.approve = ['exec(go) args(*)']\n")
	if c := d.files.For(p); len(c.Entries) != 1 || c.Entries[0].Text() != "exec(go) args(*)" {
		t.Errorf("in force: %+v", c.Entries)
	}
	if s := d.files.Status(p); !s.Exists || !s.Accepted || !s.Named || s.ProjectFile != p.File || len(s.Waiting) != 0 {
		t.Errorf("the status is %+v", s)
	}
	d.want("project permissions.deny shell")
	if err := d.files.Accept(p, "whatever"); err != nil {
		t.Errorf("there is nothing to accept: %v", err)
	}
}
