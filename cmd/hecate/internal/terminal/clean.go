package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes s one harmless line: every control character, line break and tab
// included, becomes visible as an escape such as \n, \x1b or \u202e.
func Line(s string) string { return clean(s, "") }

// Text makes s harmless and keeps its line breaks and tabs. CRLF becomes LF; a
// lone carriage return, which would let a line overwrite itself, becomes visible.
func Text(s string) string {
	return clean(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t")
}

// Exact is Line for what must be told apart to the last character, such as a command:
// a blank that is no space, and looks like one, becomes visible, too.
func Exact(s string) string {
	s = Line(s)
	if !strings.ContainsFunc(s, posesAsSpace) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if posesAsSpace(r) {
			out.WriteString(escape(r))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func posesAsSpace(r rune) bool { return r != ' ' && unicode.Is(unicode.Zs, r) }

// Output is Text for what a program printed: colour sequences are left out, since
// they are common there and carry nothing that a reader misses.
func Output(s string) string { return Text(withoutColours(s)) }

func clean(s, keep string) string {
	if isClean(s, keep) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, s[i]) // a byte that is no UTF-8 may be an 8-bit control
		case harmless(r, keep):
			out.WriteString(s[i : i+size])
		default:
			out.WriteString(escape(r))
		}
		i += size
	}
	return out.String()
}

func isClean(s, keep string) bool {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return false
			}
		}
		if !harmless(r, keep) {
			return false
		}
	}
	return true
}

// harmless reports whether a rune may reach the screen. Format characters such as
// bidirectional overrides, and what has no shape of its own, such as zero-width spaces
// and variation selectors, may not: they make a command look like another one.
func harmless(r rune, keep string) bool {
	switch {
	case r < 0x80:
		return r >= ' ' && r < 0x7f || strings.ContainsRune(keep, r)
	case r == braille:
		return false
	case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return false
	}
	return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r)
}

// braille is the pattern without dots, which is no blank by its category.
const braille = '\u2800'

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// withoutColours drops complete "ESC [ digits m" sequences and nothing else.
func withoutColours(s string) string {
	const start = "\x1b["
	if !strings.Contains(s, start) {
		return s
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, start)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		params := strings.TrimLeft(rest, "0123456789;:")
		if !strings.HasPrefix(params, "m") {
			out.WriteString(start)
			s = rest
			continue
		}
		s = params[1:]
	}
}
