package permissions

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// span is a part of a text, in bytes.
type span struct{ from, to int }

// place is where a list stands in a text, or where it could.
type place struct {
	body          []byte
	section, name string

	list    span // with its brackets; zero if it is not there
	entries []span

	pairs span // of an inline table of the section: after its brace, and after its last pair
	line  span // the last line of the section, with its line end; zero if it has none
	key   string
}

// find looks for a list in a text that is known to be TOML. ok is false if the list
// holds something that is no entry, whose end cannot be told.
func find(body []byte, key string) (p place, ok bool) {
	p.body = body
	p.section, p.name, _ = strings.Cut(key, ".")
	ok = true
	var parser unstable.Parser
	parser.Reset(body)
	var table []string
	for parser.NextExpression() {
		switch x := parser.Expression(); x.Kind {
		case unstable.Table:
			if table = keyOf(x); slices.Equal(table, []string{p.section}) {
				p.lineAt(keyEnd(x), p.name)
			}
		case unstable.ArrayTable:
			table = []string{"[[]]"} // holds no list
		case unstable.KeyValue:
			full := append(slices.Clone(table), keyOf(x)...)
			if len(full) > 1 && full[0] == p.section && len(table) == 0 {
				p.lineAt(end(x), p.section+"."+p.name)
			} else if slices.Equal(table, []string{p.section}) {
				p.lineAt(end(x), p.name)
			}
			ok = p.pair(full, x) && ok
		}
	}
	return p, ok && parser.Error() == nil
}

// pair looks at one key and its value.
func (p *place) pair(full []string, x *unstable.Node) (ok bool) {
	ok = true
	switch value := x.Value(); {
	case slices.Equal(full, []string{p.section, p.name}) && value.Kind == unstable.Array:
		p.list = span{bytes.IndexByte(p.body[keyEnd(x):], '[') + keyEnd(x), end(x)}
		for it := value.Children(); it.Next(); {
			to := entryEnd(p.body, it.Node())
			p.entries = append(p.entries, span{int(it.Node().Raw.Offset), to})
			ok = ok && to > 0
		}
	case slices.Equal(full, []string{p.section}) && value.Kind == unstable.InlineTable:
		p.pairs = span{int(value.Raw.Offset) + 1, int(value.Raw.Offset) + 1}
		for it := value.Children(); it.Next(); {
			kv := it.Node()
			p.pairs.to = end(kv)
			ok = p.pair(append(slices.Clone(full), keyOf(kv)...), kv) && ok
		}
	}
	return ok
}

// lineAt makes the line that at is on the last one of the section. key is what the
// list is called on the next.
func (p *place) lineAt(at int, key string) {
	p.key = key
	p.line = span{lineStart(p.body, at), len(p.body)}
	if n := bytes.IndexByte(p.body[at:], '\n'); n >= 0 {
		p.line.to = at + n + 1
	}
}

// end is where a pair ends.
func end(x *unstable.Node) int { return int(x.Raw.Offset + x.Raw.Length) }

// keyEnd is where the key of a pair or of a table ends.
func keyEnd(x *unstable.Node) (at int) {
	for it := x.Key(); it.Next(); {
		at = end(it.Node())
	}
	return at
}

// entryEnd is where an entry of a list ends; 0 if it is none.
func entryEnd(body []byte, x *unstable.Node) int {
	switch x.Kind {
	case unstable.String:
		return end(x)
	case unstable.InlineTable:
		at := int(x.Raw.Offset) + 1
		for it := x.Children(); it.Next(); {
			at = end(it.Node())
		}
		if at = skip(body, at); at < len(body) && body[at] == ',' {
			at = skip(body, at+1)
		}
		return at + 1 // the brace
	}
	return 0
}

// skip is the first place from at on that is no blank, line end or comment.
func skip(body []byte, at int) int {
	for at < len(body) {
		switch body[at] {
		case ' ', '\t', '\r', '\n':
			at++
		case '#':
			n := bytes.IndexByte(body[at:], '\n')
			if n < 0 {
				return len(body)
			}
			at += n
		default:
			return at
		}
	}
	return at
}

// skipBlanks is the first place from at on that is no blank.
func skipBlanks(body []byte, at int) int {
	for at < len(body) && (body[at] == ' ' || body[at] == '\t') {
		at++
	}
	return at
}

func lineStart(body []byte, at int) int { return bytes.LastIndexByte(body[:at], '\n') + 1 }

// indent is the blank beginning of the line that at is on.
func indent(body []byte, at int) string {
	from := lineStart(body, at)
	return string(body[from:skipBlanks(body, from)])
}

// first reports whether only blanks stand before at on its line.
func first(body []byte, at int) bool { return skipBlanks(body, lineStart(body, at)) == at }

// lineEnd is how the lines of a text end.
func lineEnd(body []byte) string {
	if n := bytes.IndexByte(body, '\n'); n > 0 && body[n-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
