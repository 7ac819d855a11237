package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/rootfs"
)

// entriesCountMax is how many entries of a directory are counted.
const entriesCountMax = 100_000

// stat shows the model what one path is, without looking into it.
var stat = tools.New(tools.Spec[statIn]{
	Name: "stat",
	Summary: "Show what one path of the workspace is: its type, size, mode and time of last change, where a link points to, " +
		"how many entries a directory has.",
	Input:  func(in statIn) map[string]any { return map[string]any{"path": in.Path} },
	Line:   func(in statIn) (string, bool) { return "stat path=" + tools.ShownName(in.Path), true },
	Facts:  statFacts,
	Handle: runStat,
})

type statIn struct {
	Path string `json:"path,omitempty" default:"." jsonschema:"file, directory or link, relative to the workspace"`
}

// statFacts are about the link itself where the path names one: it is not followed.
func statFacts(at tools.Place, in statIn) permission.Facts {
	f := at.Paths(in.Path)
	if at.Root == nil {
		return f
	}
	p := &f.Paths[0]
	name := path.Clean(p.Name)
	if info, err := at.Root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		p.Resolved = path.Join(rootfs.Lead(at.Root, at.Path, path.Dir(name)), path.Base(name))
	}
	return f
}

func runStat(ctx context.Context, env *tools.Env, in statIn) tools.Result {
	rel, err := rootfs.Relative(in.Path)
	if err == nil && rel != "." {
		err = rootfs.NoLinks(env.Root, path.Dir(rel))
	}
	if err != nil {
		return refused(env, "%v", err)
	}
	info, err := env.Root.Lstat(rel)
	if err != nil {
		return refused(env, "%s", about(in.Path, err))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "path=%s type=%s size=%d mode=%s modified=%s",
		tools.ShownName(rel), typeOf(info.Mode()), info.Size(), info.Mode(), info.ModTime().UTC().Format(time.RFC3339))
	switch {
	case info.IsDir():
		n, whole, err := countEntries(ctx, env, rel)
		switch {
		case ctx.Err() != nil:
			return tools.Cancelled(ctx, env.ToolName)
		case err != nil:
			fmt.Fprintf(&b, " entries=unknown (%s)", rootfs.Cause(err))
		case !whole:
			fmt.Fprintf(&b, " entries=%d truncated=true", n)
		default:
			fmt.Fprintf(&b, " entries=%d", n)
		}
	case info.Mode()&fs.ModeSymlink != 0:
		b.WriteString(linkOf(env, rel))
	}
	r := done("stat "+tools.ShownName(rel), b.String())
	r.Output = map[string]any{"path": rel, "type": typeOf(info.Mode()), "size": info.Size()}
	return r
}

func typeOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "link"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// linkOf says where a link points to and whether that lies in the workspace.
func linkOf(env *tools.Env, rel string) string {
	target, err := env.Root.Readlink(rel)
	if err != nil {
		return " target=unknown"
	}
	to := rootfs.Lead(env.Root, env.RootPath, rel)
	where := "inside"
	if path.IsAbs(to) || to == ".." || strings.HasPrefix(to, "../") {
		return fmt.Sprintf(" target=%s leads=outside", tools.ShownName(target))
	}
	if _, err := env.Root.Lstat(to); errors.Is(err, fs.ErrNotExist) {
		where = "inside exists=false"
	}
	return fmt.Sprintf(" target=%s leads=%s to=%s", tools.ShownName(target), where, tools.ShownName(to))
}

// countEntries counts what is in a directory, up to a limit.
func countEntries(ctx context.Context, env *tools.Env, rel string) (n int, whole bool, err error) {
	f, err := env.Root.OpenFile(rel, os.O_RDONLY, 0)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	for n < entriesCountMax && ctx.Err() == nil {
		names, err := f.Readdirnames(1024)
		n += len(names)
		if errors.Is(err, io.EOF) {
			return n, true, nil
		} else if err != nil {
			return n, false, err
		}
	}
	return n, false, ctx.Err()
}
