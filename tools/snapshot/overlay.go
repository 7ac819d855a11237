package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Overlay makes a snapshot that is like onto, but for what differs between the snapshots
// from and to: that is as in to.
func (s *Store) Overlay(ctx context.Context, onto, from, to Tree) (Tree, error) {
	id, err := s.overlay(ctx, onto, from, to)
	if err != nil {
		return "", fmt.Errorf("overlay a snapshot: %w", err)
	}
	return Tree(id.String()), nil
}

func (s *Store) overlay(ctx context.Context, onto, from, to Tree) (oid, error) {
	id, err := parseID(string(onto))
	if err != nil {
		return oid{}, err
	}
	es, err := s.list(id, "", nil)
	if err != nil {
		return oid{}, err
	}
	changes, err := s.diff(ctx, from, to)
	if err != nil {
		return oid{}, err
	}
	changed := make(map[string]bool, len(changes))
	var added []entry
	for _, c := range changes {
		changed[c.Path] = true
		if c.NewMode == 0 {
			continue
		}
		blob, err := parseID(c.NewBlob)
		if err != nil {
			return oid{}, err
		}
		added = append(added, entry{path: c.Path, mode: c.NewMode, id: blob})
	}
	es = slices.DeleteFunc(es, func(e entry) bool {
		return changed[e.path] || slices.ContainsFunc(added, func(a entry) bool {
			return strings.HasPrefix(e.path, a.path+"/") || strings.HasPrefix(a.path, e.path+"/") // a file in the place of a directory, or the other way round
		})
	})
	es = append(es, added...)
	slices.SortFunc(es, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	b := &batch{s: s}
	tree, err := b.tree(es, 0)
	if err == nil {
		err = b.sync()
	}
	return tree, err
}
