package permissions

import (
	"bytes"
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

// salvage reads the entries of a text that is no TOML, line by line: those that stand on
// lines which are fine by themselves. Only what forbids something may count of them.
func salvage(to *permission.Source, path string, data []byte) {
	table, key := "", ""
	n := 0
	for line := range bytes.Lines(data) {
		n++
		rest := strings.TrimRight(string(line), "\r\n")
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
		if !slices.Contains(lists, key) {
			continue
		}
		list := listOf(to, key)
		for _, t := range entriesOn(rest) {
			t.At = fmt.Sprintf("%s:%d", path, n)
			*list = append(*list, t)
		}
	}
}

// entriesOn reads the entries of one line of a list.
func entriesOn(line string) (out []permission.Text) {
	var doc struct{ X []any }
	tried := []string{line, strings.TrimSuffix(strings.TrimSpace(line), "]")}
	if toml.Unmarshal([]byte("X = [\n"+tried[0]+"\n]"), &doc) != nil && toml.Unmarshal([]byte("X = [\n"+tried[1]+"\n]"), &doc) != nil {
		return nil
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
	return out
}
