package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/rootfs"
)

// entriesShownMax is how many entries list_dir shows. It looks at no more than
// entriesCountMax.
const entriesShownMax = 500

// listDir shows the model what is in one directory.
var listDir = tools.New(tools.Spec[listDirIn]{
	Name:    "list_dir",
	Summary: "List one directory of the workspace: kind, size and name of each entry, sorted by name.",
	Input:   func(in listDirIn) map[string]any { return map[string]any{"path": in.Path} },
	Line: func(in listDirIn) (string, bool) {
		return "list_dir path=" + tools.ShownName(in.Path), true
	},
	Facts:  func(at tools.Place, in listDirIn) permission.Facts { return at.Paths(in.Path) },
	Handle: runListDir,
})

type listDirIn struct {
	Path string `json:"path,omitempty" default:"." jsonschema:"directory, relative to the workspace"`
}

func runListDir(ctx context.Context, env *tools.Env, in listDirIn) tools.Result {
	rel, err := readable(env, in.Path)
	if err != nil {
		return refused(env, "%v", err)
	}
	f, info, err := rootfs.Open(env.Root, rel)
	if err != nil {
		return refused(env, "%s", about(in.Path, err))
	}
	defer f.Close()
	if !info.IsDir() {
		return refused(env, "%q is not a directory", in.Path)
	}
	entries, err := readEntries(ctx, f, entriesCountMax)
	switch {
	case ctx.Err() != nil:
		return tools.Cancelled(ctx, env.ToolName)
	case err != nil:
		return refused(env, "%s", about(in.Path, err))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "path=%s entries=%d", tools.ShownName(rel), len(entries))
	if len(entries) > entriesShownMax {
		fmt.Fprintf(&b, " truncated=%d", entriesShownMax)
	}
	for _, e := range entries[:min(len(entries), entriesShownMax)] {
		fmt.Fprintf(&b, "\n%-4s %10d  %s", kindOf(e.Type()), sizeOf(e), tools.ShownName(e.Name()))
	}
	r := done("list_dir "+tools.ShownName(rel), b.String())
	r.Output = map[string]any{"entry_count": len(entries)}
	return r
}

// readEntries reads a directory piece by piece, up to about limit entries, and sorts them
// by name.
func readEntries(ctx context.Context, dir *os.File, limit int) ([]fs.DirEntry, error) {
	var out []fs.DirEntry
	var err error
	for err == nil && len(out) <= limit && ctx.Err() == nil {
		var more []fs.DirEntry
		more, err = dir.ReadDir(entriesBatch)
		out = append(out, more...)
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out, err
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "dir"
	case m&fs.ModeSymlink != 0:
		return "link"
	}
	return "file"
}

// sizeOf is an entry's size, or zero if the entry has just gone.
func sizeOf(e fs.DirEntry) int64 {
	info, err := e.Info()
	if err != nil {
		return 0
	}
	return info.Size()
}
