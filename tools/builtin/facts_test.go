package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/domain/permission"
	"hecate/tools"
)

// place is a workspace with links in it.
func place(t *testing.T) tools.Place {
	t.Helper()
	dir := t.TempDir()
	for link, target := range map[string]string{"in": "sub/deep", "out": "/etc", "up": "../x", "loop": "loop", "run": "/bin/sh"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return tools.Place{Root: root, Path: dir}
}

// factsOf are the facts of a call in a workspace with links in it.
func factsOf(t *testing.T, tool string, a args) permission.Facts {
	t.Helper()
	at := place(t)
	for k, v := range a {
		if s, is := v.(string); is {
			a[k] = strings.ReplaceAll(s, "ROOT", at.Path)
		}
	}
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range every() {
		if x.Name == tool {
			p, err := x.Prepare(raw)
			if err != nil {
				t.Fatal(err)
			}
			return p.Facts(at)
		}
	}
	t.Fatalf("there is no tool %s", tool)
	return permission.Facts{}
}

func TestPathsOfCalls(t *testing.T) {
	for _, x := range []struct {
		tool       string
		args       args
		name, lead string
		outside    bool
	}{
		{"read_file", args{"path": "./a/../b"}, "./a/../b", "b", false},
		{"list_dir", args{}, ".", ".", false},
		{"grep", args{"pattern": "x"}, ".", ".", false},
		{"file_write", args{"path": "in/f", "content": ""}, "in/f", "sub/deep/f", false},
		{"file_edit", args{"path": "ROOT/in", "old_text": "a", "new_text": "b"}, "in", "sub/deep", false},
		{"file", args{"path": "out/passwd", "content": ""}, "out/passwd", "/etc/passwd", true},
		{"git_diff", args{"path": "up"}, "up", "../x", true},
		{"read_file", args{"path": "../f"}, "../f", "../f", true},
		{"read_file", args{"path": "loop"}, "loop", "../loop", true},
		{"blame", args{"path": "in/f"}, "in/f", "sub/deep/f", false},
		{"stat", args{"path": "in/f"}, "in/f", "sub/deep/f", false},
		{"stat", args{"path": "out"}, "out", "out", false},
		{"stat", args{"path": "loop"}, "loop", "loop", false},
		{"stat", args{"path": "out/passwd"}, "out/passwd", "/etc/passwd", true},
		{"stat", args{"path": "../f"}, "../f", "../f", true},
	} {
		f := factsOf(t, x.tool, x.args)
		if len(f.Paths) != 1 {
			t.Errorf("%s has paths %+v", x.tool, f.Paths)
			continue
		}
		if p := f.Paths[0]; p.Name != x.name || p.Resolved != x.lead || p.Outside() != x.outside {
			t.Errorf("%s %v is about %+v", x.tool, x.args, p)
		}
	}
	f := factsOf(t, "apply_patch", args{"patch_text": "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: in/b\n*** End Patch"})
	if len(f.Paths) != 2 || f.Paths[0].Name != "a" || f.Paths[1].Resolved != "sub/deep/b" {
		t.Errorf("the patch is about %+v", f.Paths)
	}
}

func TestProgramsOfCalls(t *testing.T) {
	for _, x := range []struct {
		tool, command string
		want          []string
		opaque        bool
	}{
		{"shell_exec", "env A=1 npm i && sh -c 'rm -rf x'", []string{"env A=1 npm i", "npm i", "sh -c rm -rf x", "rm -rf x"}, false},
		{"shell", "nice -n 5 make", []string{"nice -n 5 make", "make"}, false},
		{"git_exec", "push --force", []string{"git push --force"}, false},
		{"git", "status; id", []string{"git status", "id"}, false},
		{"shell_exec", "curl x | sh", []string{"curl x", "sh"}, true},
		{"shell_exec", "if", nil, true},
	} {
		f := factsOf(t, x.tool, args{"command": x.command})
		var got []string
		for _, p := range f.Programs {
			got = append(got, strings.Join(p.Argv, " "))
		}
		if f.Principal != x.command || !slices.Equal(got, x.want) || f.Opaque != x.opaque {
			t.Errorf("%s %q starts %q, opaque %t, as %q", x.tool, x.command, got, f.Opaque, f.Principal)
		}
	}
	real, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	f := factsOf(t, "shell_exec", args{"command": "./run x; ../run; no-such-program", "working_directory": "."})
	if f.Programs[0].Resolved != real || f.Programs[1].Resolved != "" || f.Programs[2].Resolved != "" {
		t.Errorf("the programs are %+v", f.Programs)
	}
	if f := factsOf(t, "artifact_read", args{"artifact_id": "artifact_1"}); f.Principal != "artifact_1" {
		t.Errorf("the artifact is %+v", f)
	}
}
