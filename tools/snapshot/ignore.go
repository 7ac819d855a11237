package snapshot

import "strings"

const (
	ignoreBytesMax = 1 << 20 // a larger .gitignore counts as empty
	patternMax     = 1024    // bytes of one pattern; a longer one matches nothing
)

// rule is one line of a .gitignore file.
type rule struct {
	negate   bool     // it includes again
	dirOnly  bool     // it is about directories
	name     string   // a pattern for the name alone, if path is nil
	path     []string // a pattern for the path from the file's directory on
	plain    string   // what the name or the path has to be, if there is no wildcard in it
	suffix   string   // what the name has to end in, if the pattern is a star and this
	wildcard bool     // neither of these two
}

// ignores are the rules of one .gitignore file and of those in the directories above.
// The nil value has none.
type ignores struct {
	above *ignores
	dir   string // of the file, "" or with a slash at its end
	rules []rule
}

// match reports whether the path, which lies in the directory of the nearest rules or
// deeper, is ignored. What decides is the last rule that matches in the nearest file
// that has one. That a directory above is ignored is for the caller to know.
func (g *ignores) match(path string, isDir bool) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	for ; g != nil; g = g.above {
		rel := path[len(g.dir):]
		for i := len(g.rules) - 1; i >= 0; i-- {
			if r := &g.rules[i]; r.match(rel, name, isDir) {
				return !r.negate
			}
		}
	}
	return false
}

func (r *rule) match(rel, name string, isDir bool) bool {
	switch {
	case r.dirOnly && !isDir:
		return false
	case r.suffix != "":
		return strings.HasSuffix(name, r.suffix)
	case r.path == nil && r.wildcard:
		return glob(r.name, name)
	case r.path == nil:
		return r.plain == name
	case r.wildcard:
		if last := r.path[len(r.path)-1]; last != "**" && !glob(last, name) { // most paths end here
			return false
		}
		return segments(r.path, strings.Split(rel, "/"))
	}
	return r.plain == rel
}

// parseIgnore reads a .gitignore file. Every file is one.
func parseIgnore(data []byte) []rule {
	var out []rule
	for line := range strings.SplitSeq(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || line[0] == '#' || len(line) > patternMax {
			continue
		}
		if r, ok := parseRule(trimBlanks(line)); ok {
			out = append(out, r)
		}
	}
	return out
}

// trimBlanks cuts off the blanks at the end, except those with a backslash before them.
func trimBlanks(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

func parseRule(p string) (rule, bool) {
	var r rule
	p, r.negate = strings.CutPrefix(p, "!")
	p, r.dirOnly = strings.CutSuffix(p, "/")
	if p == "" {
		return r, false
	}
	anchored := strings.Contains(p, "/")
	p = strings.TrimPrefix(p, "/")
	r.wildcard = strings.ContainsAny(p, `*?[\`)
	switch {
	case !anchored && strings.HasPrefix(p, "*") && len(p) > 1 && !strings.ContainsAny(p[1:], `*?[\`):
		r.suffix, r.wildcard = p[1:], false
	case !anchored:
		r.name, r.plain = p, p
	default:
		r.path, r.plain = splitPattern(p), p
	}
	return r, true
}

// splitPattern takes a pattern apart at its slashes. Stars that are a whole component
// are **, and one at the end wants something below. A slash in a set matches nothing.
func splitPattern(p string) []string {
	parts := strings.Split(strings.ReplaceAll(p, `\/`, "/"), "/")
	for i, part := range parts {
		if len(part) > 1 && strings.Trim(part, "*") == "" {
			parts[i] = "**"
		}
	}
	if parts[len(parts)-1] == "**" {
		parts = append(parts, "*")
	}
	return parts
}
