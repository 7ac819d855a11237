package gitrepo

import (
	"context"
	"regexp"
	"strings"

	"hecate/tools"
)

// Entry is one changed or unknown path. Paths are exactly those of the files.
type Entry struct {
	Code string // two letters as git status --porcelain gives them
	Path string
	From string // the old path of a rename or copy
}

// Status is where a work tree stands.
type Status struct {
	Branch   string // "" for a detached head
	Unborn   bool   // no commit yet
	Entries  []Entry
	Detached bool
}

// ReadStatus reads the state of the work tree that dir stands in, below dir.
func ReadStatus(ctx context.Context, dir string) (Status, error) {
	v, err := open(ctx, dir)
	if err != nil {
		return Status{}, err
	}
	defer v.close()
	return v.status(ctx)
}

// Files lists the paths that git knows of below dir and those that it would ask about,
// which leaves out what is ignored. A repository that stands in it is one path, with a
// slash at its end.
func Files(ctx context.Context, dir string) ([]string, error) {
	v, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer v.close()
	out, err := v.run(ctx, call{whole: true}, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", ".")
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

func (v *view) status(ctx context.Context) (Status, error) {
	if err := v.checkFilters(ctx, "."); err != nil {
		return Status{}, err
	}
	out, err := v.run(ctx, call{whole: true}, "status", "--porcelain=v1", "-z", "--branch", "--untracked-files=all", "--ignore-submodules=all", "--no-ahead-behind", "--", ".")
	if err != nil {
		return Status{}, err
	}
	s := parseStatus(string(out))
	for i := range s.Entries { // paths count from the top of the work tree
		e := &s.Entries[i]
		e.Path, e.From = below(v.prefix, e.Path), below(v.prefix, e.From)
	}
	return s, nil
}

// below cuts prefix, which is empty or ends in a slash, off a path. What lies
// elsewhere, such as the old place of a file that was moved in, gets ../ in front.
func below(prefix, path string) string {
	up := ""
	for path != "" && prefix != "" {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			return up + rest
		}
		up += "../"
		prefix = prefix[:strings.LastIndexByte(prefix[:len(prefix)-1], '/')+1]
	}
	return up + path
}

// entry is how an entry of porcelain begins.
var entry = regexp.MustCompile(`^[ MTADRCU?!]{2} (?s:.)`)

// parseStatus reads NUL-separated porcelain, in which no name is quoted.
func parseStatus(out string) Status {
	var s Status
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		if head, ok := strings.CutPrefix(f, "## "); ok && i == 0 {
			s.readHead(head)
			continue
		}
		if !entry.MatchString(f) {
			continue
		}
		e := Entry{Code: f[:2], Path: f[3:]}
		if (e.Code[0] == 'R' || e.Code[0] == 'C' || e.Code[1] == 'R' || e.Code[1] == 'C') && i+1 < len(fields) {
			i++
			e.From = fields[i]
		}
		s.Entries = append(s.Entries, e)
	}
	return s
}

func (s *Status) readHead(head string) {
	if name, ok := strings.CutPrefix(head, "No commits yet on "); ok {
		s.Branch, s.Unborn = name, true
		return
	}
	if strings.HasPrefix(head, "HEAD (no branch)") {
		s.Detached = true
		return
	}
	s.Branch, _, _ = strings.Cut(head, "...")
}

// Line is the entry as one line of text: a name that could be taken for the text
// around it stands as a JSON string.
func (e Entry) Line() string {
	if e.From == "" {
		return e.Code + " " + shown(e.Path)
	}
	return e.Code + " " + shown(e.From) + " -> " + shown(e.Path)
}

func shown(path string) string {
	if strings.Contains(path, " -> ") {
		return tools.Quoted(path)
	}
	return tools.ShownName(path)
}
