package terminal

import (
	"strings"
	"unicode"
)

// Columns returns how many columns s takes on a screen. It expects harmless text
// of one line.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case wide(r):
		return 2
	}
	return 1
}

// wide covers the blocks of East Asian wide characters and emoji. A rare
// character that it misses shifts one line by a column and does no more harm.
func wide(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r < 0x2e80 && r > 0x115f:
		return strings.ContainsRune(wideSigns, r)
	case r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x17000 && r <= 0x18cff, r >= 0x1b000 && r <= 0x1b2ff, r == 0x1f18e, r >= 0x1f191 && r <= 0x1f19a, r >= 0x1f200 && r <= 0x1f265, r >= 0x1f300 && r <= 0x1f64f,
		r >= 0x1f680 && r <= 0x1f6ff, r >= 0x1f7e0 && r <= 0x1f7eb, r >= 0x1f90c && r <= 0x1f9ff, r >= 0x1fa70 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return true
	}
	return false
}

// wideSigns are the single ones among narrow signs.
const wideSigns = "⌚⌛\u2329\u232a⏩⏪⏫⏬⏰⏳◽◾☔☕♈♉♊♋♌♍♎♏♐♑♒♓♿⚓⚡⚪⚫⚽⚾⛄⛅⛎⛔⛪⛲⛳⛵⛺⛽✅✊✋✨❌❎❓❔❕❗➕➖➗➰➿⬛⬜⭐⭕"

// Cut shortens s to at most columns, with "…" as the last one if anything was cut.
func Cut(s string, columns int) string {
	if Columns(s) <= columns {
		return s
	}
	if columns <= 0 {
		return ""
	}
	used := 1 // for the ellipsis
	for i, r := range s {
		used += runeColumns(r)
		if used > columns {
			return s[:i] + "…"
		}
	}
	return s
}

// Fold breaks one line into pieces of at most columns, wherever they fall, and
// loses no character: for text that must be seen exactly as it is.
func Fold(s string, columns int) []string {
	var out []string
	start, used := 0, 0
	for i, r := range s {
		w := runeColumns(r)
		if used+w > columns && i > start {
			out = append(out, s[start:i])
			start, used = i, 0
		}
		used += w
	}
	return append(out, s[start:])
}

// Wrap breaks text at blanks into lines of at most columns. Line breaks and the
// indent of a line stay; a word that is too long for a line keeps a line of its own.
func Wrap(s string, columns int) []string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		out = append(out, wrapLine(strings.TrimRight(line, " \t"), columns)...)
	}
	return out
}

func wrapLine(line string, columns int) []string {
	if Columns(line) <= columns {
		return []string{line}
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	var out []string
	current := indent
	for word := range strings.FieldsSeq(line) {
		switch {
		case current == indent:
			current += word
		case Columns(current)+1+Columns(word) <= columns:
			current += " " + word
		default:
			out = append(out, current)
			current = indent + word
		}
	}
	return append(out, current)
}

// Fit is Wrap that breaks a word that is too long for a line, too.
func Fit(s string, columns int) []string {
	var out []string
	for _, line := range Wrap(s, columns) {
		out = append(out, Fold(line, columns)...)
	}
	return out
}
