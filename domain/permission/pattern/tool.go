package pattern

import (
	"slices"
	"strings"
)

// kind is what of a call a pattern is compared with.
type kind int

const (
	kindBare    kind = iota // nothing: a pattern can only name the tool
	kindProgram             // the argument list
	kindCommand             // a text that a shell, or something like it, parses
	kindPath                // paths below the workspace root
	kindURL                 // a URL; what may be read is decided by host
	kindText                // any other text: a job, a setting, a query
)

// tool is one row of the table of names.
type tool struct {
	name    string // canonical: the permission text's name, where it has one
	kind    kind
	aliases []string // this system's names for it
}

const (
	toolExec    = "exec"
	toolFetch   = "web_fetch"
	toolConfig  = "config_edit"
	toolStat    = "stat"
	toolView    = "view"
	toolRequest = "http_request"
	toolInput   = "terminal_write"
	toolBlame   = "blame"
	mcpPrefix   = "mcp__"
)

// table is the one place where names meet. git and file, like shell, are also the kinds
// of direct runs, which make one call.
var table = []tool{
	{toolExec, kindProgram, nil},
	{"shell", kindCommand, []string{"shell_exec"}},
	{"background", kindCommand, []string{"terminal_open"}},
	{"job_kill", kindText, []string{"terminal_kill"}},
	{toolView, kindPath, []string{"read_file"}},
	{"ls", kindPath, []string{"list_dir"}},
	{"glob", kindPath, nil},
	{"grep", kindPath, nil},
	{toolStat, kindPath, nil},
	{toolBlame, kindPath, nil},
	{"edit", kindPath, []string{"file_edit"}},
	{"create", kindPath, []string{"file_write", "file"}},
	{"search_replace", kindPath, nil},
	{"apply_patch", kindPath, nil},
	{toolFetch, kindURL, nil},
	{toolConfig, kindText, nil},
	{"git_exec", kindCommand, []string{"git"}},
	{"git_status", kindBare, nil},
	{"git_diff", kindBare, nil},
	{toolInput, kindCommand, nil},
	{"terminal_read", kindText, nil},
	{"terminal_wait", kindText, nil},
	{toolRequest, kindText, nil},
	{"web_search", kindText, nil},
	{"artifact_read", kindText, nil},
	{"read_attachment", kindText, nil},
	{"search_attachment", kindText, nil},
	{"code_intelligence", kindBare, nil},
	{"browser_inspect", kindText, nil},
	{"browser_flow", kindText, nil},
	{"draft_project_proposal", kindBare, nil},
}

// editing are the tools that change files. A deny on one counts for all of them.
var editing = []string{"edit", "create", "search_replace", "apply_patch"}

// lookup finds a tool by any of its names. Every tool of an MCP server has the name
// mcp__<server>__<tool> and no arguments that a pattern knows.
func lookup(name string) (tool, bool) {
	for _, t := range table {
		if t.name == name || slices.Contains(t.aliases, name) {
			return t, true
		}
	}
	if rest, ok := strings.CutPrefix(name, mcpPrefix); ok && strings.Contains(rest, "__") && !strings.ContainsAny(name, "() \t\r\n*,") {
		return tool{name: name, kind: kindBare}, true
	}
	return tool{}, false
}

// Canonical is the name that patterns, offers and messages use for a tool. A tool
// that is not in the table keeps its own name.
func Canonical(name string) string {
	if t, ok := lookup(name); ok {
		return t.name
	}
	return name
}

// Known reports whether patterns can name the tool.
func Known(name string) bool {
	_, ok := lookup(name)
	return ok
}

// Names returns the canonical names, in the order of the table.
func Names() []string {
	out := make([]string, len(table))
	for i, t := range table {
		out[i] = t.name
	}
	return out
}

// Shown is a tool's canonical name with the name of this system beside it where they
// differ: shell (shell_exec).
func Shown(name string) string {
	if c := Canonical(name); c != name {
		return c + " (" + name + ")"
	}
	return name
}

// Edits reports whether the tool changes files of the workspace.
func Edits(name string) bool { return slices.Contains(editing, Canonical(name)) }

// Exact reports whether a pattern with parentheses names one exact command of the tool.
func Exact(name string) bool {
	t, ok := lookup(name)
	return ok && t.kind == kindCommand
}

// IsMCP reports whether the name is that of a tool of an MCP server.
func IsMCP(name string) bool { return strings.HasPrefix(name, mcpPrefix) }
