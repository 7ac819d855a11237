package secret

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// form is one spelling of a value.
type form struct {
	text string
	need int // so many bytes of it count as all of it: it may be cut off
	of   int // place of the value
}

func needOf(text string) int { return max(ValueMin, (len(text)+1)/2) }

// spellings lists how a value may stand in a text: as it is, within JSON, within JSON that is
// a text of other JSON, within URLs, and within base64.
func spellings(value string) []string {
	out := []string{value}
	add := func(texts ...string) {
		for _, t := range texts {
			if len(t) >= ValueMin && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	for _, quoted := range []string{inJSON(value, true), inJSON(value, false)} {
		add(quoted, inJSON(quoted, false))
	}
	for _, digits := range []string{"0123456789ABCDEF", "0123456789abcdef"} {
		form := inURL(value, digits)
		add(form, strings.ReplaceAll(form, "%20", "+"))
	}
	for before := range 3 {
		inner := inBase64(value, before)
		add(inner, strings.NewReplacer("+", "-", "/", "_").Replace(inner))
	}
	return out
}

// inJSON is s between the quotes of a JSON text.
func inJSON(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil { // a string always encodes
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

// inURL is s with everything escaped that some part of a URL may not hold.
func inURL(s, digits string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; wordRune(rune(c)) || strings.IndexByte("-.~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

// inBase64 is what is certain of s in the base64 of a longer text that has so many bytes,
// modulo three, before it: without the characters that its neighbours have a part in.
func inBase64(s string, before int) string {
	text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), s...))
	first := (before*8 + 5) / 6
	last := (before + len(s)) * 8 / 6
	return text[first:last]
}
