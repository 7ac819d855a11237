package builtin

import (
	"bytes"
	"context"
	"fmt"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/gitrepo"
	"hecate/tools/rootfs"
)

const (
	blameFileMax = 2 << 20  // bytes of a file that is looked at
	blameTextMax = 64 << 10 // bytes of the result
)

// blame shows the model which commit each line of a file comes from.
var blame = tools.New(tools.Spec[blameIn]{
	Name:    "blame",
	Summary: "Show for each line of a file, or for some of them, the commit that it comes from, with author and date.",
	Input: func(in blameIn) map[string]any {
		return map[string]any{"path": in.Path, "start_line": in.StartLine, "end_line": in.EndLine}
	},
	Line: func(in blameIn) (string, bool) {
		line := "blame path=" + tools.ShownName(in.Path)
		if in.span().ranged() {
			line += " lines=" + in.span().lines()
		}
		return line, true
	},
	Facts:  func(at tools.Place, in blameIn) permission.Facts { return at.Paths(in.Path) },
	Handle: runBlame,
})

type blameIn struct {
	Path      string `json:"path" jsonschema:"file, relative to the workspace"`
	StartLine int    `json:"start_line,omitempty" minimum:"1" jsonschema:"first line to show, counted from 1"`
	EndLine   int    `json:"end_line,omitempty" minimum:"1" jsonschema:"last line to show"`
}

func (in blameIn) span() readFileIn {
	return readFileIn{StartLine: in.StartLine, EndLine: in.EndLine}
}

func runBlame(ctx context.Context, env *tools.Env, in blameIn) tools.Result {
	rel, err := readable(env, in.Path)
	if err != nil {
		return refused(env, "%v", err)
	}
	f, err := rootfs.Load(env.Root, rel, blameFileMax)
	switch {
	case err != nil:
		return refused(env, "%s", about(in.Path, err))
	case !f.Exists:
		return refused(env, "%q: not found", in.Path)
	case bytes.IndexByte(f.Data, 0) >= 0:
		return refused(env, "%q is a binary file (%d bytes)", rel, len(f.Data))
	case in.EndLine > 0 && in.EndLine < in.StartLine:
		return refused(env, "end_line (%d) is before start_line (%d)", in.EndLine, in.StartLine)
	}
	lines := bytes.Count(f.Data, []byte("\n"))
	if len(f.Data) > 0 && f.Data[len(f.Data)-1] != '\n' {
		lines++
	}
	if in.StartLine > max(lines, 1) {
		return refused(env, "start_line (%d) is beyond file line count (%d)", in.StartLine, lines)
	}
	text, err := gitrepo.Blame(ctx, env.RootPath, rel, f.Data, in.StartLine, min(in.EndLine, lines))
	if err != nil {
		return gitRefused(ctx, env, err)
	}
	shown := tools.Valid(tools.Cut(text, blameTextMax))
	cut := len(text) > blameTextMax
	head := fmt.Sprintf("path=%s lines=%d bytes=%d", tools.ShownName(rel), lines, len(shown))
	if cut {
		head += " truncated=true"
		shown += "\n" + truncatedMark + "; ask for fewer lines with start_line and end_line"
	}
	r := done("blame "+tools.ShownName(rel), head+"\n--- lines ---\n"+shown)
	r.Output = map[string]any{"path": rel, "bytes": len(shown), "truncated": cut}
	return r
}
