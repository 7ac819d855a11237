package pattern

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"hecate/domain/permission/command"
)

// Meaning says in plain words what p covers in a list that approves. It is made from
// the pattern alone and true of it to the letter.
// Source: permission text, "The prompt", the = line.
func (p Pattern) Meaning() string {
	t, _ := lookup(p.tool)
	switch {
	case p.form == 0:
		return "nothing"
	case p.form == formBare && t.kind == kindProgram:
		return "any exec, whatever the program and its arguments; the program is run directly, never through a shell"
	case p.form == formBare:
		return fmt.Sprintf("any %s call, whatever its arguments", p.tool)
	case t.kind == kindProgram:
		return p.programMeaning()
	case t.kind == kindPath:
		return p.pathMeaning()
	case t.kind == kindCommand:
		return fmt.Sprintf("%s with exactly this command, character for character, in the workspace itself%s", p.tool, p.literalStar())
	case p.tool == toolRequest:
		return fmt.Sprintf("http_request with GET or HEAD to exactly this URL over https, with no headers and no body; a redirect to another host is not followed%s", p.literalStar())
	case p.tool == toolInput:
		return "nothing: input is asked about each time, since the same text can mean anything to another program"
	case t.kind == kindURL:
		return "nothing: fetches are approved by their host"
	}
	return fmt.Sprintf("%s with exactly this text, whatever else the call says%s", p.tool, p.literalStar())
}

func (p Pattern) literalStar() string {
	if strings.Contains(p.glob, "*") {
		return "; * is part of it and no wildcard"
	}
	return ""
}

func (p Pattern) programMeaning() string {
	name := show(p.program)
	what := fmt.Sprintf("any exec of %s%s", name, p.argumentsMeaning())
	stars := strings.Contains(p.glob, "*") || p.form == formProgram
	switch {
	case command.Starts(p.program) && stars:
		return fmt.Sprintf("%s; %s runs what its arguments name, so this can be any command", what, name)
	case command.Starts(p.program):
		return fmt.Sprintf("%s; %s runs what its arguments name", what, name)
	case p.glob == "" && p.form == formArgs:
		return fmt.Sprintf("%s; only %s is run, never through a shell", what, name)
	}
	return fmt.Sprintf("%s; only %s is run, and each argument is passed to it literally, never through a shell", what, name)
}

func (p Pattern) argumentsMeaning() string {
	head, open := strings.CutSuffix(p.glob, " *")
	switch {
	case p.glob == "*" || p.form == formProgram:
		return ", any arguments"
	case p.glob == "":
		return " without arguments"
	case !strings.Contains(p.glob, "*"):
		return " with exactly the arguments " + showWords(p.glob)
	case open && head != "" && !strings.Contains(head, "*"):
		return " whose arguments are " + showWords(head) + ", alone or followed by any others"
	case open:
		return fmt.Sprintf(" whose arguments match %s, where a blank is the boundary between two arguments and * any text, boundaries included; the last blank and * also match nothing", show(p.glob))
	}
	return fmt.Sprintf(" whose arguments match %s, where a blank is the boundary between two arguments and * any text, boundaries included", show(p.glob))
}

// showWords lists arguments of a glob without wildcards.
func showWords(glob string) string {
	words := strings.Split(glob, " ")
	for i, w := range words {
		words[i] = show(w)
	}
	return strings.Join(words, " ")
}

// show writes a text so that its ends and all its characters can be seen.
func show(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !unicode.IsGraphic(r) || r == '"' || r == '\\' }) || strings.TrimSpace(s) != s {
		return strconv.Quote(s)
	}
	return s
}

func (p Pattern) pathMeaning() string {
	verb := fmt.Sprintf("any %s of ", p.tool)
	if p.tool == "apply_patch" {
		verb = "any apply_patch that touches nothing but "
	}
	dir, last := "the workspace root", p.glob
	if at := strings.LastIndexByte(p.glob, '/'); at >= 0 {
		dir, last = show(p.glob[:at]), p.glob[at+1:]
	}
	switch {
	case p.glob == ".":
		return verb + "the workspace root itself"
	case !strings.Contains(p.glob, "*"):
		return verb + "exactly " + show(p.glob)
	case last == "*" && !strings.Contains(dir, "*"):
		return fmt.Sprintf("%spaths directly in %s, not in directories below it", verb, dir)
	case last == "**" && !strings.Contains(dir, "*"):
		return fmt.Sprintf("%spaths below %s, at any depth", verb, dir)
	}
	return fmt.Sprintf("%spaths that match %s from the workspace root, where * is any text without a slash, ** any text, and **/ at the beginning of a name also nothing", verb, show(p.glob))
}

// Unreached says what a deny of p does not reach, for a person who relies on it.
func (p Pattern) Unreached() []string {
	t, _ := lookup(p.tool)
	switch {
	case p.form == 0:
		return nil
	case t.kind == kindProgram && p.form == formBare:
		return []string{"commands of shell, background, terminal_write and git_exec; deny those tools too"}
	case t.kind == kindProgram:
		return []string{
			fmt.Sprintf("a copy of %s under another name", show(p.program)),
			fmt.Sprintf("%s started by another program, such as a build tool, a script file or an interpreter", show(p.program)),
		}
	case t.kind == kindCommand && p.form == formCall:
		return []string{"the same command in any other spelling, and the same command by another tool"}
	case t.kind == kindCommand:
		return []string{"commands by any other tool, exec among them"}
	case Edits(p.tool):
		return []string{"files that commands of exec, shell and background change"}
	case p.tool == toolView:
		return []string{"files that commands of exec, shell and background read, changes that git_diff shows, and editing", "names that ls and glob show"}
	case t.kind == kindPath:
		return []string{"the same paths by any other tool"}
	case t.kind == kindURL:
		return []string{"http_request, web_search and browser tools", "commands that use the network"}
	}
	return nil
}
