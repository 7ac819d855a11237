package snapshot

import (
	"slices"
	"strings"
)

// glob matches s against a pattern of one path component, as git does, byte by byte:
// * matches anything, ? one byte, [a-z] one of a set, a backslash takes what follows as
// it is. It takes at most len(pattern)·len(s) steps.
func glob(pattern, s string) bool {
	p, i := 0, 0
	star, at := -1, 0 // the last * and where what it matches ends
	for i < len(s) || p < len(pattern) {
		if p < len(pattern) && pattern[p] == '*' {
			star, at = p, i
			p++
			continue
		}
		if i < len(s) && p < len(pattern) {
			if n, ok := one(pattern[p:], s[i]); ok {
				p, i = p+n, i+1
				continue
			}
		}
		if star < 0 || at >= len(s) {
			return false
		}
		at++ // the star takes one byte more
		p, i = star+1, at
	}
	return true
}

// one matches a byte against the first element of a pattern, which is no star, and
// returns the length of that.
func one(pattern string, c byte) (int, bool) {
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		return set(pattern, c)
	case '\\':
		if len(pattern) < 2 {
			return 0, false
		}
		return 2, pattern[1] == c
	}
	return 1, pattern[0] == c
}

// set matches a byte against the set that a pattern begins with. A set without an end, or
// with a class that there is not, matches nothing.
func set(pattern string, c byte) (int, bool) {
	p, in, negated := 1, false, false
	if p < len(pattern) && (pattern[p] == '!' || pattern[p] == '^') {
		negated = true
		p++
	}
	var previous byte // what a range can begin with; 0: nothing
	for first := true; ; first = false {
		if p >= len(pattern) {
			return 0, false
		}
		if pattern[p] == ']' && !first {
			return p + 1, in != negated
		}
		if name, ok := class(pattern[p:]); ok {
			member, known := classes[name]
			if !known {
				return 0, false
			}
			in = in || member(c)
			p, previous = p+len(name)+4, 0
			continue
		}
		if pattern[p] == '-' && previous != 0 && p+1 < len(pattern) && pattern[p+1] != ']' {
			to, n := literal(pattern[p+1:])
			if n == 0 {
				return 0, false
			}
			in = in || previous <= c && c <= to
			p, previous = p+1+n, 0
			continue
		}
		b, n := literal(pattern[p:])
		if n == 0 {
			return 0, false
		}
		in = in || b == c
		p, previous = p+n, b
	}
}

// literal reads one byte of a set, which a backslash may stand before.
func literal(p string) (byte, int) {
	if p[0] != '\\' {
		return p[0], 1
	}
	if len(p) < 2 {
		return 0, 0
	}
	return p[1], 2
}

// class reads the name of a class such as [:digit:].
func class(p string) (string, bool) {
	if !strings.HasPrefix(p, "[:") {
		return "", false
	}
	name, _, found := strings.Cut(p[2:], "]")
	if !found {
		return "", false
	}
	return strings.CutSuffix(name, ":")
}

func between(lo, hi byte) func(byte) bool { return func(c byte) bool { return lo <= c && c <= hi } }

func either(fs ...func(byte) bool) func(byte) bool {
	return func(c byte) bool { return slices.ContainsFunc(fs, func(f func(byte) bool) bool { return f(c) }) }
}

func oneOf(set string) func(byte) bool {
	return func(c byte) bool { return strings.IndexByte(set, c) >= 0 }
}

var (
	lower = between('a', 'z')
	upper = between('A', 'Z')
	digit = between('0', '9')
	punct = either(between('!', '/'), between(':', '@'), between('[', '`'), between('{', '~'))
)

// classes are the named sets of bytes. Only ASCII counts.
var classes = map[string]func(byte) bool{
	"lower": lower, "upper": upper, "digit": digit, "punct": punct,
	"alpha": either(lower, upper), "alnum": either(lower, upper, digit),
	"xdigit": either(digit, between('a', 'f'), between('A', 'F')),
	"blank":  oneOf(" \t"), "space": oneOf(" \t\n\v\f\r"),
	"cntrl": either(between(0, 31), between(127, 127)),
	"graph": between('!', '~'), "print": between(' ', '~'),
}

// segments matches the components of a path against those of a pattern, in which **
// matches any number of components.
func segments(pattern, parts []string) bool {
	p, i := 0, 0
	star, at := -1, 0
	for i < len(parts) || p < len(pattern) {
		if p < len(pattern) && pattern[p] == "**" {
			star, at = p, i
			p++
			continue
		}
		if i < len(parts) && p < len(pattern) && glob(pattern[p], parts[i]) {
			p, i = p+1, i+1
			continue
		}
		if star < 0 || at >= len(parts) {
			return false
		}
		at++
		p, i = star+1, at
	}
	return true
}
