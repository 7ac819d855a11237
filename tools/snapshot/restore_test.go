package snapshot_test

import (
	"path/filepath"
	"slices"
	"testing"

	"hecate/tools/snapshot"
)

// What changed after the last snapshot is somebody's work, and is not overwritten.
func TestRestoreConflictsWithLaterChanges(t *testing.T) {
	s, root := newStore(t), dirOf(t, files{"a": poem, "b": "1"})
	a := take(t, s, root)
	put(t, filepath.Join(root, "a"), "0\n"+poem)
	put(t, filepath.Join(root, "b"), "2")
	b := take(t, s, root)
	put(t, filepath.Join(root, "a"), "0\n"+poem+"mine\n")
	l, err := s.Restore(t.Context(), root, b, a, false)
	if err != nil || l.Applied || outcomes(l) != "a conflicted: has been changed since\nb written\n" {
		t.Error(err, outcomes(l))
	}
	same(t, "conflict", read(t, root), files{"a": "0\n" + poem + "mine\n", "b": "2"})
}

// What snapshots do not hold is left alone and named.
func TestRestoreSaysWhatIsNotUndone(t *testing.T) {
	s, root := newStore(t), dirOf(t, files{".gitignore": "*.log\nnode_modules/\n", "a": "1", ".hecate/config.toml": "1"})
	a := take(t, s, root)
	files{"a": "2", "x.log": "1", "node_modules/m/i.js": "1", ".hecate/config.toml": "2", "new/n": "1"}.write(t, root)
	l, err := s.Restore(t.Context(), root, take(t, s, root), a, false)
	if err != nil || !l.Applied || !slices.Equal(l.NotUndone, []string{"node_modules/", "x.log"}) || l.NotUndoneCount != 2 {
		t.Error(err, outcomes(l), l.NotUndone)
	}
	same(t, "restored", read(t, root), files{
		".gitignore": "*.log\nnode_modules/\n", "a": "1", ".hecate/config.toml": "1", "x.log": "1", "node_modules/m/i.js": "1",
	})
}

func TestSensitive(t *testing.T) {
	for path, want := range map[string]string{
		".hecate/config.toml": snapshot.Permissions, "sub/.Hecate/x": snapshot.Permissions, ".hecate": snapshot.Permissions,
		".husky/_/pre-commit": snapshot.Hooks, ".githooks/x": snapshot.Hooks, ".git-hooks/a/b": snapshot.Hooks, ".pre-commit-config.yaml": snapshot.Hooks,
		".github/workflows/ci.yml": snapshot.CI, ".github/CODEOWNERS": "", ".gitlab-ci.yml": snapshot.CI, "Jenkinsfile": snapshot.CI, ".github/actions/x/action.yml": snapshot.CI,
		".mcp.json": snapshot.MCP, "pkg/.mcp.json": snapshot.MCP, ".vscode/mcp.json": snapshot.MCP, ".cursor/mcp.json": snapshot.MCP, ".claude/settings.json": snapshot.MCP,
		".envrc": snapshot.Shell, ".bashrc": snapshot.Shell, ".vscode/tasks.json": snapshot.Editor, ".VSCODE/Settings.json": snapshot.Editor,
		".devcontainer/Dockerfile": snapshot.Editor, "x.code-workspace": snapshot.Editor, "./a/../.envrc": snapshot.Shell,
		"main.go": "", "hecate/x": "", "settings.json": "", ".vscode/extensions.json": "", "docs/claude.md": "", "a/tasks.json": "",
	} {
		if got := snapshot.Sensitive(path); got != want {
			t.Errorf("%s: %q, not %q", path, got, want)
		}
	}
}
