package sandbox

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is a shell word as far as it is known before it is run.
type word struct {
	text   string // what is not known stands as unknown
	static bool   // everything is known
}

// unknown stands for text that only running the command would tell.
const unknown = "\uFFFD"

func foldAll(ws []*syntax.Word) []word {
	out := make([]word, 0, len(ws))
	for _, w := range ws {
		out = append(out, fold(w))
	}
	return out
}

// fold takes the quotes off a word.
func fold(w *syntax.Word) word {
	if w == nil {
		return word{static: true}
	}
	var b strings.Builder
	static := foldParts(&b, w.Parts, false)
	text := b.String()
	// Bash would make several words of {curl,-s,host}: nothing is known of those.
	if first, ok := firstLit(w); ok && strings.HasPrefix(first, "{") && strings.Contains(text, ",") {
		static = false
	}
	return word{text, static}
}

func firstLit(w *syntax.Word) (string, bool) {
	if len(w.Parts) == 0 {
		return "", false
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok {
		return "", false
	}
	return lit.Value, true
}

func foldParts(b *strings.Builder, parts []syntax.WordPart, quoted bool) (static bool) {
	static = true
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, quoted))
		case *syntax.SglQuoted:
			b.WriteString(single(p))
		case *syntax.DblQuoted:
			static = foldParts(b, p.Parts, true) && static
		default:
			b.WriteString(unknown)
			static = false
		}
	}
	return static
}

// single is the value of a quoted part. For $'…' the escapes are resolved; a part
// like that expands to the same whatever the environment.
func single(p *syntax.SglQuoted) string {
	if !p.Dollar {
		return p.Value
	}
	text, err := expand.Literal(nil, &syntax.Word{Parts: []syntax.WordPart{p}})
	if err != nil {
		return unknown
	}
	return text
}

// unescape removes the backslashes that the shell would remove.
func unescape(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || quoted && !strings.ContainsRune("\\\"$`\n", rune(s[i+1])) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] != '\n' {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
