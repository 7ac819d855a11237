package pattern

import (
	"fmt"
	"strings"
)

// ForDeny says whether p may stand in a list that denies. A wildcard that would match
// only itself is refused: it looks like protection and is none. The error is an *Error.
func (p Pattern) ForDeny() error {
	t, _ := lookup(p.tool)
	at := strings.IndexByte(p.String(), '*')
	switch {
	case p.form == formCall && t.kind == kindCommand && at >= 0:
		return &Error{
			p.String(), at, fmt.Sprintf("a %s pattern is one exact command, * in it is an ordinary character", p.tool),
			fmt.Sprintf("write exec(program) args(*) to refuse a program, which also reaches it inside shell commands, or %s alone to refuse every call", p.tool),
		}
	case p.tool == toolExec && strings.Contains(p.program, "*"):
		return &Error{p.String(), at, "the program of a pattern has no wildcards", "name one program per entry, or write exec alone to refuse every call"}
	case p.form == formCall && t.kind == kindURL && !isURLGlob(p.glob):
		return &Error{p.String(), len(p.tool) + 1, "the glob is matched with the whole URL", fmt.Sprintf("write %s(https://docs.rs/*), or put the host into [network] deny", p.tool)}
	}
	return nil
}

func isURLGlob(glob string) bool {
	for _, scheme := range []string{"*", "http*", "http:", "https:"} {
		if strings.HasPrefix(glob, scheme) {
			return true
		}
	}
	return false
}

// ForApprove says whether p may stand in a list that approves, and warns if it covers
// less than it seems to. The error is an *Error.
func (p Pattern) ForApprove() (warning string, err error) {
	t, _ := lookup(p.tool)
	switch {
	case p.form == formCall && t.kind == kindURL:
		return "", &Error{p.String(), len(p.tool) + 1, "a fetch is approved by its host, not by a pattern over its URL", "put the host into [network] allow"}
	case p.form == formProgram:
		return "", &Error{p.String(), len(p.String()), "the arguments are missing", fmt.Sprintf("write exec(%s) args(*) for any arguments, or exec(%s) args() for none", p.program, p.program)}
	case p.tool == toolConfig:
		return p.tool + " asks for every single change; this entry covers nothing", nil
	case strings.HasPrefix(p.tool, "browser_"):
		return p.tool + " asks for every single call; this entry covers nothing", nil
	case p.form == formBare && t.kind == kindURL:
		return "hosts decide about " + p.tool + "; this entry opens no host that is not listed, put hosts into [network] allow", nil
	case p.form == formCall && (t.kind == kindCommand || t.kind == kindText) && strings.Contains(p.glob, "*"):
		return fmt.Sprintf("a %s pattern has no wildcards: * in it matches only itself", p.tool), nil
	case strings.Contains(p.program, "*"):
		return "the program of a pattern has no wildcards: * in it matches only itself", nil
	case p.tool == "search_replace":
		return "no tool of this system has this name, so this entry covers nothing; write edit for file_edit", nil
	}
	return "", nil
}
