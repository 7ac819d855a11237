package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Errors of Blame that callers show as they are.
var (
	ErrUnborn    = errors.New("the repository has no commits yet")
	ErrUntracked = errors.New("the file is not in the last commit, so nobody is to be named for its lines")
)

// Blame says of each line of a file which commit it comes from, by whom and when. path
// is relative to dir, content what the file holds: git does not look at the file
// itself. Lines count from 1; with last 0 they go to the end, with first 0 they begin
// there.
//
// It reads the repository's objects and none of its configuration, which could name
// programs, and files elsewhere whose contents would stand in error messages.
func Blame(ctx context.Context, dir, path string, content []byte, first, last int) (string, error) {
	repo, err := locate(ctx, dir)
	if err != nil {
		return "", err
	}
	view, err := os.MkdirTemp("", "hecate-blame-")
	if err != nil {
		return "", fmt.Errorf("make a view of the repository: %w", err)
	}
	defer os.RemoveAll(view)
	if err := repo.view(view); err != nil {
		return "", fmt.Errorf("make a view of the repository: %w", err)
	}
	args := []string{"blame", "--no-textconv", "--no-progress", "--date=short", "--abbrev=10"}
	if first > 0 || last > 0 {
		span := fmt.Sprintf("%d,", max(first, 1))
		if last > 0 {
			span += fmt.Sprint(last)
		}
		args = append(args, "-L", span)
	}
	env := []string{"GIT_DIR=" + view, "GIT_OBJECT_DIRECTORY=" + repo.objects}
	if _, err := os.Stat(repo.shallow); err == nil {
		env = append(env, "GIT_SHALLOW_FILE="+repo.shallow)
	}
	out, err := runWith(ctx, call{dir: dir, env: env, input: content}, append(args, "--contents", "-", "--", repo.prefix+path)...)
	if err != nil && strings.Contains(err.Error(), "no such path") {
		err = ErrUntracked
	}
	return string(out), err
}

// location is where a repository keeps what blame needs.
type location struct {
	format, prefix   string // of object names; of dir below the work tree
	objects, shallow string // absolute paths
	head             string // the last commit
}

func locate(ctx context.Context, dir string) (location, error) {
	out, err := run(ctx, dir, "rev-parse", "--show-object-format", "--path-format=absolute", "--git-path", "objects", "--git-path", "shallow", "--show-prefix")
	if err != nil {
		return location{}, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) == 3 { // no prefix, and some gits print no line for that
		lines = append(lines, "")
	}
	if len(lines) != 4 {
		return location{}, errors.New("the repository's path holds a line break")
	}
	l := location{format: lines[0], objects: lines[1], shallow: lines[2], prefix: lines[3]}
	head, err := run(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if errors.As(err, new(*exec.ExitError)) {
		err = ErrUnborn
	}
	l.head = strings.TrimSpace(string(head))
	return l, err
}

// view makes an empty directory a repository at the last commit, with no configuration
// but the form of object names.
func (l location) view(dir string) error {
	config := "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = " + l.format + "\n"
	return errors.Join(
		os.Mkdir(filepath.Join(dir, "refs"), 0o700), os.Mkdir(filepath.Join(dir, "objects"), 0o700),
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte(l.head+"\n"), 0o600), os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600),
	)
}
