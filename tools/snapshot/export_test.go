package snapshot

import (
	"context"
	"io/fs"
	"os"
	"slices"
)

// Probe has f called at each point of a landing.
func (s *Store) Probe(f func(point string)) { s.probe = f }

// Listing returns what a first snapshot of root would hold.
func Listing(ctx context.Context, root string) ([]string, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []string
	w := &walker{
		ctx: ctx, known: newIndex(nil), ignored: func(string) {}, skipped: func(string, string) {},
		visit: func(_ *os.Root, rel string, _ fs.FileInfo) error { out = append(out, rel); return nil },
	}
	err = w.dir(r, ".", nil, false, 0)
	slices.Sort(out)
	return out, err
}

// ParseIgnore and ParseTree read hostile input.
func ParseIgnore(data []byte, path string, isDir bool) bool {
	return (&ignores{rules: parseIgnore(data)}).match(path, isDir)
}

// ParseTree reports whether data is a tree.
func ParseTree(data []byte) bool { _, err := parseTree(data); return err == nil }

// DecodeIndex reports whether data is an index.
func DecodeIndex(data []byte) bool { _, _, ok := decodeIndex(data); return ok }
