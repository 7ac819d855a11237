package snapshot

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"hecate/domain/fault"
)

const (
	kindBlob = "blob"
	kindTree = "tree"
)

// treeBytesMax bounds one tree object: one directory.
const treeBytesMax = 64 << 20

var (
	errNoObject = fault.NotFound("snapshot_gone", "the snapshot is not in the store; it may have been pruned")
	errDamaged  = errors.New("it is damaged in the store")
	errTooLarge = errors.New("it is too large")
	errMoved    = errors.New("changed while it was read")
)

// oid is the name of a git object.
type oid [sha256.Size]byte

func (o oid) String() string { return hex.EncodeToString(o[:]) }

func parseID(s string) (oid, error) {
	var id oid
	if len(s) != 2*len(id) || strings.ToLower(s) != s {
		return id, errors.New("an id has 64 hexadecimal digits")
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return id, errors.New("an id has 64 hexadecimal digits")
	}
	return id, nil
}

func (s *Store) objectPath(id oid) string {
	name := id.String()
	return filepath.Join(s.dir, "objects", name[:2], name[2:])
}

func header(kind string, size int64) []byte { return fmt.Appendf(nil, "%s %d\x00", kind, size) }

func idOf(kind string, data []byte) oid {
	h := newHash(kind, int64(len(data)))
	h.Write(data)
	return oid(h.Sum(nil))
}

// batch is a number of objects that are written together.
type batch struct {
	s       *Store
	written []string
}

// put stores an object.
func (b *batch) put(kind string, data []byte) (oid, error) {
	id := idOf(kind, data)
	if b.s.has(id) {
		return id, nil
	}
	_, err := b.stream(kind, int64(len(data)), bytes.NewReader(data))
	return id, err
}

func (s *Store) has(id oid) bool {
	info, err := os.Lstat(s.objectPath(id))
	return err == nil && info.Size() > 0 // a power cut can leave an empty one
}

// stream stores an object of size bytes. If r has more or fewer, nothing is stored.
func (b *batch) stream(kind string, size int64, r io.Reader) (oid, error) {
	f, err := os.CreateTemp(filepath.Join(b.s.dir, "objects"), "tmp_obj_") // git prune drops what is left of these
	if err != nil {
		return oid{}, err
	}
	defer os.Remove(f.Name()) // it is gone if it was moved
	id, err := compress(f, kind, size, r)
	if err = errors.Join(err, f.Chmod(0o400), f.Close()); err != nil || b.s.has(id) {
		return id, err
	}
	to := b.s.objectPath(id)
	if err = os.Rename(f.Name(), to); errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			err = os.Rename(f.Name(), to)
		}
	}
	b.written = append(b.written, to)
	return id, err
}

// compressors are used again: to make one costs more than to compress a small file.
var compressors = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed) // it fails for other levels only
	return z
}}

// compress writes a loose object and returns its name.
func compress(w io.Writer, kind string, size int64, r io.Reader) (oid, error) {
	z, ok := compressors.Get().(*zlib.Writer)
	if !ok {
		return oid{}, errors.New("no compressor")
	}
	defer compressors.Put(z)
	z.Reset(w)
	h := sha256.New()
	both := io.MultiWriter(z, h)
	if _, err := both.Write(header(kind, size)); err != nil {
		return oid{}, err
	}
	n, err := io.Copy(both, io.LimitReader(r, size+1))
	if err == nil && n != size {
		err = errMoved
	}
	return oid(h.Sum(nil)), errors.Join(err, z.Close())
}

// fsyncMax is how many objects are made durable one by one; for more, the whole file
// system is asked to.
const fsyncMax = 32

// sync makes what was written durable.
func (b *batch) sync() error {
	return syncFiles(b.s.dir, b.written, os.Open)
}

// syncFiles makes files durable that stand below dir. Many of them take one request, where
// the system has it.
func syncFiles(dir string, names []string, open func(name string) (*os.File, error)) error {
	if len(names) > fsyncMax && syncAll(dir) == nil {
		return nil
	}
	var all errgroup.Group
	all.SetLimit(fsyncMax)
	// file systems make durable together what is asked for together
	for _, name := range names {
		all.Go(func() error {
			f, err := open(name)
			if err != nil {
				return err
			}
			return errors.Join(f.Sync(), f.Close())
		})
	}
	return all.Wait()
}

// object is a stored object that is being read.
type object struct {
	kind string
	size int64
	io.Reader
	f *os.File
}

func (o *object) Close() error { return o.f.Close() }

// open opens an object. What is read from it is not checked.
func (s *Store) open(id oid) (*object, error) {
	f, err := os.Open(s.objectPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read object %s: %w", id, errNoObject)
	} else if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	o := &object{f: f}
	if err := o.readHeader(); err != nil {
		f.Close()
		return nil, fmt.Errorf("read object %s: %w", id, errDamaged)
	}
	return o, nil
}

func (o *object) readHeader() error {
	z, err := zlib.NewReader(o.f)
	if err != nil {
		return err
	}
	var head [32]byte
	for i := range head {
		if _, err := io.ReadFull(z, head[i:i+1]); err != nil {
			return err
		}
		if head[i] != 0 {
			continue
		}
		kind, size, _ := strings.Cut(string(head[:i]), " ")
		o.kind, o.Reader = kind, z
		o.size, err = strconv.ParseInt(size, 10, 64)
		return err
	}
	return errDamaged
}

// copyTo writes an object of a kind and of at most limit bytes to w, and fails in the
// end if it was not what its name says.
func (s *Store) copyTo(w io.Writer, id oid, kind string, limit int64) error {
	o, err := s.open(id)
	if err != nil {
		return err
	}
	defer o.Close()
	switch {
	case o.kind != kind:
		return fmt.Errorf("read object %s: it is a %s, not a %s", id, o.kind, kind)
	case o.size > limit:
		return fmt.Errorf("read object %s: %w: %d bytes, and the limit is %d", id, errTooLarge, o.size, limit)
	}
	h := newHash(kind, o.size)
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(o, o.size+1))
	if errors.Is(err, zlib.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || err == nil && (n != o.size || oid(h.Sum(nil)) != id) {
		err = errDamaged
	}
	if err != nil {
		return fmt.Errorf("read object %s: %w", id, err)
	}
	return nil
}

func (s *Store) get(id oid, kind string, limit int64) ([]byte, error) {
	var b bytes.Buffer
	err := s.copyTo(&b, id, kind, limit)
	return b.Bytes(), err
}

// Read returns the content of a blob of at most ReadBytesMax bytes; that of a link is
// what it points to.
func (s *Store) Read(ctx context.Context, blob string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, err := parseID(blob)
	if err != nil {
		return nil, fmt.Errorf("read blob %q: %w", blob, err)
	}
	return s.get(id, kindBlob, ReadBytesMax)
}

// newHash begins the name of an object of size bytes.
func newHash(kind string, size int64) hash.Hash {
	h := sha256.New()
	h.Write(header(kind, size))
	return h
}
