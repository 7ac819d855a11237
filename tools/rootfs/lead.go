package rootfs

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Named is a path as a model gave it, relative to the root where it is an absolute one
// below it. Nothing is looked up but the root's own path.
func Named(rootPath, name string) string {
	if rootPath == "" || !path.IsAbs(name) {
		return name
	}
	if rel, ok := inside(rootPath, name); ok {
		return rel
	}
	return name
}

// Lead is where a path relative to the root leads to, links followed: relative, or what
// it is called outside of the root. A part that does not exist leads nowhere else.
func Lead(root *os.Root, rootPath, rel string) string {
	rel = path.Clean(rel)
	for range linksMax {
		if !filepath.IsLocal(rel) {
			return rel
		}
		at, target, found := firstLink(root, rel)
		if !found {
			return rel
		}
		rest := strings.TrimPrefix(rel[len(at):], "/")
		if to, ok := inside(rootPath, target); path.IsAbs(target) && ok {
			target = to
		} else if !path.IsAbs(target) {
			target = path.Join(path.Dir(at), target)
		}
		rel = path.Join(target, rest)
	}
	return "../" + rel // round and round: it is nowhere in the workspace
}
