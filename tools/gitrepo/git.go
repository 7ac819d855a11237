// Package gitrepo looks at git repositories without running what they configure:
// no hooks, no monitors, no external diffs, no filters, nothing of the machine's
// or the user's own settings, and no lock that could disturb others. Git never sees the
// repository itself but a view of it (see view), which nobody can change underneath.
package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"hecate/tools/process"
)

// timeMax bounds one look at a repository.
const timeMax = 30 * time.Second

// outputTimeMax is how long the output of a command that has ended may take to be read: longer
// than a busy machine lets its reader wait, and not for ever if somebody holds it open.
const outputTimeMax = 10 * time.Second

// outputMax bounds what one git command may print, in bytes.
const outputMax = 32 << 20

// Errors that callers show as they are.
var (
	ErrTimedOut = errors.New("git command timed out")
	ErrFilters  = errors.New("the repository's attributes name content filters, which would have to run to look at it; git evidence is not available")
)

// safe switches off what a repository or a machine could make git run.
var safe = []string{
	"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
	"-c", "core.attributesFile=/dev/null", "-c", "core.excludesFile=", "-c", "core.quotePath=false", "-c", "core.pager=cat",
	"-c", "diff.external=", "-c", "submodule.recurse=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	// A server may run as another user than the owner; nothing of the repository runs, so that is no danger.
	"-c", "safe.directory=*",
	// Files of the workspace that look like a bare repository are no repository.
	"-c", "safe.bareRepository=explicit",
}

// call is how a git command is run.
type call struct {
	dir   string
	env   []string // beside what keeps it safe
	input []byte
	whole bool // output that is cut is an error
}

// runWith runs one reading git command.
func runWith(ctx context.Context, c call, args ...string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, timeMax)
	defer stop()
	cmd := exec.CommandContext(ctx, "git", append(append([]string{}, safe...), args...)...)
	cmd.Dir = c.dir
	cmd.Env = append(process.Environ(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C",
		// Missing content of a partial clone is not fetched; older gits know only the second way to say so.
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	cmd.Env = append(cmd.Env, c.env...)
	cmd.WaitDelay = outputTimeMax
	cmd.Stdin = bytes.NewReader(c.input)
	var out limited
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, ErrTimedOut
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("git %s: %w: %s", subcommand(args), err, firstLine(stderr.String()))
	case c.whole && out.over:
		return nil, fmt.Errorf("git %s: the repository is too large to look at: more than %d bytes of output", subcommand(args), outputMax)
	}
	return out.b.Bytes(), nil
}

func subcommand(args []string) string {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// limited keeps the first outputMax bytes and swallows the rest.
type limited struct {
	b    bytes.Buffer
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := max(outputMax-l.b.Len(), 0)
	l.b.Write(p[:min(room, len(p))])
	l.over = l.over || len(p) > room
	return len(p), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
