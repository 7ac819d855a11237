package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"hecate/tools/gitrepo"
	"hecate/tools/process"
)

// listed names what git knows of in the work tree at src, and what it would ask about:
// nothing that is ignored. It reads meta, a copy of the repository's metadata that configures no programs.
func listed(ctx context.Context, meta, src string) ([]byte, error) {
	return git(ctx, src, []string{"GIT_DIR=" + meta, "GIT_WORK_TREE=" + src}, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
}

// checkOut makes dst a repository with all that the one at src remembers, and with the
// files of a branch, tag or commit of it. Uncommitted work stays behind.
func checkOut(ctx context.Context, src, dst, ref string) error {
	repo, err := gitrepo.At(ctx, src)
	if err != nil {
		return fmt.Errorf("base_branch %q: %s: %w", ref, src, err)
	}
	meta := filepath.Join(dst, ".git")
	if err := repo.CopyTo(ctx, meta, false); err != nil {
		return fmt.Errorf("copy the repository %s: %w", src, err)
	}
	env := []string{"GIT_DIR=" + meta, "GIT_WORK_TREE=" + dst}
	ask := func(args ...string) (string, bool) {
		out, err := git(ctx, dst, env, args...)
		return strings.TrimSpace(string(out)), err == nil
	}
	exact := []string{"show-ref", "--verify", "--hash", "--"}
	commit, branch := ask(append(exact, "refs/heads/"+ref)...)
	if !branch {
		if commit, branch = ask(append(exact, "refs/remotes/origin/"+ref)...); branch {
			if _, err := git(ctx, dst, env, "update-ref", "refs/heads/"+ref, commit); err != nil {
				return err
			}
		}
	}
	head := []string{"symbolic-ref", "HEAD", "refs/heads/" + ref}
	if !branch {
		var known bool
		if commit, known = ask("rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}"); !known {
			return fmt.Errorf("base_branch: %s has no branch, tag or commit %q", src, ref)
		}
		head = []string{"update-ref", "--no-deref", "HEAD", commit}
	}
	if _, err := git(ctx, dst, env, head...); err != nil {
		return err
	}
	_, err = git(ctx, dst, env, "read-tree", "--reset", "-u", commit)
	return err
}

// clone fetches a repository by address. What its address tells about who fetches it
// does not stay in the copy.
func clone(ctx context.Context, source, dst, branch string) error {
	args := []string{"clone", "--quiet", "--template="}
	if branch != "" {
		args = append(args, "--branch", branch)
	}
	_, err := git(ctx, filepath.Dir(dst), []string{"GIT_ALLOW_PROTOCOL=http:https:ssh:git"}, append(args, "--", source, dst)...)
	if err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), source, shown(source)))
	}
	_, err = git(ctx, dst, nil, "remote", "set-url", "origin", shown(source))
	return err
}

// shown is an address without user name and password.
func shown(source string) string {
	u, err := url.Parse(source)
	if err != nil || u.Scheme == "" || u.Scheme == "ssh" || u.User == nil {
		return source
	}
	u.User = nil
	return u.String()
}

// scpLike is host:path or user@host:path.
var scpLike = regexp.MustCompile(`^([^/:@]+@)?[^/:@]+:`)

// fetched reports whether a source is fetched, as opposed to a directory of this machine.
func fetched(source string) bool {
	if _, err := os.Stat(source); err == nil {
		return false
	}
	return strings.Contains(source, "://") || scpLike.MatchString(source)
}

// git runs one git command without hooks, prompts or the machine's own configuration.
func git(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null", "-c", "core.excludesFile=",
		"-c", "safe.directory=*", "-c", "protocol.ext.allow=never",
	}, args...)...)
	cmd.Dir = dir
	// Like a command of the agent it sees nothing of the server's environment, keys above all.
	cmd.Env = append(process.Environ(),
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	cmd.Env = append(cmd.Env, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
