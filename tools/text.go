package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cut shortens s to at most n bytes without cutting a character in two.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// How much of what a model wrote an event holds, in bytes. An event has a limit, and
// one that goes over it can't be recorded, nor can anything of its run after it.
const (
	shownMax     = 4 << 10 // of one argument
	titleMax     = 256     // of a step's title
	errorTextMax = 1 << 10 // of a step's error; the model sees all of it
)

// Shown is an argument as events show it: whole up to 4 KiB, else its beginning and
// its size.
func Shown(s string) string {
	if len(s) <= shownMax {
		return s
	}
	return fmt.Sprintf("%s…(%d bytes in all)", Cut(s, shownMax), len(s))
}

// ErrorText is an error as a step shows it: up to 1 KiB, as text.
func ErrorText(s string) string { return shorten(s, errorTextMax) }

func shorten(s string, n int) string {
	if s = Valid(s); len(s) <= n {
		return s
	}
	return Cut(s, n-len("…")) + "…"
}

// shown shortens the texts among a step's values, in place.
func shown(values map[string]any) map[string]any {
	for name, v := range values {
		if s, ok := v.(string); ok {
			values[name] = Shown(s)
		}
	}
	return values
}

// ShownName is a path as it stands in a result: as it is, or as a JSON string if
// it holds a character that could be taken for the text around it.
func ShownName(path string) string {
	odd := path == "" || path[0] == '"' || path[0] == ' ' || path[len(path)-1] == ' ' || !utf8.ValidString(path) ||
		strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' })
	if !odd {
		return path
	}
	return Quoted(path)
}

// Quoted is s as a JSON string, without the escapes that HTML needs. The 8-bit
// controls, which JSON allows in the raw, are escaped: a terminal obeys them.
func Quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // strings always encode
	out := strings.TrimSuffix(b.String(), "\n")
	if !strings.ContainsFunc(out, func(r rune) bool { return r >= 0x7f && r < 0xa0 }) {
		return out
	}
	b.Reset()
	for _, r := range out {
		if r >= 0x7f && r < 0xa0 {
			const hex = "0123456789abcdef"
			b.WriteString(`\u00` + string(hex[r>>4]) + string(hex[r&15]))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Valid is s with U+FFFD for bytes that are no UTF-8: models read text.
func Valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
