package rootfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hecate/tools/rootfs"
	"hecate/tools/sandbox"
)

// Where the repository has its hooks, nothing is written, by whatever name.
func TestNoWritesWhereHooksAre(t *testing.T) {
	for config, denied := range map[string]map[string]bool{
		"[core]\n\thooksPath = .husky/_\n":                 {".husky/_/pre-commit": true, ".husky/_": true, "h/pre-commit": true, ".husky/pre-commit": false, ".husky/_x": false},
		"[core] HOOKSPATH=\".husky\" # why\n":              {".husky/_/pre-commit": true, ".husky/pre-commit": true, "src/a": false},
		"[core]\n\thooksPath = h\n":                        {".husky/_/x": true, "h/x": true, "src/a": false},
		"[core]\n\thooksPath = ROOT/hooks\n":               {"hooks/x": true, "src/a": false},
		"[core]\n\thooksPath = /elsewhere\n":               {"elsewhere/x": false},
		"[core]\n\thooksPath = ~/hooks\n\thooksPath = .\n": {"hooks/x": false, "src/a": false},
		"[core]\n\tbare = false\n":                         {".husky/_/pre-commit": false, "hooks/x": false},
	} {
		root, dir := workspace(t, map[string]string{".husky/_/h.sh": "x", "src/a": "x"})
		if err := errors.Join(os.Mkdir(filepath.Join(dir, ".git"), 0o755), os.Symlink(".husky/_", filepath.Join(dir, "h"))); err != nil {
			t.Fatal(err)
		}
		text := []byte(config)
		if i := len("[core]\n\thooksPath = "); len(text) > i+4 && string(text[i:i+4]) == "ROOT" {
			text = []byte("[core]\n\thooksPath = " + dir + "/hooks\n")
		}
		if err := os.WriteFile(filepath.Join(dir, ".git", "config"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		for name, want := range denied {
			_, err := rootfs.Writable(root, dir, name)
			var d *sandbox.Denied
			if errors.As(err, &d) != want {
				t.Errorf("%q: %s: %v", config, name, err)
			}
		}
	}
}
