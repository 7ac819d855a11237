package builtin

import (
	"context"
	"fmt"
	"strings"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/gitrepo"
)

// statusEntriesMax is how many entries git_status shows.
const statusEntriesMax = 500

// gitStatus shows the model which files of the work tree have changed.
var gitStatus = tools.New(tools.Spec[gitStatusIn]{
	Name:    "git_status",
	Summary: "Show the branch and the changed and untracked files of the workspace's git repository.",
	Line:    func(gitStatusIn) (string, bool) { return "git_status", true },
	Facts:   func(at tools.Place, _ gitStatusIn) permission.Facts { return at.Paths(".") },
	Handle:  runGitStatus,
})

type gitStatusIn struct{}

func runGitStatus(ctx context.Context, env *tools.Env, _ gitStatusIn) tools.Result {
	st, err := gitrepo.ReadStatus(ctx, env.RootPath)
	if err != nil {
		return gitRefused(ctx, env, err)
	}
	branch := st.Branch
	if st.Detached {
		branch = "(detached)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "branch=%s entries=%d truncated=%t", tools.ShownName(branch), len(st.Entries), len(st.Entries) > statusEntriesMax)
	if st.Unborn {
		b.WriteString("\nno commits yet")
	}
	for _, e := range st.Entries[:min(len(st.Entries), statusEntriesMax)] {
		b.WriteString("\n" + e.Line())
	}
	r := done("git_status", b.String())
	r.Output = map[string]any{"branch": branch, "entries": len(st.Entries), "truncated": len(st.Entries) > statusEntriesMax}
	return r
}

func gitRefused(ctx context.Context, env *tools.Env, err error) tools.Result {
	if ctx.Err() != nil {
		return tools.Cancelled(ctx, env.ToolName)
	}
	return refused(env, "%v", err)
}
