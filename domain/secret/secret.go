// Package secret keeps what a process knows and nobody may read in what it records: API
// keys, tokens, passwords. A Set holds them by name and puts a marker in the place of each
// that it finds in a text, in the usual spellings: as it is, as it stands in JSON and in
// URLs, and in base64.
//
// It recognises values, not what looks like one. A value that was transformed in any other
// way, or is put together from pieces, passes.
package secret

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
)

// Bounds of a value that can be told from ordinary text, in bytes.
const (
	ValueMin = 8
	ValueMax = 4096
)

// wordMax is up to which length a value that may be a word is taken for one: "postgres" and
// "changeme" are passwords that half of all texts would be full of markers for.
const wordMax = 15

// Set is the secrets of a process. The zero value and nil hold none. It is safe for
// concurrent use, and prints as what it is, never what it holds.
type Set struct {
	mu     sync.Mutex
	values []held
	table  atomic.Pointer[table]
}

// held is a value with the names that it goes by, the first of which stands in the marker.
type held struct {
	value string
	names []string
}

// Add holds a value under a name, such as that of the variable it comes from. It reports
// whether the value is one that can be held: of ValueMin to ValueMax bytes and, if it is
// short, not of one kind of letters only.
func (s *Set) Add(name, value string) bool {
	value = strings.TrimSpace(value)
	if len(value) < ValueMin || len(value) > ValueMax || len(value) <= wordMax && kinds(value) < 2 {
		return false
	}
	name = cleanName(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.values, func(h held) bool { return h.value == value })
	switch {
	case i < 0:
		s.values = append(s.values, held{value, []string{name}})
	case slices.Contains(s.values[i].names, name):
		return true
	default:
		s.values[i].names = append(slices.Clone(s.values[i].names), name)
	}
	s.table.Store(newTable(slices.Clone(s.values)))
	return true
}

// Names returns the names of all values, sorted.
func (s *Set) Names() []string {
	t := s.current()
	if t == nil {
		return nil
	}
	var out []string
	for _, h := range t.values {
		out = append(out, h.names...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Withhold returns text with a marker, "[secret NAME]", for each value in it, and the names
// of these; text itself and none if there are none. Of a value that is cut off the first half
// counts as the value.
func (s *Set) Withhold(text string) (string, []string) {
	t := s.current()
	if t == nil {
		return text, nil
	}
	return t.withhold(text)
}

// Marked returns, of secrets that were withheld before, those whose markers text holds.
func (s *Set) Marked(text string, withheld []string) []string {
	t := s.current()
	if t == nil || len(withheld) == 0 {
		return nil
	}
	var out []string
	for _, h := range t.values {
		if slices.Contains(withheld, h.names[0]) && strings.Contains(text, Marker(h.names[0])) {
			out = append(out, h.names...)
		}
	}
	return out
}

// Named returns which of the secrets a text names, as a word of its own, without having
// their values: the variables in the text of a command.
func (s *Set) Named(text string) []string {
	var out []string
	for _, name := range s.Names() {
		if named(text, name) {
			out = append(out, name)
		}
	}
	return out
}

// Format says that this is a set of secrets, whatever the verb.
func (s *Set) Format(f fmt.State, _ rune) { fmt.Fprint(f, "(secrets)") }

func (s *Set) current() *table {
	if s == nil {
		return nil
	}
	return s.table.Load()
}

// Marker is what stands in the place of the secret of a name.
func Marker(name string) string { return "[secret " + name + "]" }

// kinds counts the kinds of characters: small letters, capital letters, digits, others but
// for those that stand between words.
func kinds(s string) int {
	var kind [4]bool
	for _, r := range s {
		switch {
		case unicode.IsLower(r):
			kind[0] = true
		case unicode.IsUpper(r):
			kind[1] = true
		case unicode.IsDigit(r):
			kind[2] = true
		case !strings.ContainsRune("-_. ", r):
			kind[3] = true
		}
	}
	n := 0
	for _, k := range kind {
		if k {
			n++
		}
	}
	return n
}

// cleanName keeps a marker what it is, wherever it comes to stand.
func cleanName(name string) string {
	return strings.Map(func(r rune) rune {
		if wordRune(r) || strings.ContainsRune(".:@-", r) {
			return r
		}
		return '_'
	}, name)
}

func wordRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// named reports whether a word of text is the name.
func named(text, name string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(name)
		if (start == 0 || !wordRune(rune(text[start-1]))) && (end == len(text) || !wordRune(rune(text[end]))) {
			return true
		}
		from = start + 1
	}
}
