package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// removedWhenReadOnly are tools that cannot promise to change nothing. The direct run
// of kind shell is not among them: its command is held to it by the sandbox.
var removedWhenReadOnly = []string{
	"shell_exec", "git_exec", "file_write", "exec", "background", "create", "search_replace",
	"terminal_open", "terminal_write", "terminal_read", "terminal_wait", "terminal_kill", "job_kill",
}

// proposeWhenReadOnly are tools that may still propose a change in a read-only task.
var proposeWhenReadOnly = []string{"file_edit", "apply_patch", "edit"}

var (
	networkTools = []string{"http_request", "web_search", toolFetch}
	urlTools     = []string{"http_request", toolFetch}
	// reportTools are all that a report-only task may use.
	reportTools = []string{"view", "grep", "glob", "artifact_read", "ls"}
	gitEvidence = []string{"git_status", "git_diff"}
)

// limit returns the hard limit that the call breaks, nil if none. The order is that
// of the agent runtime: workflow, preset, what the tool knows, read-only, then MCP
// servers, the workspace's bounds and addresses.
func (p Posture) limit(c Call) *Limit {
	if l := p.frozenLimit(c); l != nil {
		return l
	}
	if c.Limit != nil {
		return c.Limit
	}
	if l := p.readOnlyLimit(c); l != nil {
		return l
	}
	if c.MCP == MCPBlock {
		return &Limit{"mcp_approval_policy", fmt.Sprintf("mcp tool %q is blocked by the configured approval policy on this task; pick a different tool", c.Tool)}
	}
	if l := p.boundsLimit(c); l != nil {
		return l
	}
	return p.addressLimit(c)
}

// frozenLimit is about the tool alone.
func (p Posture) frozenLimit(c Call) *Limit {
	name := pattern.Canonical(c.Tool)
	switch {
	case p.Workflow != "" && slices.Contains(gitEvidence, name):
		return &Limit{"workflow_git_metadata", "the workspace of a report-only task has no Git metadata; inspect the files themselves"}
	case p.Workflow != "" && !slices.Contains(reportTools, name):
		return &Limit{"workflow_report_only", "the task only reports; use read_file, list_dir, grep, glob or artifact_read"}
	case p.ToolsOff:
		return &Limit{"agent_preset_tools", "the task has no tools; answer without them"}
	case p.NetworkOff && slices.Contains(networkTools, name):
		return &Limit{"sandbox_network", "the task has no network; work with what the workspace holds"}
	case strings.HasPrefix(name, "browser_") && !slices.Contains(p.Browser, name):
		return &Limit{"agent_preset_browser", "the task has no browser; work without it"}
	}
	return nil
}

func (p Posture) readOnlyLimit(c Call) *Limit {
	const rule = "sandbox_read_only"
	switch {
	case !p.ReadOnly:
	case slices.Contains(removedWhenReadOnly, c.Tool):
		return &Limit{rule, "the task is read-only; use the reading tools, or propose a patch with file_edit or apply_patch"}
	case slices.Contains(proposeWhenReadOnly, c.Tool) && !c.Propose:
		return &Limit{rule, "the task is read-only; call it again with propose=true"}
	}
	return nil
}

// boundsLimit keeps file tools inside the workspace, and edits away from what would
// change how commands run or what is allowed.
func (p Posture) boundsLimit(c Call) *Limit {
	if d := c.Facts.Dir; d == ".." || strings.HasPrefix(d, "../") || strings.HasPrefix(d, "/") {
		return &Limit{"workspace_bounds", fmt.Sprintf("working_directory %q leads out of the workspace; use a directory below its root", shorten(d))}
	}
	edits := pattern.Edits(c.Tool)
	for _, x := range c.Facts.Paths {
		if x.Outside() {
			return &Limit{"workspace_bounds", fmt.Sprintf("path %q leads out of the workspace; use paths below its root", shorten(x.Name))}
		}
		for _, place := range x.Places() {
			switch {
			case p.Hides(place):
				return &Limit{"server_data", fmt.Sprintf("path %q is in the server's own data, where no tool looks", shorten(x.Name))}
			case !edits:
			case insideGit(place):
				return &Limit{"git_metadata", fmt.Sprintf("path %q is Git's own; file tools do not write there", shorten(x.Name))}
			case p.protects(place):
				return &Limit{"permission_file", fmt.Sprintf("path %q decides what is allowed; only config_edit may change it", shorten(x.Name))}
			}
		}
	}
	return nil
}

// insideGit reports whether a path has a part that some file system takes for .git.
func insideGit(place string) bool {
	// HFS+ leaves out characters that cannot be seen; NTFS dots and blanks at the end, and what follows a colon.
	place = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, place)
	for part := range strings.SplitSeq(place, "/") {
		part, _, _ = strings.Cut(part, ":")
		if part = strings.TrimRight(part, ". "); part == ".git" || part == "git~1" {
			return true
		}
	}
	return false
}

// Hides reports whether a path below the workspace root is a hidden directory, or in one.
func (p Posture) Hides(place string) bool {
	place = strings.ToLower(path.Clean(place)) // also where names are told apart: nothing else has that name
	return slices.ContainsFunc(p.Hidden, func(dir string) bool {
		dir = strings.ToLower(path.Clean(dir))
		return dir == "." || place == dir || strings.HasPrefix(place, dir+"/")
	})
}

// protects reports whether a path decides what is allowed: here, or for who works in a
// directory below and would find another file there than the project's.
func (p Posture) protects(place string) bool {
	return strings.EqualFold(place, ProjectFile) || strings.HasSuffix(strings.ToLower(place), "/"+ProjectFile) ||
		slices.ContainsFunc(p.Protected, func(f string) bool { return strings.EqualFold(place, path.Clean(f)) })
}

// addressLimit refuses URLs that are none, and those that lead into private networks.
func (p Posture) addressLimit(c Call) *Limit {
	if !slices.Contains(urlTools, pattern.Canonical(c.Tool)) || c.Facts.Principal == "" {
		return nil
	}
	u, err := host.ParseURL(c.Facts.Principal, c.Facts.ASCIIHost)
	if err != nil {
		return &Limit{"url", err.Error() + "; use an absolute https URL"}
	}
	if p.PrivateAddrs {
		return nil
	}
	what := u.Special()
	for _, a := range c.Facts.Addrs {
		if what == "" {
			what = host.Special(a)
		}
	}
	if what == "" {
		return nil
	}
	return &Limit{"private_address", fmt.Sprintf("host %q is %s; only public hosts can be reached", shorten(u.Shown), what)}
}

// shorten keeps what a model wrote from filling its own error.
func shorten(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
