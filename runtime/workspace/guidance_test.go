package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hecate/runtime/workspace"
)

// Which file says how to work here, and what of it the model gets.
func TestGuidance(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "TOP")
	link := func(target, name string) func(string) error {
		return func(dir string) error { return os.Symlink(target, filepath.Join(dir, name)) }
	}
	for name, c := range map[string]struct {
		files map[string]string
		also  func(dir string) error
		want  string
	}{
		"none":                 {nil, nil, ""},
		"one":                  {map[string]string{"AGENTS.md": " a \n"}, nil, "a"},
		"both":                 {map[string]string{"AGENTS.md": "a", "CLAUDE.md": "c"}, nil, "c"},
		"a blank one":          {map[string]string{"AGENTS.md": "a", "CLAUDE.md": " \n"}, nil, "a"},
		"a byte-order mark":    {map[string]string{"AGENTS.md": "\uFEFFa"}, nil, "a"},
		"too long":             {map[string]string{"AGENTS.md": strings.Repeat("x", 8191) + "é"}, nil, strings.Repeat("x", 8191)},
		"no text":              {map[string]string{"AGENTS.md": "a\xffb"}, nil, "ab"},
		"a link":               {map[string]string{"docs/a.md": "a"}, link("docs/a.md", "CLAUDE.md"), "a"},
		"a link out":           {map[string]string{"AGENTS.md": "a"}, link(outside, "CLAUDE.md"), "a"},
		"a link to the hidden": {map[string]string{"hidden/key": "TOP", "AGENTS.md": "a"}, link("hidden/key", "CLAUDE.md"), "a"},
		"a link in a circle":   {nil, link("CLAUDE.md", "CLAUDE.md"), ""},
		"a folder":             {map[string]string{"CLAUDE.md/x": "x", "AGENTS.md": "a"}, nil, "a"},
		"a pipe": {map[string]string{"AGENTS.md": "a"}, func(dir string) error {
			return syscall.Mkfifo(filepath.Join(dir, "CLAUDE.md"), 0o600)
		}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				write(t, filepath.Join(dir, file), text)
			}
			if c.also != nil {
				if err := c.also(dir); err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			got := workspace.Guidance(root, dir, func(rel string) bool { return strings.HasPrefix(rel, "hidden/") })
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
