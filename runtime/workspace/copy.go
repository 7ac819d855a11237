package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hecate/tools/gitrepo"
	"hecate/tools/rootfs"
)

// copier copies directories as they stand, with what git knows about them and what it does
// not. Where it reads, somebody hostile may have been at work, or still be: it goes through
// no link, runs nothing that is configured there, and opens no pipe or device.
type copier struct {
	skip []string // directories that are left out, without links
}

// copyDir copies the directory src, which has no links in its path, to dst, which exists.
// A repository, a linked work tree or a submodule becomes a repository of its own; it has
// all but what git ignores. Any other directory has everything.
func (c copier) copyDir(ctx context.Context, src, dst string) error {
	repo, err := gitrepo.At(ctx, src)
	switch {
	case err == nil:
		return c.copyRepository(ctx, repo, src, dst)
	case errors.Is(err, gitrepo.ErrNoRepo), errors.Is(err, gitrepo.ErrElsewhere):
		return c.copyTree(ctx, src, dst)
	}
	return fmt.Errorf("read the repository %s: %w", src, err)
}

func (c copier) copyRepository(ctx context.Context, repo gitrepo.Repo, src, dst string) error {
	meta := filepath.Join(dst, ".git")
	if err := repo.CopyTo(ctx, meta, true); err != nil {
		return fmt.Errorf("copy the repository %s: %w", src, err)
	}
	list, err := listed(ctx, meta, src)
	if err != nil {
		return err
	}
	return c.within(src, dst, func(t *target) error {
		for name := range bytes.SplitSeq(list, []byte{0}) {
			// A directory is a submodule, or a repository that this one does not know.
			if rel := strings.TrimSuffix(string(name), "/"); rel != "" {
				if err := t.listed(ctx, rel); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// copyTree copies all that is in a directory but what is called .git: that would say how
// to find the source's own repository, or name programs.
func (c copier) copyTree(ctx context.Context, src, dst string) error {
	return c.within(src, dst, func(t *target) error { return t.children(ctx, ".") })
}

// target is one directory on its way to another.
type target struct {
	copier
	src, dst string
	from, to *os.Root
	made     string // the directory that was found free of links, and made, last
}

// within has act copy from src to dst.
func (c copier) within(src, dst string, act func(t *target) error) error {
	from, err := os.OpenRoot(src)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(dst)
	if err != nil {
		return err
	}
	defer to.Close()
	return act(&target{copier: c, src: src, dst: dst, from: from, to: to, made: "."})
}

// children copies what is in a directory that has been made.
func (t *target) children(ctx context.Context, dir string) error {
	entries, err := fs.ReadDir(t.from.FS(), dir)
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(t.src, dir), err)
	}
	for _, e := range entries {
		if err := t.entry(ctx, filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// listed copies one path that git names, unless it is not there: deleted in the work tree,
// and so in the copy. Where a directory above it has become a link, it is not there, either.
func (t *target) listed(ctx context.Context, rel string) error {
	if !filepath.IsLocal(rel) || rel != filepath.Clean(rel) || slices.ContainsFunc(strings.Split(rel, "/"), isGit) {
		return fmt.Errorf("the index of %s names %.200q, which no file can be", t.src, rel)
	}
	dir := filepath.Dir(rel)
	if t.skips(rel) {
		return nil
	}
	if dir != t.made {
		if rootfs.NoLinks(t.from, dir) != nil {
			return nil
		}
		if info, err := t.from.Lstat(dir); err != nil || !info.IsDir() {
			return nil
		}
		if err := t.to.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		t.made = dir
	}
	return t.entry(ctx, rel)
}

func (t *target) skips(rel string) bool {
	path := filepath.Join(t.src, rel)
	return slices.ContainsFunc(t.skip, func(dir string) bool { return lies(path, dir) })
}

func isGit(name string) bool { return strings.EqualFold(name, ".git") }

// entry copies a file, a link or a directory. Sockets, pipes and devices are left out.
func (t *target) entry(ctx context.Context, rel string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := t.from.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", filepath.Join(t.src, rel), err)
	case isGit(filepath.Base(rel)), t.skips(rel):
		return nil
	case info.IsDir():
		return t.dir(ctx, rel, info)
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := t.from.Readlink(rel)
		if err != nil {
			return err
		}
		return t.to.Symlink(to, rel)
	case info.Mode().IsRegular():
		return t.file(rel)
	}
	return nil
}

// dir copies a directory, which may be a repository of its own.
func (t *target) dir(ctx context.Context, rel string, info fs.FileInfo) error {
	// The owner can always write, or the copy could not be filled.
	if err := t.to.Mkdir(rel, info.Mode().Perm()|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if found, err := t.from.Lstat(filepath.Join(rel, ".git")); err != nil || found.Mode()&fs.ModeSymlink != 0 {
		return t.children(ctx, rel)
	}
	return t.copyDir(ctx, filepath.Join(t.src, rel), filepath.Join(t.dst, rel))
}

// file copies a file with its permissions, whatever the umask, and its time, by which
// build tools go.
func (t *target) file(rel string) error {
	in, info, err := rootfs.Open(t.from, rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", filepath.Join(t.src, rel), err)
	}
	defer in.Close()
	if info.IsDir() {
		return fmt.Errorf("read %s: it was changed meanwhile", filepath.Join(t.src, rel))
	}
	out, err := t.to.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", filepath.Join(t.src, rel), err), out.Close())
	}
	if err := errors.Join(out.Chmod(info.Mode().Perm()), out.Close()); err != nil {
		return err
	}
	return t.to.Chtimes(rel, info.ModTime(), info.ModTime())
}

// lies reports whether a path is a directory or in it.
func lies(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
