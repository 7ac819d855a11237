package permissions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"hecate/domain/permission"
)

var (
	tableLine = regexp.MustCompile(`^\s*\[\s*"?(\w+)"?\s*\]`)
	keyLine   = regexp.MustCompile(`^\s*(?:(\w+)\s*\.\s*)?"?(\w+)"?\s*=\s*\[?(.*)$`)
)

// salvage reads the entries of a text that is no TOML: those that are fine by themselves,
// each on its line or from its brace to the one that closes it. Only what forbids
// something may count of them.
func salvage(to *permission.Source, path string, data []byte) {
	lines := strings.Split(string(data), "\n")
	table, key := "", ""
	budget, inside := joinedMax, 0 // bytes that may still be tried; up to which line an entry goes on
	for i, line := range lines {
		rest := strings.TrimRight(line, "\r")
		if i >= inside { // else the line is of a reason, or of a table inside the list
			if m := tableLine.FindStringSubmatch(rest); m != nil {
				table, key = m[1], ""
				continue
			}
			if m := keyLine.FindStringSubmatch(rest); m != nil && !strings.HasPrefix(strings.TrimSpace(rest), "{") {
				if key = table + "." + m[2]; m[1] != "" {
					key = m[1] + "." + m[2]
				}
				rest = m[3]
			}
		}
		if !slices.Contains(lists, key) {
			continue
		}
		entries, ok := entriesOn(rest)
		if !ok && i >= inside && strings.Contains(rest, "{") {
			var more int
			entries, more = joined(rest, lines[i+1:], &budget)
			inside = i + 1 + more
		}
		list := listOf(to, key)
		for _, t := range entries {
			t.At = fmt.Sprintf("%s:%d", path, i+1)
			*list = append(*list, t)
		}
	}
}

// Bounds of what is joined: what nobody can read shall not take long.
const (
	entryLinesMax = 64      // lines of one entry
	joinedMax     = 4 << 20 // bytes of all that is tried in a file
)

// joined reads an entry that begins on a line and goes on for some more of the lines
// after it. more is 0 if it does not end.
func joined(text string, lines []string, budget *int) (out []permission.Text, more int) {
	for i, line := range lines[:min(len(lines), entryLinesMax)] {
		text += "\n" + strings.TrimRight(line, "\r")
		if *budget -= len(text); *budget < 0 {
			return nil, 0
		}
		if !strings.Contains(line, "}") {
			continue
		}
		if out, ok := entriesOn(text); ok {
			return out, i + 1
		}
	}
	return nil, 0
}

// entriesOn reads the entries of a part of a list; ok is false if it is none.
func entriesOn(text string) (out []permission.Text, ok bool) {
	var doc struct{ X []any }
	tried := []string{text, strings.TrimSuffix(strings.TrimSpace(text), "]")}
	if toml.Unmarshal([]byte("X = [\n"+tried[0]+"\n]"), &doc) != nil && toml.Unmarshal([]byte("X = [\n"+tried[1]+"\n]"), &doc) != nil {
		return nil, false
	}
	for _, x := range doc.X {
		switch x := x.(type) {
		case string:
			out = append(out, permission.Text{Text: x})
		case map[string]any:
			text, _ := x["pattern"].(string)
			reason, _ := x["reason"].(string)
			out = append(out, permission.Text{Text: text, Reason: reason})
		}
	}
	return out, true
}
