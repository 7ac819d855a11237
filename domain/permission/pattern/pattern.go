// Package pattern is the little language in which permissions name tool calls:
//
//	tool                        every call of the tool
//	tool(glob)                  calls whose command, path, URL … is matched
//	exec(program) args(glob)    one program, run directly, with matching arguments
//
// A pattern means one thing in a list that approves and reaches further in one that
// denies: Covers and Reaches. Source: permission text, "Patterns".
package pattern

import (
	"fmt"
	"strings"
)

// form is the shape of a pattern.
type form int

const (
	formBare    form = iota + 1 // tool
	formCall                    // tool(glob)
	formProgram                 // exec(program)
	formArgs                    // exec(program) args(glob)
)

// Limits in bytes.
const (
	textMax = 128 << 10 // of a pattern: the longest command
	globMax = 4 << 10   // of a glob that has to be searched
)

// Pattern is one parsed pattern. The zero Pattern matches nothing. Patterns can be
// compared: equal ones mean the same.
type Pattern struct {
	tool    string // canonical
	form    form
	program string
	glob    string
}

// Error says what is wrong with a pattern, where, and what to write instead.
type Error struct {
	Text    string // the pattern
	Offset  int    // in bytes, where reading stopped
	Problem string
	Remedy  string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("pattern %q, at byte %d: %s", shorten(e.Text), e.Offset, e.Problem)
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// shorten keeps messages readable.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Parse reads a pattern. Tool names are those of the permission text or this
// system's own. An error is an *Error.
func Parse(text string) (Pattern, error) {
	p, err := parse(strings.TrimSpace(text))
	if err != nil {
		return Pattern{}, err
	}
	return p, nil
}

func parse(text string) (Pattern, *Error) {
	fail := func(at int, problem, remedy string) (Pattern, *Error) {
		return Pattern{}, &Error{text, at, problem, remedy}
	}
	name, rest, call := strings.Cut(text, "(")
	t, known := lookup(name)
	switch {
	case text == "":
		return fail(0, "it is empty", "write a tool, such as shell, or exec(cargo) args(*)")
	case len(text) > textMax:
		return fail(textMax, "it is too long", fmt.Sprintf("patterns have at most %d bytes", textMax))
	case strings.Contains(text, "\x00"):
		return fail(strings.IndexByte(text, 0), "there is a NUL byte", "leave it out")
	case !known:
		return fail(0, fmt.Sprintf("there is no tool %q", shorten(name)), "tools are "+strings.Join(Names(), ", "))
	case !call:
		return Pattern{tool: t.name, form: formBare}, nil
	case !strings.HasSuffix(rest, ")"):
		return fail(len(text), "the closing parenthesis is missing", "end the pattern with )")
	}
	inner, at := rest[:len(rest)-1], len(name)+1
	if t.kind == kindProgram {
		return parseExec(text, inner, at)
	}
	p := Pattern{tool: t.name, form: formCall, glob: inner}
	if problem, remedy := t.checkGlob(inner); problem != "" {
		return fail(at, problem, remedy)
	}
	return p, nil
}

// between separates the program from its arguments.
const between = ") args("

func parseExec(text, inner string, at int) (Pattern, *Error) {
	p := Pattern{tool: toolExec, form: formArgs}
	var args bool
	p.program, p.glob, args = strings.Cut(inner, between)
	switch {
	case p.program == "":
		return Pattern{}, &Error{text, at, "the program is missing", "write exec(cargo) args(*), or exec for every program"}
	case !args && strings.Contains(inner, ")"):
		return Pattern{}, &Error{text, at + strings.IndexByte(inner, ')') + 1, "what follows the program is not args(…)", "write exec(cargo) args(test *), with one blank between"}
	case !args:
		p.form = formProgram
	case len(p.glob) > globMax:
		return Pattern{}, &Error{text, at + len(p.program) + len(between) + globMax, "the glob is too long", fmt.Sprintf("globs have at most %d bytes", globMax)}
	}
	return p, nil
}

// checkGlob says what is wrong with the text between the parentheses.
func (t tool) checkGlob(glob string) (problem, remedy string) {
	switch {
	case t.kind == kindBare:
		return t.name + " has nothing that a pattern could match", "write " + t.name + " alone for every call"
	case glob == "":
		return "there is nothing between the parentheses", "write " + t.name + " alone for every call"
	case t.kind != kindCommand && len(glob) > globMax:
		return "the glob is too long", fmt.Sprintf("globs have at most %d bytes", globMax)
	case t.kind == kindPath:
		return checkPath(t.name, glob)
	}
	return "", ""
}

// checkPath asks for paths in the form in which they are matched.
func checkPath(tool, glob string) (problem, remedy string) {
	clean := clean(glob)
	switch {
	case strings.HasPrefix(glob, "/"):
		return "the path begins with /", fmt.Sprintf("patterns are anchored at the workspace root: write %s(%s)", tool, strings.TrimLeft(clean, "/"))
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "the path leaves the workspace", "name a path below the workspace root"
	case strings.HasSuffix(glob, "/"):
		return "the path ends in /", fmt.Sprintf("write %s(%s) for the directory, %s(%s/*) for what is directly in it, or %s(%s/**) for all below it", tool, clean, tool, clean, tool, clean)
	case clean != glob:
		return "the path takes a detour", fmt.Sprintf("write %s(%s)", tool, clean)
	}
	return "", ""
}

// String is the pattern in its canonical form, which Parse reads back.
func (p Pattern) String() string {
	switch p.form {
	case formBare:
		return p.tool
	case formCall:
		return p.tool + "(" + p.glob + ")"
	case formProgram:
		return p.tool + "(" + p.program + ")"
	case formArgs:
		return p.tool + "(" + p.program + between + p.glob + ")"
	}
	return ""
}

// IsZero reports whether p is no pattern.
func (p Pattern) IsZero() bool { return p.form == 0 }

// Tool is the canonical name of the tool that p is about.
func (p Pattern) Tool() string { return p.tool }

// Bare reports whether p names every call of its tool.
func (p Pattern) Bare() bool { return p.form == formBare }

// MarshalText writes the canonical form.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what Parse reads; nothing is the zero Pattern.
func (p *Pattern) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*p = Pattern{}
		return nil
	}
	var err error
	*p, err = Parse(string(text))
	return err
}
