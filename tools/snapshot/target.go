package snapshot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hecate/tools/rootfs"
)

// content is what stands at a path, as far as a landing is concerned; the zero value
// is nothing.
type content struct {
	Mode uint32 // ModeFile, ModeExec, ModeLink, or modeDir, which has no ID
	ID   oid
}

// errOther is said of what is neither file nor directory nor link.
var errOther = errors.New("is no file, directory or link")

// blocked is an error about a parent that is no directory.
type blocked struct{ at string }

func (b *blocked) Error() string { return fmt.Sprintf("lies below %q, which is no directory", b.at) }

// names are those in one directory, by what they fold to.
type names map[string][]string

func (n names) has(name string) bool { return slices.Contains(n[fold(name)], name) }

// target looks at the directory that is landed on.
type target struct {
	root *os.Root
	dirs map[string]*os.Root // open directories; nil: there is none
	// names are the names in each directory by what they fold to, as they will be.
	names map[string]names
}

func newTarget(root *os.Root) *target {
	return &target{root: root, dirs: map[string]*os.Root{".": root}, names: map[string]names{}}
}

func (t *target) close() {
	for _, d := range t.dirs {
		if d != nil && d != t.root {
			d.Close()
		}
	}
}

// dir opens a directory step by step and never through a link; nil if it is missing.
func (t *target) dir(rel string) (*os.Root, error) {
	if d, ok := t.dirs[rel]; ok {
		return d, nil
	}
	parent, err := t.dir(path.Dir(rel))
	if err != nil || parent == nil {
		return nil, err
	}
	d, err := enter(parent, rel)
	if err == nil {
		t.dirs[rel] = d
	}
	return d, err
}

// enter opens a directory in an open one; nil if it is missing.
func enter(parent *os.Root, rel string) (*os.Root, error) {
	info, err := parent.Lstat(path.Base(rel))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &blocked{rel}
	}
	return openDir(parent, path.Base(rel), info)
}

// at returns what stands at a path.
func (t *target) at(rel string) (content, fs.FileInfo, error) {
	d, err := t.dir(path.Dir(rel))
	if err != nil || d == nil {
		return content{}, nil, err
	}
	return contentOf(d, path.Base(rel))
}

// contentOf reads what stands at a name in a directory.
func contentOf(d *os.Root, name string) (content, fs.FileInfo, error) {
	info, err := d.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return content{}, nil, nil
	case err != nil:
		return content{}, nil, err
	case info.IsDir():
		return content{Mode: modeDir}, info, nil
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := d.Readlink(name)
		return content{ModeLink, idOf(kindBlob, []byte(link))}, info, err
	case !info.Mode().IsRegular():
		return content{}, info, errOther
	}
	f, err := openFile(d, name, info)
	if err != nil {
		return content{}, info, err
	}
	defer f.Close()
	h := newHash(kindBlob, info.Size())
	n, err := io.Copy(h, io.LimitReader(f, info.Size()+1))
	if err == nil && n != info.Size() {
		err = errMoved
	}
	return content{modeOf(info), oid(h.Sum(nil))}, info, err
}

// readText reads a file of at most limit bytes.
func (t *target) readText(rel string, limit int64) ([]byte, error) {
	d, err := t.dir(path.Dir(rel))
	if err != nil || d == nil {
		return nil, errors.Join(err, errMoved)
	}
	f, err := rootfs.Load(d, path.Base(rel), limit)
	return f.Data, err
}

// fold returns the one form of all names that differ in case only.
func fold(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && n == 1 {
			b.WriteByte(name[0])
		} else {
			least := r
			for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
				least = min(least, o)
			}
			b.WriteRune(least)
		}
		name = name[n:]
	}
	return b.String()
}

// list returns the names in a directory, which may be missing.
func (t *target) list(dir string) (names, error) {
	if known, ok := t.names[dir]; ok {
		return known, nil
	}
	there := names{}
	d, err := t.dir(dir)
	if b := new(blocked); errors.As(err, &b) {
		err, d = nil, nil
	}
	if err == nil && d != nil {
		var found []string
		found, err = readNames(d)
		for _, n := range found {
			there[fold(n)] = append(there[fold(n)], n)
		}
	}
	t.names[dir] = there
	return there, err
}

// appear notes that a path will be there. It returns another path that would be the same
// one on a file system that does not tell cases apart, or "".
func (t *target) appear(rel string) (string, error) {
	for ; rel != "."; rel = path.Dir(rel) {
		there, err := t.list(path.Dir(rel))
		if err != nil {
			return "", err
		}
		base := path.Base(rel)
		if there.has(base) {
			continue
		}
		if others := there[fold(base)]; len(others) > 0 {
			return path.Join(path.Dir(rel), others[0]), nil
		}
		there[fold(base)] = []string{base}
	}
	return "", nil
}

// vanish notes that a path will not be there.
func (t *target) vanish(rel string) error {
	there, err := t.list(path.Dir(rel))
	if err == nil {
		f, base := fold(path.Base(rel)), path.Base(rel)
		there[f] = slices.DeleteFunc(there[f], func(n string) bool { return n == base })
	}
	return err
}
