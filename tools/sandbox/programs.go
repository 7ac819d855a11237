package sandbox

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hecate/domain/permission/command"
)

// Programs reads which programs a shell script starts, with their arguments. What only
// running it would tell stands as command.Unknown. whole is false if there may be a
// program that is not in the list. It is pure; command.Programs looks behind wrappers.
func Programs(script string) (programs []command.Program, whole bool) {
	if len(script) > commandMax {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, false
	}
	whole = true
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		p := command.Program{Argv: make([]string, len(call.Args))}
		for i, w := range call.Args {
			p.Argv[i] = expandable(w)
		}
		programs = append(programs, p)
		// A name may mean anything after alias, and a shell may take the rest of the text for commands.
		whole = whole && (len(call.Args) < 2 || command.Name(p.Argv[0]) != "alias")
		return true
	})
	return programs, whole
}

// expandable is a word without its quotes. One that the shell may take for a pattern of
// file names, a home directory or several words has an unknown part.
func expandable(w *syntax.Word) string {
	folded := fold(w)
	if !folded.static && !strings.Contains(folded.text, unknown) {
		return folded.text + unknown // {a,b}
	}
	for i, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		if hasMeta(lit.Value) || i == 0 && strings.HasPrefix(lit.Value, "~") {
			return folded.text + unknown
		}
	}
	return folded.text
}

// hasMeta reports whether an unquoted text has a character that makes it a pattern.
func hasMeta(s string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case slices.Contains([]byte("*?["), s[i]):
			return s != "[" // the command
		}
	}
	return false
}
