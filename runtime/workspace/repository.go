package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hecate/tools/process"
)

// isRepository reports whether dir is the top of a git work tree with a .git
// directory of its own. A linked work tree or a folder deeper inside is copied as
// plain files instead, because its metadata stands elsewhere.
func isRepository(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil && info.IsDir()
}

// clone fetches a repository by address.
func clone(ctx context.Context, source, dst, branch string) error {
	args := []string{"clone", "--quiet"}
	if branch != "" {
		args = append(args, "--branch", branch)
	}
	_, err := git(ctx, filepath.Dir(dst), append(args, "--", source, dst)...)
	return err
}

// copyRepository clones a local repository and carries its uncommitted state over:
// staged, changed, deleted and untracked files, but not ignored ones. Objects are
// copied, not linked, so nothing done in the workspace can reach the source's. With
// a branch, that branch is checked out and uncommitted work stays behind. What lies in
// the directories of skip, which are paths below the source, is not carried over.
func copyRepository(ctx context.Context, src, dst, branch string, skip []string) error {
	if branch != "" {
		return clone(ctx, src, dst, branch)
	}
	if _, err := git(ctx, filepath.Dir(dst), "clone", "--quiet", "--local", "--no-hardlinks", "--no-checkout", "--", src, dst); err != nil {
		return err
	}
	head, err := os.ReadFile(filepath.Join(src, ".git", "HEAD"))
	if err != nil {
		return fmt.Errorf("read HEAD of the source: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dst, ".git", "HEAD"), head, 0o644); err != nil {
		return err
	}
	index := filepath.Join(src, ".git", "index")
	if err := copyFile(index, filepath.Join(dst, ".git", "index")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy the index: %w", err)
	}
	return copyWorkTree(ctx, src, dst, skip)
}

// copyWorkTree copies what git knows of, and what it would ask about, as it stands.
func copyWorkTree(ctx context.Context, src, dst string, skip []string) error {
	list, err := git(ctx, src, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range bytes.SplitSeq(list, []byte{0}) {
		if len(name) == 0 || slices.ContainsFunc(skip, func(dir string) bool { return lies(string(name), dir) }) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyListed(src, dst, string(name)); err != nil {
			return err
		}
	}
	return nil
}

// lies reports whether a path is a directory or in it.
func lies(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func copyListed(src, dst, name string) error {
	from, to := filepath.Join(src, name), filepath.Join(dst, name)
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted in the work tree, and so in the copy
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	// A directory here is a submodule: its place is kept, its files are not.
	return copyEntry(from, to, fs.FileInfoToDirEntry(info))
}

// git runs one git command without hooks, prompts or the machine's own configuration.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "safe.directory=*",
	}, args...)...)
	cmd.Dir = dir
	// Like a command of the agent it sees nothing of the server's environment, keys above all.
	cmd.Env = append(process.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
