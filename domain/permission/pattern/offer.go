package pattern

import (
	"path"
	"strings"
)

// Offer is the pattern that a person can give for more than one call like this: for
// exec the program with any arguments, for paths their directory and *, for all else
// exactly what the call says. There is none where no pattern can say it, and none for
// a fetch, which is remembered by its host.
// Source: permission text, "The answers".
func Offer(toolName string, f Facts) (Pattern, bool) {
	t, ok := lookup(toolName)
	if !ok {
		return Pattern{}, false
	}
	p := Pattern{tool: t.name, form: formCall, glob: f.Principal}
	switch t.kind {
	case kindProgram:
		if len(f.Argv) == 0 {
			return Pattern{}, false
		}
		p.form, p.program, p.glob = formArgs, f.Argv[0], "*"
	case kindPath:
		p.glob = offerPath(f.Paths)
	case kindBare:
		p.form = formBare
	case kindURL:
		return Pattern{}, false
	}
	// What cannot be written down, or read back as the same, is not offered.
	if again, err := Parse(p.String()); err != nil || again != p || !p.Covers(toolName, f) {
		return Pattern{}, false
	}
	return p, true
}

// offerPath is the directory that all paths share and *; with paths in several
// directories, all below what they have in common. "" if there is no such glob.
func offerPath(paths []Path) string {
	if len(paths) == 0 {
		return ""
	}
	dir := path.Dir(paths[0].Clean())
	same := true
	for _, x := range paths[1:] {
		for d := path.Dir(x.Clean()); d != dir && !strings.HasPrefix(d, dir+"/"); {
			if dir == "." || dir == "/" {
				return "" // all of the workspace is no offer
			}
			dir, same = path.Dir(dir), false
		}
		same = same && path.Dir(x.Clean()) == dir
	}
	switch {
	case strings.Contains(dir, "*"):
		return ""
	case len(paths) == 1 && paths[0].Clean() == ".":
		return "."
	case dir == "." && same:
		return "*"
	case dir == ".":
		return ""
	case same:
		return dir + "/*"
	}
	return dir + "/**"
}
