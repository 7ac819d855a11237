package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"hecate/tools/rootfs"
)

// walker goes through a directory. It opens each directory from the one above and
// looks at names in it only, so no link is ever followed, whatever is exchanged meanwhile.
type walker struct {
	ctx     context.Context //nolint:containedctx // a walk lives as long as one call
	o       Options
	known   *index                                               // what is included though ignored
	visit   func(d *os.Root, rel string, info fs.FileInfo) error // a file or link that is included
	skipped func(rel, why string)
	ignored func(rel string) // a path that is left out; a directory ends in a slash

	files        int
	ignoredBytes int64
}

// dir goes through one directory. The rules are those of the directories above; out says
// that the directory is ignored, so that only known files count.
func (w *walker) dir(d *os.Root, rel string, rules *ignores, out bool, depth int) error {
	names, err := readNames(d)
	if err != nil && rel == "." {
		return err
	}
	if err != nil {
		w.skipped(rel, "cannot be read: "+rootfs.Cause(err))
		return nil
	}
	prefix := rel + "/"
	if rel == "." {
		prefix = ""
	}
	if !out {
		rules = w.readRules(d, names, prefix, rules)
	}
	for _, name := range names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if name == ".git" || rel == "." && strings.HasPrefix(name, stagingPrefix) || slices.Contains(w.o.Exclude, prefix+name) {
			continue
		}
		if err := w.entry(d, name, prefix+name, rules, out, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(d *os.Root, name, rel string, rules *ignores, out bool, depth int) error {
	if isGit(name) {
		w.skipped(rel, "is taken for .git by some file systems")
		return nil
	}
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		w.skipped(rel, "cannot be read: "+rootfs.Cause(err))
		return nil
	}
	out = out || rules.match(rel, info.IsDir())
	_, known := w.known.entries[rel]
	switch {
	case info.IsDir():
		if out && !w.o.Ignored && !w.known.dirs[rel] {
			w.ignored(rel + "/")
			return nil
		}
		return w.enter(d, name, rel, info, rules, out, depth)
	case out && !w.o.Ignored && !known:
		w.ignored(rel)
		return nil
	case out && !known && !w.afford(info):
		w.skipped(rel, "is more than may be kept of ignored files")
		return nil
	case len(rel) > pathMax:
		w.skipped(rel, "has too long a path")
		return nil
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		w.skipped(rel, "is no file, directory or link")
		return nil
	}
	if w.files++; w.files > entriesMax {
		return fmt.Errorf("there are more than %d files", entriesMax)
	}
	return w.visit(d, rel, info)
}

// afford counts the bytes of ignored files.
func (w *walker) afford(info fs.FileInfo) bool {
	limit := w.o.IgnoredBytes
	if limit == 0 {
		limit = IgnoredBytesMax
	}
	if w.ignoredBytes+info.Size() > limit {
		return false
	}
	w.ignoredBytes += info.Size()
	return true
}

func (w *walker) enter(d *os.Root, name, rel string, info fs.FileInfo, rules *ignores, out bool, depth int) error {
	if depth >= depthMax || len(rel) > pathMax {
		w.skipped(rel, "lies too deep")
		return nil
	}
	sub, err := openDir(d, name, info)
	if err != nil {
		w.skipped(rel, "cannot be read: "+rootfs.Cause(err))
		return nil
	}
	defer sub.Close()
	return w.dir(sub, rel, rules, out, depth+1)
}

// openDir opens a directory that has been looked at.
func openDir(d *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	sub, err := d.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := sub.Stat("."); err != nil || !os.SameFile(info, opened) {
		sub.Close()
		return nil, errMoved
	}
	return sub, nil
}

func readNames(d *os.Root) ([]string, error) {
	f, err := d.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// readRules adds the rules of the directory's own .gitignore, which is not followed if it
// is a link.
func (w *walker) readRules(d *os.Root, names []string, prefix string, above *ignores) *ignores {
	const name = ".gitignore"
	found := false
	for _, n := range names {
		found = found || n == name
	}
	if !found {
		return above
	}
	info, err := d.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > ignoreBytesMax {
		return above
	}
	f, err := openFile(d, name, info)
	if err != nil {
		return above
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, ignoreBytesMax))
	if err != nil {
		return above
	}
	if rules := parseIgnore(data); len(rules) > 0 {
		return &ignores{above: above, dir: prefix, rules: rules}
	}
	return above
}

// openFile opens a regular file that has been looked at.
func openFile(d *os.Root, name string, info fs.FileInfo) (*os.File, error) {
	f, opened, err := rootfs.Open(d, name)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, opened) {
		f.Close()
		return nil, errMoved
	}
	return f, nil
}
