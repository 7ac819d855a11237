package permission_test

import (
	"slices"
	"strings"
	"testing"

	"hecate/domain/permission"
)

func lockText(name string, patterns ...string) permission.LockText {
	return permission.LockText{Name: name, Patterns: entries(patterns), At: "config.toml:3"}
}

func TestLocksFor(t *testing.T) {
	config, problems := permission.Load(
		permission.Source{Layer: permission.LayerProject, Locks: []permission.LockText{
			lockText("build-output", "exec(make) args(*)", "shell(make)"), lockText("a", "edit(src/*)"), lockText("fetch", "web_fetch"), lockText("jobs", "job_kill", "background"),
		}},
		permission.Source{Layer: permission.LayerUser, Accepted: true, Locks: []permission.LockText{
			lockText("test-db", "exec(make) args(test *)"), lockText("build-output", "exec(make) args(test *)"),
		}},
	)
	if len(problems) != 0 || config.Locks[0].Name != "test-db" || config.Locks[0].Layer != permission.LayerUser || config.Digest == "" {
		t.Fatalf("%+v, %v", config, problems)
	}
	for _, x := range []struct {
		tool  string
		facts permission.Facts
		want  string
	}{
		{"exec", permission.Facts{Argv: []string{"make", "test", "all"}}, "build-output test-db"},
		{"exec", permission.Facts{Argv: []string{"make"}}, "build-output"},
		{"exec", permission.Facts{Argv: []string{"env", "make"}}, ""}, // a deny would reach it
		{"exec", permission.Facts{Argv: []string{"/usr/bin/make"}, Resolved: "make"}, ""},
		{"shell_exec", permission.Facts{Principal: "make"}, "build-output"},
		{"shell", permission.Facts{Principal: "make -j"}, ""},
		{"file_edit", permission.Facts{Paths: []permission.Path{{Name: "src/x.go"}}}, "a"},
		{"create", permission.Facts{Paths: []permission.Path{{Name: "src/x.go"}}}, ""},
		{"web_fetch", permission.Facts{Principal: "https://docs.rs/"}, "fetch"},
		{"terminal_open", permission.Facts{Principal: "make"}, "jobs"},
		{"terminal_kill", permission.Facts{Principal: "terminal_1"}, ""}, // or it would wait for the job that it is to end
		{"nonsense", permission.Facts{}, ""},
	} {
		if got := strings.Join(config.LocksFor(x.tool, x.facts), " "); got != x.want {
			t.Errorf("%s %+v takes %q, want %q", x.tool, x.facts, got, x.want)
		}
	}
	if (permission.Config{}).LocksFor("exec", permission.Facts{Argv: []string{"make"}}) != nil {
		t.Error("no files, and a lock")
	}
}

// A lock that could not do what it says is left out, and no other with it.
func TestLocksAreChecked(t *testing.T) {
	config, problems := permission.Load(permission.Source{Layer: permission.LayerUser, Accepted: true, Locks: []permission.LockText{
		lockText(""), lockText("a b", "exec"), lockText(strings.Repeat("x", 65), "exec"), lockText("ä", "exec"), lockText("none"),
		lockText("part", "exec", "nonsense"), lockText("program", "exec(make)"), lockText("url", "web_fetch(https://docs.rs/*)"),
		lockText("literal", "shell(make *)"), lockText("edit", "config_edit"), lockText(strings.Repeat("x", 64), "exec"), lockText("A.b_c-9", "exec"),
	}})
	var held []string
	for _, l := range config.Locks {
		held = append(held, l.Name)
	}
	if want := []string{"literal", "edit", strings.Repeat("x", 64), "A.b_c-9"}; !slices.Equal(held, want) {
		t.Errorf("in force are %q", held)
	}
	var said []string
	for _, p := range problems {
		said = append(said, p.String())
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{
		"config.toml:3: refused: [locks] lock \"a b\": a name has", "lock none has no patterns", "lock part: pattern \"nonsense\"", "lock program: pattern \"exec(make)\", at byte 10: the arguments are missing",
		"web_fetch(https://docs.rs/*) covers no call", "warning: [locks] lock literal: a shell pattern has no wildcards",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not said:\n%s", want, all)
		}
	}
	if len(problems) != 9 {
		t.Errorf("%d problems:\n%s", len(problems), all)
	}
}
