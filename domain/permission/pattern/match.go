package pattern

import (
	"slices"
	"strings"

	"hecate/domain/permission/command"
	"hecate/domain/permission/host"
)

// Covers reports whether p, in a list that approves, is about the call: the program
// as written, the command character for character, all paths. A fetch is covered by
// its host, never by a pattern over its URL.
func (p Pattern) Covers(toolName string, f Facts) bool {
	t, ok := lookup(toolName)
	if !ok || t.name != p.tool {
		return false
	}
	switch {
	case p.form == formBare:
		return true
	case t.kind == kindProgram:
		return p.form == formArgs && len(f.Argv) > 0 && p.program == f.Argv[0] && !f.moved() && p.coversArguments(f.Argv[1:])
	case t.name == toolRequest && !f.Plain, t.name == toolInput:
		return false // the same input can mean anything to another program
	case t.kind == kindCommand:
		return p.glob == f.Principal && f.Dir == ""
	case t.kind == kindText:
		return p.glob == f.Principal
	case t.kind == kindPath:
		return len(f.Paths) > 0 && !slices.ContainsFunc(f.Paths, func(x Path) bool { return !p.coversPath(x, f.FoldCase) })
	}
	return false
}

// moved reports whether the program is named by a path that leads elsewhere than from
// the workspace root.
func (f Facts) moved() bool {
	return f.Dir != "" && strings.Contains(f.Argv[0], "/") && !strings.HasPrefix(f.Argv[0], "/")
}

func (p Pattern) coversArguments(args []string) bool {
	// An argument with a NUL could pass for two.
	return !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, boundary) }) && arguments(p.glob, args)
}

// coversPath leaves the root itself to patterns that name it: a wildcard is about
// what lies below.
func (p Pattern) coversPath(x Path, foldCase bool) bool {
	name, glob := x.Clean(), p.glob
	if foldCase {
		name, glob = fold(name), fold(glob)
	}
	switch {
	case x.Outside(), strings.Contains(name, boundary):
		return false
	case name == ".":
		return glob == "."
	}
	return anyPath(glob, name)
}

// Reaches reports whether p, in a list that denies, is about the call. It looks at
// more than Covers: a program's base name and the file it leads to, programs inside
// wrappers and parsed commands, paths with links followed, every spelling of a URL,
// all editing tools for one of them.
func (p Pattern) Reaches(toolName string, f Facts) bool {
	t, ok := lookup(toolName)
	switch {
	case !ok || p.form == 0:
		return false
	case p.tool == toolExec && p.form != formBare:
		programs, _ := f.programs(t)
		return slices.ContainsFunc(programs, func(x command.Program) bool { return p.reachesProgram(x, f.FoldCase) })
	case !p.sharesDeny(t.name):
		return false
	case p.form == formBare:
		return true
	case t.kind == kindCommand:
		return p.glob == f.Principal
	case t.kind == kindPath:
		return slices.ContainsFunc(f.Paths, func(x Path) bool { return p.reachesPath(x, f.FoldCase) })
	case t.kind == kindText, t.kind == kindURL: // the text of http_request is a URL
		return p.reachesURL(f)
	}
	return false
}

// sharesDeny reports whether a deny on p's tool counts for another one: for every tool
// that edits, and of view for blame and stat, which show what it would in part.
func (p Pattern) sharesDeny(name string) bool {
	return name == p.tool ||
		slices.Contains(editing, p.tool) && slices.Contains(editing, name) ||
		p.tool == toolView && (name == toolBlame || name == toolStat)
}

// programs lists what a call starts; whole is false if there may be more.
func (f Facts) programs(t tool) (all []command.Program, whole bool) {
	all, whole = f.Programs, !f.Opaque
	switch {
	case t.kind == kindProgram && len(f.Argv) == 0:
		whole = false
	case t.kind == kindProgram:
		self := command.Program{Argv: f.Argv, Resolved: f.Resolved}
		if f.Programs == nil {
			found, read := command.Programs([]command.Program{self}, nil)
			return found, whole && read
		}
		return append([]command.Program{self}, all...), whole
	case t.kind == kindCommand && len(all) == 0:
		whole = false // nobody has looked
	}
	return all, whole
}

// reachesProgram compares the program as written, its base name, and the file that it
// leads to.
func (p Pattern) reachesProgram(x command.Program, foldCase bool) bool {
	return p.namesProgram(x, foldCase) && (p.form == formProgram || arguments(p.glob, x.Argv[1:]))
}

func (p Pattern) namesProgram(x command.Program, foldCase bool) bool {
	if len(x.Argv) == 0 {
		return false
	}
	want := p.program
	for _, name := range []string{x.Argv[0], base(x.Argv[0]), x.Resolved, base(x.Resolved)} {
		if foldCase {
			name, want = fold(name), fold(want)
		}
		if name == want {
			return true
		}
	}
	return false
}

func base(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }

// Unclear reports whether a deny cannot be judged: the call may start a program, or
// give one arguments, that nobody could read, or what p is compared with is missing.
func (p Pattern) Unclear(toolName string, f Facts) bool {
	t, ok := lookup(toolName)
	switch {
	case !ok || p.form == 0 || p.form == formBare:
		return false
	case p.tool == toolExec:
		programs, whole := f.programs(t)
		return !whole || slices.ContainsFunc(programs, func(x command.Program) bool { return p.unclearAbout(x, f.FoldCase) })
	case !p.sharesDeny(t.name):
		return false
	case t.kind == kindPath:
		return len(f.Paths) == 0
	}
	return f.Principal == ""
}

// unclearAbout reports whether the program is p's and its arguments are not all known.
func (p Pattern) unclearAbout(x command.Program, foldCase bool) bool {
	return p.namesProgram(x, foldCase) && slices.ContainsFunc(x.Argv[1:], func(a string) bool { return strings.Contains(a, command.Unknown) })
}

// reachesPath looks at the cleaned path and at the one with links followed. dir/**
// reaches the directory too: its names are what is to be kept back.
func (p Pattern) reachesPath(x Path, foldCase bool) bool {
	if max(len(x.Name), len(x.Resolved)) > pathMax {
		return true // no tool gets that far
	}
	return slices.ContainsFunc(x.Places(), func(name string) bool {
		glob := p.glob
		if foldCase {
			name, glob = fold(name), fold(glob)
		}
		dir, below := strings.CutSuffix(glob, "/**")
		return anyPath(glob, name) || below && anyPath(dir, name)
	})
}

func (p Pattern) reachesURL(f Facts) bool {
	u, err := host.ParseURL(f.Principal, f.ASCIIHost)
	if err != nil {
		return anyText(p.glob, f.Principal)
	}
	return slices.ContainsFunc(u.Spellings(), func(s string) bool { return anyText(p.glob, s) })
}
