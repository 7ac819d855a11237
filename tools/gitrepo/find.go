package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Repo is a repository as it lies on the disk. It is found without git, which believes
// what files in a directory say about where the rest of the repository is: a .git file or
// link that somebody puts there would have it read anybody's repository.
type Repo struct {
	Top    string // of the work tree, without links
	prefix string // of the directory that is looked at, below the top: "" or "a/b/"
	git    string // of this work tree: HEAD, index
	common string // shared by all of its work trees: objects, references
}

// Errors of Find and At that callers show as they are.
var (
	ErrNoRepo    = errors.New("the workspace is not a git repository")
	ErrElsewhere = errors.New("the workspace's .git leads to a repository elsewhere that does not know of it; git evidence is not available")
)

// smallMax bounds the files of a repository that are read whole, but for its index.
const smallMax = 64 << 20

// Find looks for the repository that dir stands in. It goes up no further than to a
// directory that everybody can write to, since a .git there may be anybody's.
func Find(ctx context.Context, dir string) (Repo, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Repo{}, err
	}
	for top := dir; ; {
		r, err := At(ctx, top)
		if !errors.Is(err, ErrNoRepo) {
			if rel, _ := filepath.Rel(top, dir); rel != "." {
				r.prefix = filepath.ToSlash(rel) + "/"
			}
			return r, err
		}
		parent := filepath.Dir(top)
		info, err := os.Stat(parent)
		if parent == top || err != nil || info.Mode().Perm()&0o002 != 0 {
			return Repo{}, ErrNoRepo
		}
		top = parent
	}
}

// Inside reports whether dir stands in a git work tree that can be looked at.
func Inside(dir string) bool {
	_, err := Find(context.Background(), dir)
	return err == nil
}

// At returns the repository whose work tree has its top at dir, which has no links in it.
// That may be a linked work tree or a submodule, if the repository elsewhere says so, too.
func At(ctx context.Context, dir string) (Repo, error) {
	r := Repo{Top: dir, git: filepath.Join(dir, ".git")}
	info, err := os.Lstat(r.git)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return Repo{}, ErrNoRepo
	case err != nil:
		return Repo{}, err
	case info.IsDir():
		r.common = r.git
	case info.Mode().IsRegular():
		if err := r.follow(ctx); err != nil {
			return Repo{}, err
		}
	default:
		return Repo{}, ErrElsewhere
	}
	for _, part := range []string{filepath.Join(r.git, "HEAD"), filepath.Join(r.common, "objects")} {
		info, err := os.Lstat(part)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return Repo{}, ErrNoRepo
		case err != nil:
			return Repo{}, err
		case info.Mode()&fs.ModeSymlink != 0:
			return Repo{}, ErrElsewhere
		}
	}
	return r, nil
}

// follow goes where a .git file points, if that is a work tree's or a submodule's place
// that points back here.
func (r *Repo) follow(ctx context.Context) error {
	text, err := small(r.git)
	if err != nil {
		return err
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok {
		return ErrNoRepo
	}
	file := r.git
	if r.git, err = real(r.Top, to); err != nil {
		return ErrElsewhere
	}
	r.common = r.git
	text, err = small(filepath.Join(r.git, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return r.ofSubmodule(ctx)
	} else if err != nil {
		return err
	}
	back, err := small(filepath.Join(r.git, "gitdir"))
	if err != nil {
		return ErrElsewhere
	}
	common, err := real(r.git, strings.TrimRight(string(text), "\n"))
	if err != nil || filepath.Dir(r.git) != filepath.Join(common, "worktrees") {
		return ErrElsewhere
	}
	if at, err := real(r.git, strings.TrimRight(string(back), "\n")); err != nil || at != file {
		return ErrElsewhere
	}
	r.common = common
	return nil
}

func (r *Repo) ofSubmodule(ctx context.Context) error {
	settings, err := r.settings(ctx)
	if err != nil {
		return err
	}
	if tree, ok := settings["core.worktree"]; ok {
		if at, err := real(r.git, tree); err == nil && at == r.Top {
			return nil
		}
	}
	return ErrElsewhere
}

// real is a path that may be relative to base, without links.
func real(base, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.EvalSymlinks(path)
}

// small reads a regular file of a repository; links are not followed.
func small(path string) ([]byte, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > smallMax {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, smallMax)
	}
	return io.ReadAll(io.LimitReader(f, smallMax))
}

// openRegular opens a regular file, and nothing that came in its place meanwhile.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	before, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, nil, err
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, nil, ErrElsewhere
	case !before.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = fmt.Errorf("%s was changed while it was read", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
