package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Draft is a commit in the making, on top of the last one of a repository. Until it gets
// its branch, nothing of the repository is changed: neither its work tree nor its index,
// and no reference.
type Draft struct {
	v *view
}

// ErrBranchExists says that a branch of that name is there already.
var ErrBranchExists = errors.New("the branch is there already")

// NewDraft begins a commit in the repository that dir stands in. Paths count from dir.
// A repository without commits is ErrUnborn.
func NewDraft(ctx context.Context, dir string) (*Draft, error) {
	v, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	if v.head == "" {
		v.close()
		return nil, ErrUnborn
	}
	return &Draft{v}, nil
}

// Close forgets the draft.
func (d *Draft) Close() { d.v.close() }

// Base is the commit that the draft stands on.
func (d *Draft) Base() string { return d.v.head }

// CheckBranch returns an error if no new branch can have the name.
func (d *Draft) CheckBranch(ctx context.Context, name string) error {
	if _, err := d.v.run(ctx, call{}, "check-ref-format", "--branch", name); err != nil || strings.HasPrefix(name, "@") || strings.HasPrefix(name, "refs/") {
		return fmt.Errorf("%q cannot be the name of a branch", name)
	}
	if below, err := os.ReadDir(filepath.Join(d.v.common, "refs", "heads", filepath.FromSlash(name))); err == nil && len(below) > 0 {
		return fmt.Errorf("%w: %s/%s, which leaves no room for %[2]s", ErrBranchExists, name, below[0].Name())
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := os.Stat(filepath.Join(d.v.common, "refs", "heads", filepath.FromSlash(dir))); err == nil && !info.IsDir() {
			return fmt.Errorf("%w: %s, which leaves no room for %s", ErrBranchExists, dir, name)
		}
	}
	if at, err := d.v.lookUp("refs/heads/" + name); err != nil || at != "" {
		return errors.Join(err, fmt.Errorf("%w: %s", ErrBranchExists, name))
	}
	return nil
}

// Extract writes what the last commit has at the paths, or below them, into a directory.
func (d *Draft) Extract(ctx context.Context, paths []string, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := d.list(ctx, paths)
	if err != nil {
		return err
	}
	var ids bytes.Buffer
	for _, e := range entries {
		ids.WriteString(e.id + "\n")
	}
	out, err := d.v.run(ctx, call{input: ids.Bytes(), whole: true}, "cat-file", "--batch")
	if err != nil {
		return err
	}
	for _, e := range entries {
		var content []byte
		if content, out, err = nextObject(out); err != nil {
			return fmt.Errorf("read %s of the last commit: %w", e.path, err)
		}
		if err := e.write(root, content); err != nil {
			return fmt.Errorf("write %s: %w", e.path, err)
		}
	}
	return nil
}

// treeEntry is a file or link of a commit.
type treeEntry struct{ mode, id, path string }

func (d *Draft) list(ctx context.Context, paths []string) ([]treeEntry, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := d.v.run(ctx, call{whole: true}, append([]string{"--literal-pathspecs", "ls-tree", "-r", "-z", d.v.head, "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	var entries []treeEntry
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		meta, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if len(fields) == 3 && fields[1] == "blob" { // a submodule is a commit
			entries = append(entries, treeEntry{fields[0], fields[2], path})
		}
	}
	return entries, nil
}

// nextObject cuts the first object off what cat-file --batch printed.
func nextObject(out []byte) (content, rest []byte, err error) {
	head, rest, _ := bytes.Cut(out, []byte("\n"))
	fields := strings.Fields(string(head))
	if len(fields) != 3 || fields[1] != "blob" {
		return nil, nil, fmt.Errorf("git says %.100q", head)
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size < 0 || size >= len(rest) {
		return nil, nil, fmt.Errorf("git says %.100q", head)
	}
	return rest[:size], rest[size+1:], nil
}

const (
	modeLink = "120000"
	modeExec = "100755"
	modeFile = "100644"
)

func (e treeEntry) write(root *os.Root, content []byte) error {
	if err := root.MkdirAll(filepath.Dir(e.path), 0o700); err != nil {
		return err
	}
	if e.mode == modeLink {
		return root.Symlink(string(content), e.path)
	}
	perm := fs.FileMode(0o600)
	if e.mode == modeExec {
		perm = 0o700
	}
	return root.WriteFile(e.path, content, perm)
}

// Commit makes a commit in which the files of dir stand at the paths, and nothing where
// dir has nothing, and a new branch for it. Contents are stored byte for byte.
func (d *Draft) Commit(ctx context.Context, dir string, paths []string, branch, message string) (commit string, err error) {
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(d.v.dir, "draft")}
	if _, err := d.v.run(ctx, call{env: index}, "read-tree", d.v.head); err != nil {
		return "", err
	}
	lines, err := d.stage(ctx, dir, paths)
	if err != nil {
		return "", err
	}
	if _, err := d.v.run(ctx, call{env: index, input: lines}, "update-index", "-z", "--add", "--remove", "--replace", "--index-info"); err != nil {
		return "", err
	}
	tree, err := d.v.run(ctx, call{env: index}, "write-tree")
	if err != nil {
		return "", err
	}
	who, err := d.v.author(ctx)
	if err != nil {
		return "", err
	}
	out, err := d.v.run(ctx, call{env: who, input: []byte(message)}, "commit-tree", strings.TrimSpace(string(tree)), "-p", d.v.head)
	if err != nil {
		return "", err
	}
	commit = strings.TrimSpace(string(out))
	none := strings.Repeat("0", len(commit))
	_, err = runWith(ctx, call{dir: d.v.look, env: []string{"GIT_DIR=" + d.v.git}}, "update-ref", "-m", "hecate take", "refs/heads/"+branch, commit, none)
	return commit, err
}

// stage stores the files of dir and says where in the index they go.
func (d *Draft) stage(ctx context.Context, dir string, paths []string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var lines bytes.Buffer
	for _, path := range paths {
		mode, content, err := read(root, path)
		if err != nil {
			return nil, err
		}
		id := strings.Repeat("0", len(d.v.head))
		if mode != "0" {
			out, err := d.v.run(ctx, call{input: content}, "hash-object", "-w", "--stdin", "--no-filters")
			if err != nil {
				return nil, err
			}
			id = strings.TrimSpace(string(out))
		}
		fmt.Fprintf(&lines, "%s %s\t%s%s\x00", mode, id, d.v.prefix, path)
	}
	return lines.Bytes(), nil
}

// read returns what is at a path, in git's terms; mode 0 means nothing.
func read(root *os.Root, path string) (mode string, content []byte, err error) {
	info, err := root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "0", nil, nil
	case err != nil:
		return "", nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := root.Readlink(path)
		return modeLink, []byte(link), err
	case info.IsDir():
		return "0", nil, nil // it was a file in the last commit, and its files have lines of their own
	}
	mode = modeFile
	if info.Mode().Perm()&0o100 != 0 {
		mode = modeExec
	}
	content, err = root.ReadFile(path)
	return mode, content, err
}

// author is who commits: whom the repository names, or the user's own settings do.
func (v *view) author(ctx context.Context) ([]string, error) {
	settings, err := v.settings(ctx)
	if err != nil {
		return nil, err
	}
	name, email := settings["user.name"], settings["user.email"]
	if home, err := os.UserHomeDir(); err == nil && (name == "" || email == "") {
		own := call{dir: v.dir, env: []string{"GIT_CONFIG_GLOBAL=" + filepath.Join(home, ".gitconfig")}}
		ask := func(key, or string) string {
			out, err := runWith(ctx, own, "config", "--global", "--get", key)
			if text := strings.TrimSpace(string(out)); err == nil && text != "" {
				return text
			}
			return or
		}
		name, email = ask("user.name", name), ask("user.email", email)
	}
	if name == "" || email == "" {
		name, email = "Hecate", "hecate@localhost"
	}
	var env []string
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		env = append(env, "GIT_"+role+"_NAME="+name, "GIT_"+role+"_EMAIL="+email)
	}
	return env, nil
}
