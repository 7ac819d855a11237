package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/permission/pattern"
	"hecate/runtime/permissions"
	"hecate/tools"
	"hecate/tools/sandbox"
)

// userConfigDir is where the user's permission file lies; "" if there is no such place.
func userConfigDir(environ map[string]string) string {
	if dir := environ["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "hecate")
	}
	if home := environ["HOME"]; filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "hecate")
	}
	return ""
}

// permissionsCommand is "hecate permissions".
type permissionsCommand struct {
	Explain permissionsExplain `cmd:"" help:"Show what would become of a tool call, or what became of those of a run, and why."`
	List    permissionsList    `cmd:"" help:"List what is allowed and forbidden here."`
	Revoke  permissionsRevoke  `cmd:"" help:"Take an entry out of a permission file, or end what was given for a session."`
	Accept  permissionsAccept  `cmd:"" help:"Accept the project's permission file, so that its grants count."`
}

// permissionsExplain is "hecate permissions explain".
type permissionsExplain struct {
	serverFlags
	Past     string   `name:"run" placeholder:"RUN" help:"Explain the calls of a run, or of a task's latest run, from the log."`
	Call     string   `placeholder:"ID" help:"Of those only the ones with this id, or a beginning of it."`
	Levels   bool     `help:"Decide by levels, as hecate run does; that is the default." default:"true" hidden:""`
	Policies bool     `name:"runtime-policies" help:"Decide by the server's policies instead of by the levels of the tools."`
	JSON     bool     `name:"json" help:"Print JSON."`
	JSONL    bool     `name:"jsonl" help:"Decide the cases on standard input, one JSON object a line; what they give counts, no file is read."`
	Tool     string   `arg:"" optional:"" help:"The tool, by any of its names: exec, shell, edit …"`
	About    []string `arg:"" optional:"" passthrough:"" help:"What the call is about: the program and its arguments, the command, the path, the URL."`
}

// Help is the long help of the command.
func (permissionsExplain) Help() string {
	return `It reads the permission files that are in force in this directory: your own config.toml, and
.hecate/config.toml of the project. Nothing is run. Options come before the tool. With --run it tells
from the log what was decided about calls, by which rule, and who answered.

Examples:

    hecate permissions explain exec npm install
    hecate permissions explain shell "git push --force"
    hecate permissions explain --runtime-policies edit go.mod
    hecate permissions explain --run run_5d20… --call call_2`
}

// Run does the command.
func (c permissionsExplain) Run(a *app) error {
	switch {
	case c.Past != "" && (c.JSONL || c.Tool != ""):
		return usage(errPastAndCall)
	case c.Past != "":
		return c.explainPast(a)
	case c.Call != "":
		return usage(errors.New("--call needs --run"))
	case c.JSONL && c.Tool == "":
		return explainCases(a.in, a.out)
	case c.JSONL:
		return usage(errors.New("--jsonl reads the calls from standard input: leave the tool out"))
	case c.Tool == "":
		return usage(errors.New("name a tool, such as exec or shell"))
	case !pattern.Known(c.Tool):
		return usage(fmt.Errorf("there is no tool %q; tools are %s", c.Tool, strings.Join(pattern.Names(), ", ")))
	}
	if len(c.About) > 0 && c.About[0] == "--" {
		c.About = c.About[1:]
	}
	if what := needed[pattern.Canonical(c.Tool)]; what != "" && strings.TrimSpace(strings.Join(c.About, "")) == "" {
		return usage(fmt.Errorf("a call of %s is about %s: hecate permissions explain %s %s", c.Tool, articled(what), c.Tool, strings.ToUpper(what)))
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current directory: %w", err)
	}
	environ := env.ToMap(a.environ)
	files := permissions.New(userConfigDir(environ), slog.New(slog.DiscardHandler))
	p := permission.Posture{Name: permission.PostureLevels, Project: true, Policies: permission.Default, Config: files.For(permissions.Project{Dir: dir})}
	if c.Policies {
		p.Name = permission.PostureRuntime
	}
	if list, set := environ["HECATE_TASK_APPROVAL_POLICIES"]; set {
		if p.Policies, err = permission.ParsePolicies(list); err != nil {
			return fmt.Errorf("HECATE_TASK_APPROVAL_POLICIES: %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the current directory: %w", err)
	}
	defer root.Close()
	x := permission.Explain(callAbout(tools.Place{Root: root, Path: dir}, c.Tool, c.About), p)
	if c.JSON {
		return printExplanation(a.out, x, files.ProblemsOf(permissions.Project{Dir: dir}))
	}
	showExplanation(a, x)
	for _, problem := range files.ProblemsOf(permissions.Project{Dir: dir}) {
		a.sayProblem(problem)
	}
	return nil
}

func printExplanation(out io.Writer, x permission.Explanation, problems []permission.Problem) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		permission.Explanation
		Problems []permission.Problem `json:"problems,omitempty"`
	}{x, problems})
}

// pathTools are the tools whose calls are about files and directories.
var pathTools = []string{"view", "ls", "glob", "grep", "stat", "blame", "edit", "create", "search_replace", "apply_patch"}

// needed says what calls of a tool cannot do without.
var needed = map[string]string{
	"exec": "program", "shell": "command", "git_exec": "command", "web_fetch": "url", "http_request": "url",
	"view": "path", "stat": "path", "blame": "path", "edit": "path", "create": "path", "search_replace": "path", "apply_patch": "path",
}

func articled(what string) string {
	if what == "url" {
		return "a URL"
	}
	return "a " + what
}

// callAbout is a call of the tool as its arguments would make it.
func callAbout(at tools.Place, tool string, about []string) permission.Call {
	c := permission.Call{Tool: tool}
	text := strings.Join(about, " ")
	switch name := pattern.Canonical(tool); {
	case len(about) == 0 && !slices.Contains(pathTools, name):
	case name == "exec":
		c.Facts = at.Exec(about, "", sandbox.Programs)
	case name == "shell", name == "background", name == "terminal_write":
		c.Facts = at.Command(text, text, "", sandbox.Programs)
	case name == "git_exec":
		c.Facts = at.Command(text, "git "+text, "", sandbox.Programs)
	case slices.Contains(pathTools, name) && len(about) == 0:
		c.Facts = at.Paths(".")
	case slices.Contains(pathTools, name):
		c.Facts = at.Paths(about...)
	default:
		c.Facts.Principal = text
	}
	return c
}

// showExplanation prints the verdict and how each entry stands to the call.
func showExplanation(a *app, x permission.Explanation) {
	v := x.Verdict
	fmt.Fprintf(a.out, "%s: %s\n", terminal.Line(x.Tool), a.outStyle.Bold(said(v.Decision)))
	fmt.Fprintf(a.out, "  level %d; decided by %s (%s), posture %s\n", v.Level, v.Layer, v.Rule, v.Posture)
	for line := range strings.SplitSeq(v.Reason, "\n") {
		if line != "" {
			fmt.Fprintf(a.out, "  %s\n", terminal.Line(line))
		}
	}
	if g := v.Grant; g != nil && g.Scope != "" {
		fmt.Fprintf(a.out, "  opened by %s\n", terminal.Line(g.Scope))
	}
	if o := v.Offer; o != nil {
		fmt.Fprintf(a.out, "  an entry that would cover it: %s = %s\n", terminal.Line(o.Scope), terminal.Line(o.Covers))
	}
	for _, n := range v.Notes {
		fmt.Fprintf(a.out, "  note: %s\n", terminal.Line(n))
	}
	for _, e := range x.Entries {
		mark := "does not match"
		switch {
		case e.Matches:
			mark = "matches"
		case e.Unclear:
			mark = "may match"
		}
		fmt.Fprintf(a.out, "%s: [%s] %s %s\n", terminal.Line(e.At), e.List, terminal.Line(e.Text), mark)
		if !e.Matches && !e.Unclear {
			continue // what it does not reach either says nothing about this call
		}
		for _, u := range e.Unreached {
			fmt.Fprintf(a.out, "  does not reach: %s\n", terminal.Line(u))
		}
	}
}

// said is a decision in the words of the permission text.
func said(d permission.Decision) string {
	if d == permission.AllowVisibly {
		return "visible"
	}
	return string(d)
}
