package gitrepo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// underWay are the files that say in the midst of what a work tree is.
var underWay = []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD"}

// CopyTo makes dir, which does not exist, the .git of a repository that stands by itself:
// with all objects, with branches, tags and remote branches, with HEAD, and with the index
// and a merge under way if staged is set. No program of the repository comes along, be it
// a hook, a filter or a helper; nor do addresses and credentials. Of a linked work tree or
// a submodule it is a whole repository, too.
func (r Repo) CopyTo(ctx context.Context, dir string, staged bool) error {
	settings, err := r.settings(ctx)
	if err != nil {
		return err
	}
	config, err := reading(settings)
	if err != nil {
		return err
	}
	for _, name := range []string{"", "objects", "objects/info", "refs", "info"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config+identity(settings)), 0o644); err != nil {
		return err
	}
	if err := r.copyObjects(ctx, filepath.Join(dir, "objects")); err != nil {
		return fmt.Errorf("copy objects: %w", err)
	}
	if err := r.copyReferences(ctx, dir); err != nil {
		return fmt.Errorf("copy references: %w", err)
	}
	if !staged {
		return nil
	}
	for _, name := range underWay {
		if err := copyIfThere(filepath.Join(r.git, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := copyIfThere(filepath.Join(r.git, "info", "sparse-checkout"), filepath.Join(dir, "info", "sparse-checkout")); err != nil {
		return err
	}
	return r.copyIndex(dir)
}

// identity is who commits, as the repository says.
func identity(settings map[string]string) string {
	var b strings.Builder
	for _, key := range []string{"name", "email"} {
		value, ok := settings["user."+key]
		if ok && len(value) < 256 && !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			fmt.Fprintf(&b, "[user]\n\t%s = \"%s\"\n", key, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value))
		}
	}
	return b.String()
}

// copyObjects copies the files with objects. Where the repository borrows objects from
// others, so does the copy.
func (r Repo) copyObjects(ctx context.Context, to string) error {
	from := filepath.Join(r.common, "objects")
	if err := copyFiles(ctx, from, to, func(rel string) bool {
		return rel != "info/alternates" && !strings.HasPrefix(filepath.Base(rel), "tmp_")
	}); err != nil {
		return err
	}
	text, err := small(filepath.Join(from, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var lenders strings.Builder
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' || line[0] == '"' {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(from, line)
		}
		lenders.WriteString(line + "\n")
	}
	return os.WriteFile(filepath.Join(to, "info", "alternates"), []byte(lenders.String()), 0o644)
}

// copied are the kinds of references that a copy has.
var copied = []string{"refs/heads/", "refs/tags/", "refs/remotes/"}

func (r Repo) copyReferences(ctx context.Context, dir string) error {
	for _, kind := range copied {
		from := filepath.Join(r.common, filepath.FromSlash(kind))
		info, err := os.Lstat(from)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return ErrElsewhere
		}
		if err := copyFiles(ctx, from, filepath.Join(dir, filepath.FromSlash(kind)), func(string) bool { return true }); err != nil {
			return err
		}
	}
	if err := r.copyPacked(filepath.Join(dir, "packed-refs")); err != nil {
		return err
	}
	head, err := small(filepath.Join(r.git, "HEAD"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "HEAD"), head, 0o644); err != nil {
		return err
	}
	for _, name := range []string{"shallow", "info/exclude", "info/attributes"} {
		if err := copyIfThere(filepath.Join(r.common, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// copyPacked copies the lines of packed references of the kinds that are copied.
func (r Repo) copyPacked(to string) error {
	in, _, err := openRegular(filepath.Join(r.common, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer in.Close()
	var out strings.Builder
	lines, keeps := bufio.NewScanner(in), false
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "#"): // says how the file is sorted and peeled
			keeps = true
		case !strings.HasPrefix(line, "^"): // else it goes with the tag above it
			_, name, _ := strings.Cut(line, " ")
			keeps = strings.HasPrefix(name, copied[0]) || strings.HasPrefix(name, copied[1]) || strings.HasPrefix(name, copied[2])
		}
		if keeps {
			out.WriteString(lines.Text() + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(out.String()), 0o644)
}

// copyFiles copies the regular files below a directory for which take holds. It goes
// through no link.
func copyFiles(ctx context.Context, from, to string, take func(rel string) bool) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular() || !take(rel):
			return nil
		}
		return copyObject(root, rel, filepath.Join(to, rel))
	})
}

func copyObject(root *os.Root, rel, to string) error {
	in, err := root.Open(rel)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fs.ErrInvalid)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()&0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
