package snapshot

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// notUndoneMax is how many paths Landing.NotUndone lists.
const notUndoneMax = 1000

// Restore makes the files of root that differ between the snapshots current and to equal
// to again, all or none, as Land does. What is neither as in current nor as in to has
// been changed since current was taken: it conflicts, and nothing is written. Ignored
// files are left alone and listed; so is .git, without being listed: commits stay. A dry
// run says what would be, and writes nothing.
func (s *Store) Restore(ctx context.Context, root string, current, to Tree, dryRun bool) (Landing, error) {
	s.landing.Lock()
	defer s.landing.Unlock()
	l, err := s.land(ctx, Plan{Target: root, Base: current, Result: to, Sensitive: true, DryRun: dryRun, strict: true})
	if err == nil {
		err = s.notUndone(ctx, root, to, &l)
	}
	if err != nil {
		return Landing{}, fmt.Errorf("restore %s: %w", root, err)
	}
	return l, nil
}

// notUndone lists what a snapshot cannot bring back.
func (s *Store) notUndone(ctx context.Context, root string, to Tree, l *Landing) error {
	id, err := parseID(string(to))
	if err != nil {
		return err
	}
	known, err := s.list(id, "", nil)
	if err != nil {
		return err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	note := func(rel string) {
		if l.NotUndoneCount++; len(l.NotUndone) < notUndoneMax {
			l.NotUndone = append(l.NotUndone, rel)
		}
	}
	w := &walker{
		ctx: ctx, known: newIndex(known), ignored: note,
		skipped: func(rel, _ string) { note(rel) },
		visit: func(_ *os.Root, rel string, info fs.FileInfo) error {
			if info.Size() > FileBytesMax && info.Mode().IsRegular() {
				note(rel)
			}
			return nil
		},
	}
	err = w.dir(r, ".", nil, false, 0)
	slices.Sort(l.NotUndone)
	return err
}
