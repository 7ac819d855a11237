package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hecate/tools/rootfs"
)

// Take makes a snapshot of the directory root. What has not been touched since the last
// one is not read again. Files that change while they are read are skipped.
func (s *Store) Take(ctx context.Context, root string, o Options) (Tree, error) {
	id, err := s.take(ctx, root, o)
	if err != nil {
		return "", fmt.Errorf("take snapshot of %s: %w", root, err)
	}
	return Tree(id.String()), nil
}

func (s *Store) take(ctx context.Context, root string, o Options) (oid, error) {
	key := keyOf(realPath(root), o.Ignored)
	known, err := s.loadIndex(key)
	if err != nil {
		return oid{}, err
	}
	for _, name := range o.Include {
		known.include(entry{path: path.Clean(name)})
	}
	begun, err := s.now()
	if err != nil {
		return oid{}, err
	}
	t := &taking{batch: batch{s: s}, known: known, begun: begun, o: o}
	if err := t.walk(ctx, root); err != nil {
		return oid{}, err
	}
	slices.SortFunc(t.next, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	id, err := t.tree(t.next, 0)
	if err == nil {
		err = t.sync()
	}
	if err != nil || o.Peek || slices.Equal(t.next, known.sorted) {
		return id, err
	}
	if err = s.setRef(ctx, filepath.Join("refs", "last", key), id); err == nil {
		err = s.replace(filepath.Join("seen", key), encodeIndex(id, t.next), false) // it can be made again
	}
	return id, err
}

// now returns the time as the file system tells it, in nanoseconds: the one clock that the
// times of files can be compared with.
func (s *Store) now() (int64, error) {
	f, err := os.CreateTemp(s.dir, "tmp-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return look(info).changed, nil
}

// taking is a snapshot under way.
type taking struct {
	batch
	known *index
	next  []entry
	begun int64
	o     Options
}

func (t *taking) walk(ctx context.Context, root string) error {
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	t.next = make([]entry, 0, len(t.known.sorted)+16)
	w := &walker{ctx: ctx, o: t.o, known: t.known, visit: t.visit, skipped: t.skip, ignored: func(string) {}}
	return w.dir(r, ".", nil, false, 0)
}

// skip lists what cannot be included, and holds on to what is known of it.
func (t *taking) skip(rel, why string) {
	if t.o.Skipped != nil {
		*t.o.Skipped = append(*t.o.Skipped, Skip{Path: rel, Reason: why})
	}
	if e, ok := t.known.entries[rel]; ok && e.mode != 0 {
		e.seen = unseen
		t.next = append(t.next, e)
		return
	}
	t.next = append(t.next, t.known.below(rel)...)
}

func (t *taking) visit(d *os.Root, rel string, info fs.FileInfo) error {
	e := entry{path: rel, mode: modeOf(info), seen: look(info)}
	if old, ok := t.known.entries[rel]; ok && old.mode == e.mode && old.seen == e.seen {
		t.next = append(t.next, old)
		return nil
	}
	err := t.read(d, path.Base(rel), info, &e)
	var bad *unreadable
	if errors.As(err, &bad) {
		t.skip(rel, bad.why)
		return nil
	} else if err != nil {
		return err
	}
	e.seen = settled(e.seen, t.begun)
	t.next = append(t.next, e)
	return nil
}

// readTries is how often a file is read that changes while it is read.
const readTries = 3

// read stores the content of a file, and notes how the file looked then.
func (t *taking) read(d *os.Root, name string, info fs.FileInfo, e *entry) (err error) {
	for try := 1; ; try++ {
		e.id, err = t.content(d, name, info)
		if !errors.Is(err, errMoved) || try == readTries {
			return err
		}
		if info, err = d.Lstat(name); err != nil {
			return &unreadable{"cannot be read: " + rootfs.Cause(err)}
		}
		e.mode, e.seen = modeOf(info), look(info)
		if !info.Mode().IsRegular() && e.mode != ModeLink {
			return &unreadable{errMoved.Error()}
		}
	}
}

func modeOf(info fs.FileInfo) uint32 {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return ModeLink
	case info.Mode().Perm()&0o100 != 0:
		return ModeExec
	}
	return ModeFile
}

// unreadable is why a file cannot be included, as opposed to what keeps the whole
// snapshot from being made.
type unreadable struct{ why string }

func (u *unreadable) Error() string { return u.why }

// Is makes every file that changes while it is read the same.
func (u *unreadable) Is(target error) bool { return target == errMoved && u.why == errMoved.Error() }

// smallMax is up to which size a file is read as a whole, so that nothing is written for
// one that is there already.
const smallMax = 1 << 20

// content stores the content of a file or link.
func (b *batch) content(d *os.Root, name string, info fs.FileInfo) (oid, error) {
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := d.Readlink(name)
		if err != nil {
			return oid{}, &unreadable{"cannot be read: " + rootfs.Cause(err)}
		}
		return b.put(kindBlob, []byte(target))
	}
	if info.Size() > FileBytesMax {
		return oid{}, &unreadable{fmt.Sprintf("is larger than %d bytes", int64(FileBytesMax))}
	}
	f, err := openFile(d, name, info)
	if err != nil {
		return oid{}, &unreadable{"cannot be read: " + rootfs.Cause(err)}
	}
	defer f.Close()
	id, err := b.file(f, info.Size())
	after, statErr := f.Stat()
	switch {
	case errors.Is(err, errMoved), statErr != nil, err == nil && look(after) != look(info):
		return oid{}, &unreadable{errMoved.Error()}
	}
	return id, err
}

func (b *batch) file(f *os.File, size int64) (oid, error) {
	source := &reading{r: f}
	if size > smallMax {
		id, err := b.stream(kindBlob, size, source)
		if source.err != nil {
			err = &unreadable{"cannot be read: " + rootfs.Cause(source.err)}
		}
		return id, err
	}
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(source, size+1)); err != nil {
		return oid{}, &unreadable{"cannot be read: " + rootfs.Cause(err)}
	}
	if int64(data.Len()) != size {
		return oid{}, errMoved
	}
	return b.put(kindBlob, data.Bytes())
}

// reading tells errors of reading a file from those of writing its copy.
type reading struct {
	r   io.Reader
	err error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
