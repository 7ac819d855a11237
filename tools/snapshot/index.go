package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// indexMagic opens an index and says how it is laid out.
const indexMagic = "hecate-snapshot-index-2\n"

// entry is one file of a snapshot, and how it looked when it was read.
type entry struct {
	path string
	mode uint32
	id   oid
	seen seen
}

// seen is what tells a file that has not been touched since. Times are in nanoseconds.
// The time of change cannot be set by whoever owns the file, unlike that of modification.
type seen struct {
	size, modified, changed int64
	inode                   uint64
}

// unseen equals no file.
var unseen = seen{size: -1}

// coarse is how far off the times of file systems can be that keep no fractions of seconds.
const coarse = int64(2 * time.Second)

// settled returns how a file looked, or unseen if it could be changed again without
// looking any different: because it was last changed in the same tick of the clock in
// which, or after which, this snapshot began.
func settled(x seen, begun int64) seen {
	margin := int64(0)
	if x.changed%int64(time.Second) == 0 {
		margin = coarse
	}
	if x.changed+margin < begun {
		return x
	}
	return unseen
}

// index is what the last snapshot of a directory held.
type index struct {
	entries map[string]entry
	dirs    map[string]bool // every directory that holds one of them
	sorted  []entry
}

func newIndex(sorted []entry) *index {
	x := &index{entries: make(map[string]entry, len(sorted)), dirs: map[string]bool{}, sorted: sorted}
	for _, e := range sorted {
		x.include(e)
	}
	return x
}

func (x *index) include(e entry) {
	x.entries[e.path] = e
	for dir := path.Dir(e.path); dir != "." && !x.dirs[dir]; dir = path.Dir(dir) {
		x.dirs[dir] = true
	}
}

// below returns the entries of a directory.
func (x *index) below(dir string) []entry {
	from, _ := slices.BinarySearchFunc(x.sorted, dir+"/", func(e entry, p string) int { return strings.Compare(e.path, p) })
	to := from
	for to < len(x.sorted) && strings.HasPrefix(x.sorted[to].path, dir+"/") {
		to++
	}
	return x.sorted[from:to]
}

// realPath is the absolute path of a directory, links followed. It is the same after the
// directory is gone.
func realPath(root string) string {
	if abs, err := filepath.Abs(root); err == nil {
		root = abs
	}
	if found, err := filepath.EvalSymlinks(root); err == nil {
		return found
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(root)); err == nil {
		return filepath.Join(dir, filepath.Base(root))
	}
	return root
}

// keyOf names a directory, and how its snapshots are taken, in the store.
func keyOf(realRoot string, ignored bool) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%t %s", ignored, realRoot))
	return hex.EncodeToString(sum[:16])
}

// loadIndex reads the index of a directory. Without one that belongs to the last snapshot
// it is made from that, so that what it held is still known.
func (s *Store) loadIndex(key string) (*index, error) {
	last, err := s.ref("last", key)
	if err != nil {
		return nil, err
	}
	if last == (oid{}) {
		return newIndex(nil), nil
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "seen", key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read index: %w", err)
	}
	if tree, es, ok := decodeIndex(data); ok && tree == last {
		return newIndex(es), nil
	}
	es, err := s.list(last, "", nil)
	return newIndex(es), err
}

// encodeIndex writes the index of a snapshot.
func encodeIndex(tree oid, es []entry) []byte {
	b := make([]byte, 0, 128*len(es)+128)
	b = append(b, indexMagic...)
	b = append(b, tree[:]...)
	b = binary.AppendUvarint(b, uint64(len(es)))
	for _, e := range es {
		b = binary.AppendUvarint(b, uint64(len(e.path)))
		b = append(b, e.path...)
		b = binary.AppendUvarint(b, uint64(e.mode))
		b = append(b, e.id[:]...)
		b = binary.AppendVarint(b, e.seen.size)
		b = binary.AppendVarint(b, e.seen.modified)
		b = binary.AppendVarint(b, e.seen.changed)
		b = binary.AppendUvarint(b, e.seen.inode)
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// decodeIndex reads what encodeIndex wrote; it reports false for anything else.
func decodeIndex(data []byte) (tree oid, es []entry, ok bool) {
	if len(data) < sha256.Size {
		return tree, nil, false
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return tree, nil, false
	}
	body, ok = bytes.CutPrefix(body, []byte(indexMagic))
	r := reader{b: body, bad: !ok}
	copy(tree[:], r.bytes(uint64(len(tree))))
	n := r.uint()
	if n > uint64(len(body)) {
		return tree, nil, false
	}
	es = make([]entry, 0, n)
	for range n {
		e := entry{path: string(r.bytes(r.uint())), mode: uint32(r.uint())}
		copy(e.id[:], r.bytes(uint64(len(e.id))))
		e.seen = seen{size: r.int(), modified: r.int(), changed: r.int(), inode: r.uint()}
		if r.bad || len(es) > 0 && es[len(es)-1].path >= e.path {
			return tree, nil, false
		}
		es = append(es, e)
	}
	return tree, es, !r.bad && len(r.b) == 0
}

// reader takes values off bytes; bad says that there was none.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}

func (r *reader) skip(n int) {
	if r.bad = r.bad || n <= 0; !r.bad {
		r.b = r.b[n:]
	}
}

func (r *reader) bytes(n uint64) []byte {
	if r.bad = r.bad || n > uint64(len(r.b)); r.bad {
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}
