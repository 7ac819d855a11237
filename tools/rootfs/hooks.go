package rootfs

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// configMax is how much of a repository's configuration is looked at, in bytes.
const configMax = 1 << 20

// hooksPath is a setting that names a directory whose programs git runs, in whatever
// section it stands.
var hooksPath = regexp.MustCompile(`(?im)^[^#;\n]*\bhookspath\s*=\s*"?([^"#;\r\n]+)`)

// inHooks reports whether rel is a directory that the repository at the root names for its
// hooks, or in it. It is in the work tree then, and git runs what is written there, as it
// runs what is in .git.
func inHooks(root *os.Root, rootPath, rel string) bool {
	f, info, err := Open(root, ".git/config")
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, configMax))
	if err != nil || info.IsDir() {
		return false
	}
	for _, m := range hooksPath.FindAllStringSubmatch(string(text), -1) {
		dir := strings.TrimSpace(m[1])
		if path.IsAbs(dir) {
			var ok bool
			if dir, ok = inside(rootPath, dir); !ok {
				continue
			}
		}
		dir = path.Clean(dir)
		if !filepath.IsLocal(dir) || dir == "." {
			continue
		}
		for _, d := range []string{dir, Lead(root, rootPath, dir)} {
			if rel == d || strings.HasPrefix(rel, d+"/") {
				return true
			}
		}
	}
	return false
}
