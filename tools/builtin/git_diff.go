package builtin

import (
	"context"
	"fmt"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/gitrepo"
	"hecate/tools/rootfs"
)

// gitDiff shows the model what has changed in the work tree, or what is staged.
var gitDiff = tools.New(tools.Spec[gitDiffIn]{
	Name:    "git_diff",
	Summary: "Show the unified diff of the workspace's git repository against its index, or of what is staged.",
	Input: func(in gitDiffIn) map[string]any {
		return map[string]any{"path": in.Path, "staged": in.Staged, "max_bytes": in.MaxBytes}
	},
	Line: func(in gitDiffIn) (string, bool) {
		return fmt.Sprintf("git_diff path=%s staged=%t", tools.ShownName(in.Path), in.Staged), true
	},
	Facts:  func(at tools.Place, in gitDiffIn) permission.Facts { return at.Paths(in.Path) },
	Handle: runGitDiff,
})

type gitDiffIn struct {
	Path     string `json:"path,omitempty" default:"." jsonschema:"file or directory, relative to the workspace"`
	Staged   bool   `json:"staged,omitempty" jsonschema:"show what is staged instead"`
	MaxBytes int    `json:"max_bytes,omitempty" minimum:"1" maximum:"1048576" default:"65536" jsonschema:"how many bytes of the diff to show at most"`
}

func runGitDiff(ctx context.Context, env *tools.Env, in gitDiffIn) tools.Result {
	rel, err := rootfs.Relative(in.Path)
	if err != nil {
		return refused(env, "%v", err)
	}
	diff, err := gitrepo.Diff(ctx, env.RootPath, rel, in.Staged)
	if err != nil {
		return gitRefused(ctx, env, err)
	}
	text := tools.Valid(tools.Cut(diff, in.MaxBytes))
	cut := len(diff) > in.MaxBytes
	r := done("git_diff", fmt.Sprintf("path=%s staged=%t bytes=%d truncated=%t\n%s", tools.ShownName(rel), in.Staged, len(text), cut, text))
	r.Output = map[string]any{"path": rel, "staged": in.Staged, "bytes": len(text), "truncated": cut}
	return r
}
