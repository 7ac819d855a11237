package builtin

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// globMatcher is a compiled glob.
type globMatcher = *regexp.Regexp

var errPattern = errors.New("invalid pattern")

// compileGlob turns a glob into a regular expression: * and ? stop at a slash, **
// does not, [a-z] and [!a-z] are sets, {a,b} are alternatives. RE2 matches in
// linear time, which matters because the pattern is the model's: matchers that
// try alternatives one after the other can be kept busy for ever.
func compileGlob(pattern string) (globMatcher, error) {
	if len(pattern) > patternMax || !utf8.ValidString(pattern) {
		return nil, errPattern
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	depth := 0
	for i := 0; i < len(pattern); {
		expr, n, err := globToken(pattern[i:], i == 0 || pattern[i-1] == '/', &depth)
		if err != nil {
			return nil, err
		}
		b.WriteString(expr)
		i += n
	}
	if depth != 0 {
		return nil, errPattern
	}
	b.WriteString(`\z`)
	m, err := regexp.Compile(b.String())
	if err != nil {
		return nil, errPattern
	}
	return m, nil
}

// globToken translates the first token of p and returns its length. atStart says
// whether p begins a path element, depth counts open braces.
func globToken(p string, atStart bool, depth *int) (expr string, n int, err error) {
	switch p[0] {
	case '*':
		return star(p, atStart)
	case '?':
		return `[^/]`, 1, nil
	case '[':
		return set(p)
	case '{':
		*depth++
		return `(?:`, 1, nil
	case '}':
		if *depth > 0 {
			*depth--
			return `)`, 1, nil
		}
	case ',':
		if *depth > 0 {
			return `|`, 1, nil
		}
	case '\\':
		if len(p) == 1 {
			return "", 0, errPattern
		}
		_, size := utf8.DecodeRuneInString(p[1:])
		return regexp.QuoteMeta(p[1 : 1+size]), 1 + size, nil
	}
	_, size := utf8.DecodeRuneInString(p)
	return regexp.QuoteMeta(p[:size]), size, nil
}

func star(p string, atStart bool) (string, int, error) {
	n := len(p) - len(strings.TrimLeft(p, "*"))
	switch {
	case n == 1:
		return `[^/]*`, 1, nil
	case atStart && strings.HasPrefix(p[n:], "/"):
		return `(?:.*/)?`, n + 1, nil // **/ also stands for no directory at all
	}
	return `.*`, n, nil
}

func set(p string) (string, int, error) {
	end := strings.IndexByte(p[min(2, len(p)):], ']') // a ] that comes first is a member
	if end < 0 {
		return "", 0, errPattern
	}
	end += 2
	body, not := p[1:end], ""
	if body[0] == '!' || body[0] == '^' {
		if body = body[1:]; body == "" {
			return "", 0, errPattern
		}
		not = "^/"
	}
	body = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`).Replace(body)
	return `[` + not + body + `]`, end + 1, nil
}
