package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"hecate/domain/permission"
	"hecate/domain/permission/command"
	"hecate/tools/rootfs"
	"hecate/tools/terminal"
)

// Place is where a call would act. The zero Place is not known yet: links are not
// followed, programs and hosts not looked up.
type Place struct {
	Root *os.Root // nil: not open
	Path string   // absolute
	// Offline keeps hosts from being looked up: the question alone would reach whoever
	// runs them.
	Offline bool
	// Terminals are those of the run; nil: not known.
	Terminals *terminal.Run
}

// foldCase reports whether file systems here take FILE and file for the same, as far
// as is usual for the system.
const foldCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// Paths are the facts of a call that names files or directories. An empty name is the
// workspace itself.
func (at Place) Paths(names ...string) permission.Facts {
	f := permission.Facts{FoldCase: foldCase}
	for _, name := range names {
		p := permission.Path{Name: rootfs.Named(at.Path, name)}
		if at.Root != nil {
			p.Resolved = rootfs.Lead(at.Root, at.Path, p.Name)
		}
		f.Paths = append(f.Paths, p)
	}
	return f
}

// Command are the facts of a call that runs a shell command in dir, relative to the
// workspace. principal is what the model wrote, script what the shell is given.
func (at Place) Command(principal, script, dir string, parse command.Parse) permission.Facts {
	f := permission.Facts{Principal: principal, Dir: at.dir(dir), FoldCase: foldCase}
	commands, read := parse(script)
	var whole bool
	f.Programs, whole = command.Programs(commands, parse)
	f.Opaque = !read || !whole
	at.resolve(f.Programs, dir)
	return f
}

// Exec are the facts of a call that runs one program in dir, without a shell.
func (at Place) Exec(argv []string, dir string, parse command.Parse) permission.Facts {
	f := permission.Facts{Argv: argv, Dir: at.dir(dir), FoldCase: foldCase}
	var whole bool
	f.Programs, whole = command.Programs([]command.Program{{Argv: argv}}, parse)
	f.Opaque = !whole
	at.resolve(f.Programs, dir)
	if len(f.Programs) > 0 {
		f.Resolved = f.Programs[0].Resolved
	}
	return f
}

// dir is where a command begins, relative to the workspace; "" for the workspace itself.
func (at Place) dir(name string) string {
	if filepath.IsAbs(name) && at.Path != "" {
		if rel, err := filepath.Rel(at.Path, name); err == nil {
			name = rel
		}
	}
	if name = filepath.ToSlash(filepath.Clean(name)); name == "." {
		return ""
	}
	return name
}

// resolve finds the files of programs that are started in dir.
func (at Place) resolve(programs []command.Program, dir string) {
	if at.Path == "" {
		return
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(at.Path, dir)
	}
	files := map[string]string{}
	for i, p := range programs {
		name := p.Argv[0]
		if _, known := files[name]; !known {
			files[name] = programFile(dir, name)
		}
		programs[i].Resolved = files[name]
	}
}

// programFile is the file that a program's name leads to, links followed; "" if there
// is none, or it cannot be known. A name is looked up in this process's PATH, which a
// login shell may replace.
func programFile(dir, name string) string {
	if name == "" || strings.Contains(name, command.Unknown) {
		return ""
	}
	file := name
	switch {
	case !strings.Contains(name, "/"):
		var err error
		if file, err = exec.LookPath(name); err != nil {
			return ""
		}
	case !filepath.IsAbs(name):
		file = filepath.Join(dir, name)
	}
	if !filepath.IsAbs(file) {
		return ""
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return real
	}
	return ""
}
