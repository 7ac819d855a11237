// Package rootfs keeps file work inside a workspace: it turns the paths that a
// model gives into paths below the root, and changes files all or nothing.
//
// Every access goes through os.Root, which refuses what leads out even if a link
// is put in place between check and use. The checks here come first because they
// can say what is wrong, and because some rules are ours: reading follows no links
// at all, nothing writes below a .git directory.
package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"hecate/tools/sandbox"
)

// pathMax is how long a path may be, in bytes, as for most kernels. Longer ones are
// no files, but to find that out step by step, or to make their directories, takes
// minutes.
const pathMax = 4096

var errPathTooLong = fmt.Errorf("the path is longer than %d bytes", pathMax)

// linksMax is how many links one path may go through.
const linksMax = 32

// drive matches paths that are absolute elsewhere; here they would be odd file names.
var drive = regexp.MustCompile(`^[A-Za-z]:[\\/]|^\\\\`)

// Relative cleans a workspace-relative path for reading. It refuses absolute
// paths and paths that step out; "" is the root itself.
func Relative(name string) (string, error) {
	switch {
	case len(name) > pathMax:
		return "", errPathTooLong
	case path.IsAbs(name) || drive.MatchString(name):
		return "", fmt.Errorf("path must be relative to the workspace, got absolute: %q", name)
	case name == "":
		return ".", nil
	case !filepath.IsLocal(name) || strings.ContainsRune(name, 0):
		return "", fmt.Errorf("unsafe relative workspace path %q", name)
	}
	return path.Clean(name), nil
}

// NoLinks reports an error if a component of rel, itself included, is a symbolic
// link. A missing component is no error: opening it will say so.
func NoLinks(root *os.Root, rel string) error {
	for at := range prefixes(rel) {
		info, err := root.Lstat(at)
		if err != nil {
			return nil
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := root.Readlink(at)
		if err != nil {
			return fmt.Errorf("workspace path uses a symlink component %q", at)
		}
		return fmt.Errorf("workspace path uses a symlink component %q, which points to %q; use the path it points to if that is in the workspace", at, target)
	}
	return nil
}

// prefixes yields "a", "a/b", "a/b/c" of "a/b/c".
func prefixes(rel string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(rel) {
			if rel[i] == '/' && !yield(rel[:i]) {
				return
			}
		}
		if rel != "." {
			yield(rel)
		}
	}
}

// Writable turns a path given for writing into one below the root: relative, or
// absolute inside it. Links that stay inside are followed, so that the result has
// none; whatever leads out, also through a link to something that does not exist
// yet, is refused, and so is all that lies in a .git directory, or where the repository
// has its hooks.
func Writable(root *os.Root, rootPath, name string) (string, error) {
	rel, err := below(rootPath, name)
	if err != nil {
		return "", err
	}
	if rel, err = follow(root, rootPath, rel, name); err != nil {
		return "", err
	}
	for part := range strings.SplitSeq(rel, "/") {
		if strings.EqualFold(part, ".git") {
			return "", &sandbox.Denied{Reason: fmt.Sprintf("path %q lies in a .git directory; use git_exec to change a repository", name)}
		}
	}
	if inHooks(root, rootPath, rel) {
		return "", &sandbox.Denied{Reason: fmt.Sprintf("path %q lies in the directory that core.hooksPath names, whose programs git runs; have the operator change it", name)}
	}
	return rel, nil
}

// Dir turns a working directory into a path below the root, as Writable does, and
// requires that it exists.
func Dir(root *os.Root, rootPath, name string) (string, error) {
	if name == "" {
		return ".", nil
	}
	rel, err := below(rootPath, name)
	if err != nil {
		return "", err
	}
	if rel, err = follow(root, rootPath, rel, name); err != nil {
		return "", err
	}
	switch info, err := root.Stat(rel); {
	case err != nil:
		return "", fmt.Errorf("working directory %q: %s", name, Cause(err))
	case !info.IsDir():
		return "", fmt.Errorf("working directory %q is not a directory", name)
	}
	return rel, nil
}

// below makes name relative to the root without looking at links in it.
func below(rootPath, name string) (string, error) {
	if len(name) > pathMax {
		return "", errPathTooLong
	}
	if strings.ContainsRune(name, 0) || drive.MatchString(name) {
		return "", sandbox.Escapes(name, rootPath)
	}
	rel := name
	if path.IsAbs(name) {
		var ok bool
		if rel, ok = inside(rootPath, name); !ok {
			return "", sandbox.Escapes(name, rootPath)
		}
	}
	if rel == "" || !filepath.IsLocal(rel) {
		return "", sandbox.Escapes(name, rootPath)
	}
	return path.Clean(rel), nil
}

// inside cuts the root off an absolute path. The root may be known by the path it
// was opened with or by its real one (a temporary directory behind a link).
func inside(rootPath, abs string) (string, bool) {
	abs = path.Clean(abs)
	roots := []string{path.Clean(rootPath)}
	if real, err := filepath.EvalSymlinks(rootPath); err == nil {
		roots = append(roots, real)
	}
	for _, r := range roots {
		if abs == r {
			return ".", true
		}
		if rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(r, "/")+"/"); ok {
			return rest, true
		}
	}
	return "", false
}

// follow replaces the links in rel by what they point to.
func follow(root *os.Root, rootPath, rel, name string) (string, error) {
	for range linksMax {
		at, target, found := firstLink(root, rel)
		if !found {
			return rel, nil
		}
		rest := strings.TrimPrefix(rel[len(at):], "/")
		var to string
		var ok bool
		if path.IsAbs(target) {
			to, ok = inside(rootPath, target)
		} else {
			to = path.Join(path.Dir(at), target)
			ok = filepath.IsLocal(to)
		}
		if !ok {
			return "", &sandbox.Denied{Reason: fmt.Sprintf("path %q escapes allowed root %q: %q is a link to %q", name, rootPath, at, target)}
		}
		rel = path.Join(to, rest)
	}
	return "", fmt.Errorf("path %q goes through too many symbolic links", name)
}

func firstLink(root *os.Root, rel string) (at, target string, found bool) {
	for at := range prefixes(rel) {
		info, err := root.Lstat(at)
		if err != nil {
			return "", "", false
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := root.Readlink(at)
			return at, target, err == nil
		}
	}
	return "", "", false
}

// Cause says in plain words why a file operation failed, without the names of
// system calls.
func Cause(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "not found"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrExist):
		return "already exists"
	case errors.Is(err, syscall.ENOTDIR):
		return "a parent is not a directory"
	case errors.Is(err, syscall.EISDIR):
		return "is a directory"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "the name is too long"
	case errors.Is(err, syscall.ENOSPC):
		return "no space left"
	}
	var p *fs.PathError
	var l *os.LinkError
	if errors.As(err, &p) {
		return p.Err.Error()
	} else if errors.As(err, &l) {
		return l.Err.Error()
	}
	return err.Error()
}
