package permissions

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"hecate/domain/permission"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// parsed is one reading of a file.
type parsed struct {
	source   permission.Source
	problems []permission.Problem
	ok       bool // the file may take the place of what was in force
}

// lists are the keys of entries that a file may have.
var lists = permission.Lists()

// tables are those that a file may have, besides [[locks]].
var tables = []string{"permissions", "network", "repetition"}

// listOf is where a source keeps a list.
func listOf(s *permission.Source, key string) *[]permission.Text {
	switch key {
	case permission.ListDeny:
		return &s.Deny
	case permission.ListApprove:
		return &s.Approve
	case permission.ListPromoted:
		return &s.Promoted
	case permission.ListHostDeny:
		return &s.HostDeny
	case permission.ListHostAllow:
		return &s.HostAllow
	case permission.ListHostPromoted:
		return &s.HostPromoted
	}
	return nil
}

// reader goes through the text of one file.
type reader struct {
	path   string
	parser unstable.Parser
	lock   *lock // the one that is being read
	parsed
}

// parse reads a file. fault says why there is no text. A file is shut out if it is no
// TOML, if a list is not one, or if a deny entry means nothing: what it would forbid
// is not known then. Unknown keys and grants that mean nothing shut nothing out.
func parse(layer permission.Layer, path string, data []byte, fault string) parsed {
	r := reader{path: path}
	r.source, r.ok = permission.Source{Layer: layer, Accepted: layer == permission.LayerUser}, true
	_, data = cutBOM(data)
	var all map[string]any
	err := toml.Unmarshal(data, &all)
	var syntax *toml.DecodeError
	switch {
	case fault != "":
		r.shutOut("file", 0, fault)
	case err == nil:
		r.document(data)
		r.checkDenied()
		return r.parsed
	case errors.As(err, &syntax):
		line, column := syntax.Position()
		r.shutOut("file", line, fmt.Sprintf("it cannot be read: %s (column %d)", strings.TrimPrefix(syntax.Error(), "toml: "), column))
	default:
		r.shutOut("file", 0, fmt.Sprintf("it cannot be read: %v", err))
	}
	salvage(&r.source, path, data)
	return r.parsed
}

func (r *reader) at(line int) string {
	if line == 0 {
		return r.path
	}
	return fmt.Sprintf("%s:%d", r.path, line)
}

func (r *reader) report(key string, line int, message string) {
	r.problems = append(r.problems, permission.Problem{Layer: r.source.Layer, List: key, At: r.at(line), Refused: true, Message: message})
}

// keptNote says what becomes of a file that is shut out.
const keptNote = "; until it is mended, what the file said before stays in force, with those of its deny entries that can be read, and nothing else of it"

func (r *reader) shutOut(key string, line int, message string) {
	r.ok = false
	r.report(key, line, message+keptNote)
}

// document reads a text that is known to be TOML.
func (r *reader) document(data []byte) {
	r.parser.Reset(data)
	var table []string
	for r.parser.NextExpression() {
		switch x := r.parser.Expression(); x.Kind {
		case unstable.Table, unstable.ArrayTable:
			r.endLock()
			table = keyOf(x)
			switch name := nameOf(table); {
			case name == "locks" && x.Kind == unstable.ArrayTable:
				r.beginLock(r.line(x))
			case x.Kind == unstable.ArrayTable || !slices.Contains(tables, name):
				r.unknown(name, r.line(x))
			}
		case unstable.KeyValue:
			if r.lock != nil {
				r.lockKey(x)
			} else {
				r.keyValue(table, x)
			}
		}
	}
	r.endLock()
}

func (r *reader) unknown(key string, line int) {
	r.report(key, line, "there is no such key; files have deny, approve and promoted in [permissions], allow, deny and promoted in [network], name and patterns in [[locks]], and limits in [repetition]")
}

func (r *reader) keyValue(table []string, x *unstable.Node) {
	full := append(slices.Clone(table), keyOf(x)...)
	key, value := nameOf(full), x.Value()
	switch {
	case slices.Contains(lists, key):
		r.list(key, r.line(x), value)
	case full[0] == "repetition" && len(full) == 2:
		r.limit(full[1], r.line(x), value)
	case key == "locks":
		r.lockList(r.line(x), value)
	case value.Kind == unstable.InlineTable && len(full) == 1 && slices.Contains(tables, key):
		for it := value.Children(); it.Next(); {
			r.keyValue(full, it.Node())
		}
	case len(table) > 0 && !slices.Contains(tables, table[0]):
		// The table was reported.
	case key == "permissions" || key == "network":
		r.shutOut(key, r.line(x), "it is not a table; write ["+key+"] on a line of its own")
	default:
		r.unknown(key, r.line(x))
	}
}

func (r *reader) list(key string, line int, value *unstable.Node) {
	if value.Kind != unstable.Array {
		r.shutOut(key, line, fmt.Sprintf("it is not a list; write %s = [\"…\"]", key[strings.IndexByte(key, '.')+1:]))
		return
	}
	to := listOf(&r.source, key)
	for it := value.Children(); it.Next(); {
		switch x := it.Node(); x.Kind {
		case unstable.Comment:
		case unstable.String:
			*to = append(*to, permission.Text{Text: string(x.Data), At: r.at(r.line(x))})
		case unstable.InlineTable:
			r.entry(key, line, x)
		default:
			r.shutOut(key, max(line, r.line(x)), `an entry is neither a text nor { pattern = "…", reason = "…" }`)
		}
	}
}

// entry reads { pattern = "…", reason = "…" }.
func (r *reader) entry(key string, line int, x *unstable.Node) {
	line = max(line, r.line(x))
	t := permission.Text{At: r.at(line)}
	for it := x.Children(); it.Next(); {
		kv := it.Node()
		name, value := nameOf(keyOf(kv)), kv.Value()
		switch {
		case value.Kind != unstable.String:
			r.shutOut(key, line, fmt.Sprintf("%s of an entry is not a text", name))
		case name == "pattern" || name == "host" && strings.HasPrefix(key, "network."):
			t.Text = string(value.Data)
		case name == "reason":
			t.Reason = string(value.Data)
		default:
			r.report(key, line, fmt.Sprintf("an entry has no %q; it has pattern and reason", name))
		}
	}
	*listOf(&r.source, key) = append(*listOf(&r.source, key), t)
}

// line is where a node begins, counted from 1; 0 if the node does not say.
func (r *reader) line(x *unstable.Node) int {
	if x.Raw.Length > 0 {
		return r.parser.Shape(x.Raw).Start.Line
	}
	for it := x.Children(); it.Next(); {
		if line := r.line(it.Node()); line > 0 {
			return line
		}
	}
	return 0
}

// nameOf is a key as one text. A part with a dot in it is quoted, as in the file.
func nameOf(parts []string) string {
	out := slices.Clone(parts)
	for i, part := range out {
		if strings.ContainsAny(part, ".\"") {
			out[i] = strconv.Quote(part)
		}
	}
	return strings.Join(out, ".")
}

func keyOf(x *unstable.Node) (parts []string) {
	for it := x.Key(); it.Next(); {
		parts = append(parts, string(it.Node().Data))
	}
	return parts
}

// checkDenied shuts the file out if one of its deny entries means nothing.
func (r *reader) checkDenied() {
	r.source.Deny = r.understood(permission.ListDeny, r.source.Deny, func(text string) error {
		p, err := pattern.Parse(text)
		if err == nil {
			err = p.ForDeny()
		}
		return err
	})
	r.source.HostDeny = r.understood(permission.ListHostDeny, r.source.HostDeny, func(text string) error {
		_, err := host.Parse(text)
		return err
	})
}

// understood are the entries that mean something. What is wrong with the others is said
// here, once: Load would say it again, without what it does to the file.
func (r *reader) understood(list string, entries []permission.Text, check func(string) error) []permission.Text {
	return slices.DeleteFunc(entries, func(t permission.Text) bool {
		err := check(t.Text)
		if err != nil {
			r.ok = false
			r.problems = append(r.problems, permission.Problem{Layer: r.source.Layer, List: list, At: t.At, Refused: true, Message: err.Error() + keptNote})
		}
		return err != nil
	})
}
