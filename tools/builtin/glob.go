package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"sort"

	"hecate/domain/permission"
	"hecate/tools"
)

// glob shows the model which paths match a pattern.
var glob = tools.New(tools.Spec[globIn]{
	Name:    "glob",
	Summary: "Find files and directories of the workspace by a glob pattern such as **/*.go, which is tried on the path and on the name alone.",
	Input:   func(in globIn) map[string]any { return map[string]any{"pattern": in.Pattern, "path": in.Path} },
	Line: func(in globIn) (string, bool) {
		return fmt.Sprintf("glob pattern=%s path=%s", tools.Quoted(in.Pattern), tools.ShownName(in.Path)), true
	},
	Facts:  func(at tools.Place, in globIn) permission.Facts { return at.Paths(in.Path) },
	Handle: runGlob,
})

type globIn struct {
	Pattern    string `json:"pattern" jsonschema:"glob pattern, at most 4096 bytes; ** crosses directories"`
	Path       string `json:"path,omitempty" default:"." jsonschema:"directory to look in, relative to the workspace"`
	MaxMatches int    `json:"max_matches,omitempty" default:"200" minimum:"1" maximum:"1000" jsonschema:"how many paths to show at most"`
}

func runGlob(ctx context.Context, env *tools.Env, in globIn) tools.Result {
	m, err := compileGlob(in.Pattern)
	if err != nil || in.Pattern == "" {
		return refused(env, "invalid pattern")
	}
	start, info, err := startOf(env, in.Path)
	if err != nil {
		return refused(env, "%v", err)
	}
	if !info.IsDir() {
		return refused(env, "%q is not a directory", in.Path)
	}
	s := newSearch(in.Pattern, in.MaxMatches)
	s.walk(ctx, env, start, func(name string, d fs.DirEntry) bool {
		if !s.worked(len(name)) {
			return false
		}
		if !globs(m, start, name) {
			return true
		}
		if env.Denied != nil && env.Denied(name) {
			s.skipped[skipDenied]++
			return true
		}
		if d.IsDir() {
			name += "/"
		}
		return s.match(tools.ShownName(name))
	})
	sort.Strings(s.found)
	return s.end(ctx, env, false)
}
