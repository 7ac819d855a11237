package pattern

import (
	"net/netip"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"hecate/domain/permission/command"
)

// Facts are what one call would touch, as its tool reads the arguments. Tools hand in
// what takes a look at the world (what a link leads to, where a program lies, what a
// script holds); the rest follows here. What is missing is covered by no grant, and
// asks where a deny could be about it.
type Facts struct {
	// Principal is the text that patterns match, exactly as the model wrote it: the
	// command of shell, the URL of web_fetch, the job, the setting, the query.
	Principal string `json:"principal,omitempty"`

	// Argv is the program of exec, as written, and its arguments.
	Argv []string `json:"argv,omitempty"`
	// Resolved is the file that Argv[0] leads to, absolute, links followed.
	Resolved string `json:"resolved,omitempty"`
	// Env is what exec sets for the child. Values never leave the decision.
	Env map[string]string `json:"-"`
	// Dir is where a command begins, relative to the workspace root and cleaned; "" for
	// the root. A grant for a command, or for a program named by a relative path, is about the root.
	Dir string `json:"dir,omitempty"`
	// Programs are all programs that the call starts (command.Programs). Left out for
	// exec, they are found in Argv, where a script then counts as not read.
	Programs []command.Program `json:"programs,omitempty"`
	// Opaque: there may be programs that are not in Programs, because some text could
	// not be parsed or only running it would tell.
	Opaque bool `json:"opaque,omitempty"`

	// Paths are all that the call names; a tool that looks at the whole workspace names ".".
	Paths []Path `json:"paths,omitempty"`
	// FoldCase: the file system finds names in other case too.
	FoldCase bool `json:"fold_case,omitempty"`

	// Plain: a request of http_request only reads, over https, with no headers and no
	// body of the model's choosing. A grant for its URL covers no other.
	Plain bool `json:"plain,omitempty"`
	// ASCIIHost is the IDNA form of the URL's host if that is not ASCII.
	ASCIIHost string `json:"ascii_host,omitempty"`
	// Addrs are the addresses that the URL's host leads to, if they were looked up.
	Addrs []netip.Addr `json:"addrs,omitempty"`
}

// Path is one file or directory that a call is about.
type Path struct {
	Name     string `json:"name"`               // relative to the workspace root, as the model wrote it
	Resolved string `json:"resolved,omitempty"` // the same with links followed; absolute or with .. if it leaves the root
}

// Clean is the name without detours; "." is the root.
func (p Path) Clean() string { return clean(p.Name) }

// pathMax is the longest name, in bytes, that is taken for one of a workspace.
const pathMax = 32 << 10

// Outside reports whether the path, or what it leads to, is not below the workspace
// root, or too long to be there.
func (p Path) Outside() bool {
	return max(len(p.Name), len(p.Resolved)) > pathMax || outside(p.Clean()) || p.Resolved != "" && outside(clean(p.Resolved))
}

// Places are the cleaned paths that a deny looks at.
func (p Path) Places() []string {
	if r := clean(p.Resolved); p.Resolved != "" && r != p.Clean() {
		return []string{p.Clean(), r}
	}
	return []string{p.Clean()}
}

func clean(name string) string { return path.Clean(name) }

func outside(clean string) bool {
	return clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(clean, "/")
}

// fold maps names that a file system without case takes for the same to one text.
// Bytes that are no UTF-8 stay as they are.
func fold(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b.WriteByte(s[i])
		} else {
			b.WriteRune(smallest(r))
		}
		i += size
	}
	return b.String()
}

// smallest is the first of the letters that differ from r in case only.
func smallest(r rune) rune {
	low := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		low = min(low, f)
	}
	return low
}
