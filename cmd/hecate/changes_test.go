package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/client"
)

// Without git the patches say what became of a file from the run's beginning to its end.
func TestChangedByPatches(t *testing.T) {
	patch := func(name, status, diff string) client.Artifact {
		return client.Artifact{Kind: "patch", Path: "/ws/" + name, Status: status, Content: diff}
	}
	const added, updated, deleted = "--- /dev/null\n+++ b/f\n", "--- a/f\n+++ b/f\n", "--- a/f\n+++ /dev/null\n"
	got := changedByPatches([]client.Artifact{
		patch("gone", "applied", deleted),
		patch("new", "applied", updated),
		patch("old", "applied", updated),
		patch("idea", "proposed", updated),
		{Kind: "stdout"},
		patch("new", "applied", added),
		patch("old", "applied", updated),
	}, "/ws")
	want := []changedFile{{"gone", "D"}, {"new", "A"}, {"old", "M"}, {"idea", "proposed"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRunsThatUseTheServer(t *testing.T) {
	check(t, stillUsed(1), []string{"one more run uses"})
	check(t, stillUsed(2), []string{"2 more runs use"})
}

func TestSameFile(t *testing.T) {
	origin, workspace := t.TempDir(), t.TempDir()
	long := strings.Repeat("x", 100<<10)
	for name, content := range map[string][2]string{
		"same": {"a\n", "a\n"}, "long": {long, long}, "late": {long + "a", long + "b"}, "other": {"a\n", "b\n"}, "longer": {"a", "ab"},
		"mode": {"a", "a"}, "new": {"", "a"}, "deleted": {"a", ""},
	} {
		for i, dir := range []string{origin, workspace} {
			if content[i] == "" {
				continue
			}
			mode := os.FileMode(0o644)
			if name == "mode" && i == 1 {
				mode = 0o755
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content[i]), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, to := range map[string][2]string{"link": {"same", "same"}, "moved": {"same", "other"}} {
		for i, dir := range []string{origin, workspace} {
			if err := os.Symlink(to[i], filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, want := range map[string]bool{
		"same": true, "long": true, "late": false, "other": false, "longer": false, "mode": false, "new": false, "deleted": false,
		"link": true, "moved": false, "absent": true, "../outside": false, ".": false,
	} {
		if got := sameFile(origin, workspace, name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if sameFile(origin, filepath.Join(workspace, "nowhere"), "absent") {
		t.Error("a workspace that is not here was compared")
	}
}
