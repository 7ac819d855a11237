package gitrepo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// view is a repository that stands in for another one while git looks at that one's work
// tree. Nobody else writes to it, so it stays as it was when it was checked: its own
// configuration, which names no programs, and copies of the last commit's name, the index,
// and what is excluded and attributed. Objects are read where they are.
type view struct {
	Repo
	dir  string // the view
	look string // the directory that is looked at
	head string // name of the last commit; "" if there is none
}

// open makes a view of the repository that dir stands in.
func open(ctx context.Context, dir string) (*view, error) {
	r, err := Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	v := &view{Repo: r, look: filepath.Join(r.Top, filepath.FromSlash(r.prefix))}
	if v.dir, err = os.MkdirTemp("", "hecate-git-"); err != nil {
		return nil, fmt.Errorf("make a view of the repository: %w", err)
	}
	if err := v.fill(ctx); err != nil {
		v.close()
		return nil, fmt.Errorf("make a view of the repository: %w", err)
	}
	return v, nil
}

func (v *view) close() { _ = os.RemoveAll(v.dir) } // in the system's place for such

func (v *view) fill(ctx context.Context) error {
	settings, err := v.settings(ctx)
	if err != nil {
		return err
	}
	config, err := reading(settings)
	if err != nil {
		return err
	}
	for _, name := range []string{"objects", "refs", "info"} {
		if err := os.Mkdir(filepath.Join(v.dir, name), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(v.dir, "config"), []byte(config), 0o600); err != nil {
		return err
	}
	if err := v.copyIndex(v.dir); err != nil {
		return err
	}
	for _, name := range []string{"shallow", "info/exclude", "info/attributes"} {
		if err := copyIfThere(filepath.Join(v.common, name), filepath.Join(v.dir, name)); err != nil {
			return err
		}
	}
	return v.copyHead()
}

var (
	objectName = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	branchName = regexp.MustCompile(`^refs/[^\x00-\x20\x7f]+$`)
)

// copyHead writes down where HEAD is, and nothing of the other references.
func (v *view) copyHead() error {
	text, err := small(filepath.Join(v.git, "HEAD"))
	if err != nil {
		return err
	}
	head := strings.TrimRight(string(text), "\n")
	name, symbolic := strings.CutPrefix(head, "ref: ")
	if !symbolic {
		if !objectName.MatchString(head) {
			return errors.New("HEAD is not readable")
		}
		v.head = head
		return os.WriteFile(filepath.Join(v.dir, "HEAD"), []byte(head+"\n"), 0o600)
	}
	if !branchName.MatchString(name) || !filepath.IsLocal(name) {
		return errors.New("HEAD is not readable")
	}
	if err := os.WriteFile(filepath.Join(v.dir, "HEAD"), []byte("ref: "+name+"\n"), 0o600); err != nil {
		return err
	}
	if v.head, err = v.lookUp(name); err != nil || v.head == "" {
		return err
	}
	file := filepath.Join(v.dir, filepath.FromSlash(name))
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(v.head+"\n"), 0o600))
}

// lookUp returns the commit that a branch is at; "" if it has none yet.
func (r Repo) lookUp(name string) (string, error) {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(r.common, dir)); err == nil && !info.IsDir() {
			return "", ErrElsewhere
		}
	}
	text, err := small(filepath.Join(r.common, filepath.FromSlash(name)))
	if err == nil {
		id := strings.TrimSpace(string(text))
		if !objectName.MatchString(id) {
			return "", fmt.Errorf("the reference %s is not readable", name)
		}
		return id, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		if info, statErr := os.Lstat(filepath.Join(r.common, name)); statErr != nil || !info.IsDir() {
			return "", err
		}
	}
	f, _, err := openRegular(filepath.Join(r.common, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if id, ref, _ := strings.Cut(lines.Text(), " "); ref == name && objectName.MatchString(id) {
			return id, nil
		}
	}
	return "", lines.Err()
}

// copyIndex copies the index as it is, with its time: git takes files that are younger
// than that for files that may have changed.
func (r Repo) copyIndex(dir string) error {
	shared, err := filepath.Glob(filepath.Join(globQuoted(r.git), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, from := range append(shared, filepath.Join(r.git, "index")) {
		if err := copyIfThere(from, filepath.Join(dir, filepath.Base(from))); err != nil {
			return err
		}
	}
	return nil
}

// globQuoted is a path as a pattern that matches it alone.
func globQuoted(path string) string {
	return regexp.MustCompile(`[\\*?\[]`).ReplaceAllString(path, `\$0`)
}

// copyIfThere copies a regular file with its time, if there is one.
func copyIfThere(from, to string) error {
	in, info, err := openRegular(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// run runs a git command that looks at the work tree through the view.
func (v *view) run(ctx context.Context, c call, args ...string) ([]byte, error) {
	c.dir = v.look
	c.env = append([]string{"GIT_DIR=" + v.dir, "GIT_WORK_TREE=" + v.Top, "GIT_OBJECT_DIRECTORY=" + filepath.Join(v.common, "objects")}, c.env...)
	return runWith(ctx, c, args...)
}

// checkFilters refuses files that are converted by a program when git reads them, such as
// those of git-lfs. The view names no programs, so they would look changed when they are
// not. A filter that is named counts, whether the repository, the user or nobody says what
// program that is. The files are those below a path, seen from the directory that is looked at.
func (v *view) checkFilters(ctx context.Context, below string) error {
	names, err := v.run(ctx, call{whole: true}, "--literal-pathspecs", "ls-files", "-z", "--", below)
	whole := v.prefix == "" && below == "."
	if err != nil || len(names) == 0 || whole && !v.attributed(string(names)) {
		return err
	}
	out, err := v.run(ctx, call{input: names, whole: true}, "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(fields)%3 != 0 || strings.Count(string(names), "\x00") > len(fields)/3 {
		return errors.New("git does not say how the files of the repository are converted")
	}
	for ; len(fields) > 0; fields = fields[3:] {
		if value := fields[2]; value != "unspecified" && value != "unset" {
			return fmt.Errorf("%w (%.200q names the filter %.40q)", ErrFilters, fields[0], value)
		}
	}
	return nil
}

// attributedMax is in how many directories it is looked for attributes before git is asked.
const attributedMax = 4096

// attributed reports whether any of all files, which are separated by NUL, may have
// attributes: asking git takes longer than looking for the files that would say so.
func (v *view) attributed(names string) bool {
	there := func(name string) bool { _, err := os.Lstat(name); return err == nil }
	if there(filepath.Join(v.dir, "info", "attributes")) {
		return true
	}
	seen := map[string]bool{}
	for name := range strings.SplitSeq(names, "\x00") {
		if path.Base(name) == ".gitattributes" { // git falls back to it where it was removed
			return true
		}
		for dir := path.Dir(name); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if len(seen) > attributedMax || there(filepath.Join(v.Top, dir, ".gitattributes")) {
				return true
			}
		}
	}
	return false
}
