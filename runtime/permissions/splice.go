package permissions

import (
	"bytes"
	"strings"

	"hecate/domain/permission"
)

// indentation of an entry below its list, where the file does not show one.
const indentation = "    "

// candidates are texts that may be what a change makes of body, the nicest first. at
// is the entry that is taken out. Which of them says the right thing is looked at by
// reading it, so a text that is wrong for an odd file does no harm.
func candidates(body []byte, c permission.Change, at int) [][]byte {
	p, ok := find(body, c.List)
	switch {
	case !ok:
		return nil
	case c.Remove && at < len(p.entries):
		return p.without(at)
	case c.Remove:
		return nil
	case p.list != (span{}):
		return p.withEntry(entryText(c))
	}
	return p.withList(entryText(c))
}

// put replaces a part of the text.
func (p place) put(at span, text string) []byte {
	out := make([]byte, 0, len(p.body)+len(text))
	out = append(out, p.body[:at.from]...)
	out = append(out, text...)
	return append(out, p.body[at.to:]...)
}

// withEntry adds an entry at the end of the list: on a line of its own if the bracket
// that closes the list is on one.
func (p place) withEntry(entry string) (out [][]byte) {
	open, bracket := p.list.from+1, p.list.to-1
	last := span{open, open}
	if n := len(p.entries); n > 0 {
		last = p.entries[n-1]
	}
	if line := lineStart(p.body, bracket); line > last.to && first(p.body, bracket) {
		head, tail := "", ","
		in := indent(p.body, bracket) + indentation
		if len(p.entries) > 0 {
			if first(p.body, last.from) {
				in = indent(p.body, last.from)
			}
			if p.body[skip(p.body, last.to)] != ',' {
				head, tail = ",", ""
			}
		}
		out = append(out, p.put(span{last.to, line}, head+string(p.body[last.to:line])+in+entry+tail+lineEnd(p.body)))
	}
	if len(p.entries) > 0 {
		return append(out, p.put(span{last.to, last.to}, ", "+entry))
	}
	if skipBlanks(p.body, open) == bracket {
		return append(out, p.put(span{open, bracket}, entry))
	}
	return append(out, p.put(span{open, open}, entry))
}

// withList adds the list, with one entry, to its section, and the section if need be.
func (p place) withList(entry string) (out [][]byte) {
	eol := lineEnd(p.body)
	lines := func(in, key string) string {
		return in + key + " = [" + eol + in + indentation + entry + "," + eol + in + "]" + eol
	}
	if p.pairs.from > 0 {
		pair := p.name + " = [" + entry + "]"
		if p.pairs.to > p.pairs.from {
			return [][]byte{p.put(span{p.pairs.to, p.pairs.to}, ", "+pair)}
		}
		return [][]byte{p.put(span{p.pairs.to, skipBlanks(p.body, p.pairs.to)}, " "+pair+" ")}
	}
	if p.line.to > 0 {
		text := lines(indent(p.body, p.line.from), p.key)
		if !bytes.HasSuffix(p.body[:p.line.to], []byte("\n")) {
			text = eol + text
		}
		out = append(out, p.put(span{p.line.to, p.line.to}, text))
	}
	before := ""
	switch whole := string(p.body); {
	case whole == "":
	case strings.HasSuffix(whole, "\n"):
		before = eol
	default:
		before = eol + eol
	}
	all := len(p.body)
	return append(out, p.put(span{all, all}, before+"["+p.section+"]"+eol+lines("", p.name)))
}

// without takes an entry out, with its line if it has one of its own: a comment on
// that line is about the entry.
func (p place) without(at int) (out [][]byte) {
	x := p.entries[at]
	comma := skip(p.body, x.to)
	if p.body[comma] != ',' {
		comma = -1
	}
	if rest, ok := p.restOfLine(x.to); ok && first(p.body, x.from) {
		out = append(out, p.put(span{lineStart(p.body, x.from), rest}, ""))
	}
	if comma > 0 {
		out = append(out, p.put(span{x.from, skipBlanks(p.body, comma+1)}, ""))
	}
	if at > 0 {
		if before := p.entries[at-1].to; !bytes.ContainsRune(p.body[before:x.from], '\n') {
			out = append(out, p.put(span{before, x.to}, ""))
		}
	}
	return append(out, p.put(x, ""))
}

// restOfLine is where the next line begins, if nothing but a comma and a comment is
// between at and that.
func (p place) restOfLine(at int) (next int, ok bool) {
	if at = skipBlanks(p.body, at); at < len(p.body) && p.body[at] == ',' {
		at = skipBlanks(p.body, at+1)
	}
	n := bytes.IndexByte(p.body[at:], '\n')
	if n < 0 {
		return 0, false
	}
	rest := strings.TrimSuffix(string(p.body[at:at+n]), "\r")
	return at + n + 1, rest == "" || strings.HasPrefix(rest, "#")
}
