package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// binaryLook is how much of a content is looked at for a NUL, in bytes.
const binaryLook = 8000

// Diff lists what differs between two snapshots, sorted by path.
func (s *Store) Diff(ctx context.Context, from, to Tree) ([]Change, error) {
	changes, err := s.diff(ctx, from, to)
	for i := range changes {
		if err == nil {
			err = s.measure(ctx, &changes[i])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("compare snapshots: %w", err)
	}
	return changes, nil
}

// Changed lists what differs between two snapshots, sorted by path, without a look at
// the contents: Binary and Size are not set.
func (s *Store) Changed(ctx context.Context, from, to Tree) ([]Change, error) {
	changes, err := s.diff(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("compare snapshots: %w", err)
	}
	return changes, nil
}

// diff leaves Binary and Size out.
func (s *Store) diff(ctx context.Context, from, to Tree) ([]Change, error) {
	a, err := parseID(string(from))
	if err != nil {
		return nil, fmt.Errorf("snapshot %q: %w", from, err)
	}
	b, err := parseID(string(to))
	if err != nil {
		return nil, fmt.Errorf("snapshot %q: %w", to, err)
	}
	d := differ{s: s}
	if err := d.trees(ctx, "", node{mode: modeDir, id: a}, node{mode: modeDir, id: b}); err != nil {
		return nil, err
	}
	slices.SortFunc(d.changes, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
	return d.changes, nil
}

// differ compares trees. A node without a mode is nothing.
type differ struct {
	s       *Store
	changes []Change
}

// trees compares two nodes of which at least one is a tree; one that is not counts as empty.
func (d *differ) trees(ctx context.Context, prefix string, a, b node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	pairs := map[string]*[2]node{}
	for i, n := range []node{a, b} {
		if n.mode != modeDir {
			continue
		}
		nodes, err := d.s.readTree(n.id)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if pairs[n.name] == nil {
				pairs[n.name] = &[2]node{}
			}
			pairs[n.name][i] = n
		}
	}
	for name, p := range pairs {
		if p[0] == p[1] {
			continue
		}
		if p[0].mode == modeDir || p[1].mode == modeDir {
			if err := d.trees(ctx, prefix+name+"/", p[0], p[1]); err != nil {
				return err
			}
		}
		if err := d.files(prefix+name, p[0], p[1]); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) files(path string, a, b node) error {
	c := Change{Path: path, Kind: Update}
	if a.mode != 0 && a.mode != modeDir {
		c.OldMode, c.OldBlob = a.mode, a.id.String()
	} else {
		c.Kind = Add
	}
	if b.mode != 0 && b.mode != modeDir {
		c.NewMode, c.NewBlob = b.mode, b.id.String()
	} else if c.Kind == Add {
		return nil
	} else {
		c.Kind = Delete
	}
	if d.changes = append(d.changes, c); len(d.changes) > changesMax {
		return fmt.Errorf("there are more than %d changes", changesMax)
	}
	return nil
}

// measure looks at the contents of a change.
func (s *Store) measure(ctx context.Context, c *Change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, blob := range []string{c.OldBlob, c.NewBlob} {
		if blob == "" {
			continue
		}
		id, err := parseID(blob)
		if err != nil {
			return err
		}
		o, err := s.open(id)
		if err != nil {
			return err
		}
		head, err := io.ReadAll(io.LimitReader(o, binaryLook))
		if err = errors.Join(err, o.Close()); err != nil {
			return err
		}
		c.Size, c.Binary = o.size, c.Binary || isBinary(head)
	}
	return nil
}

func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), binaryLook)], 0) >= 0
}

// patchBytesMax bounds what Patch returns.
const patchBytesMax = 32 << 20

// Patch shows the differences of two snapshots as a unified diff, of the given files and
// directories only if there are any. Contents are as they are in the files; for binary
// ones the diff only says that they differ.
func (s *Store) Patch(ctx context.Context, from, to Tree, paths ...string) ([]byte, error) {
	for _, t := range []Tree{from, to} {
		if _, err := parseID(string(t)); err != nil {
			return nil, fmt.Errorf("show changes: snapshot %q: %w", t, err)
		}
	}
	out, err := s.git(ctx, append([]string{
		"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/",
		string(from), string(to), "--",
	}, paths...)...)
	if err != nil {
		return nil, fmt.Errorf("show changes: %w", err)
	}
	if len(out) > patchBytesMax {
		return nil, fmt.Errorf("show changes: %w: the limit is %d bytes; name fewer paths", errTooLarge, patchBytesMax)
	}
	return out, nil
}
