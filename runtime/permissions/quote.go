package permissions

import (
	"fmt"
	"strings"
	"unicode"

	"hecate/domain/permission"
)

// entryText is an entry as it stands in a list, on one line.
func entryText(c permission.Change) string {
	if c.Reason == "" {
		return quote(c.Text)
	}
	return fmt.Sprintf("{ %s = %s, reason = %s }", entryKey(c.List), quote(c.Text), quote(c.Reason))
}

// escapes are the characters that have a short escape.
var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`}

// quote writes a text as a string of TOML. What cannot be seen is escaped, so that
// nothing in the file looks like something else.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch short, ok := escapes[r]; {
		case ok:
			b.WriteString(short)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
