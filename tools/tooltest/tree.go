package tooltest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// tree is everything below a directory, by relative path: modes, contents, targets.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String() + " "
		switch {
		case d.Type().IsRegular():
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			what += string(content)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			what += target
		}
		rel, err := filepath.Rel(dir, p)
		all[rel] = what
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// changes are the paths that were made, changed or removed, sorted.
func changes(before, after map[string]string) (changed []string) {
	for p, what := range after {
		if old, there := before[p]; !there || old != what {
			changed = append(changed, p)
		}
	}
	for p := range before {
		if _, there := after[p]; !there {
			changed = append(changed, p)
		}
	}
	slices.Sort(changed)
	return changed
}

// unchanged asserts that the workspace is as it was.
func unchanged(t *testing.T, w *Workspace, before map[string]string) {
	t.Helper()
	if changed := changes(before, tree(t, w.Dir)); len(changed) > 0 {
		t.Errorf("the workspace has changed: %q", changed)
	}
}
