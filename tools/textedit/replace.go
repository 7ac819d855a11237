// Package textedit changes texts the way models describe it: this text by that one
// (Find), or a patch of several files (Parse, Section.Apply).
//
// A model sees lines, but neither how they end nor a byte-order mark. So those stay
// as the file has them, and so does whether the last line ends in a newline.
package textedit

import "strings"

// bom is the UTF-8 byte-order mark.
const bom = "\uFEFF"

// Edit is a replacement that was found and not yet made.
type Edit struct {
	Count int // how often the old text was found, without overlaps

	text     lineText
	old      string
	lf, crlf string // the new text for lines that end like that
}

// Find looks for old in text, in order to put new there. A line feed in old stands
// for any line end, and one in new becomes what the lines there end in. Only if old
// has carriage returns and is found with them, both are taken to the byte.
func Find(text, old, new string) Edit {
	body := strings.TrimPrefix(text, bom)
	if body != text { // a model that repeats the mark means the line behind it
		old, new = strings.TrimPrefix(old, bom), strings.TrimPrefix(new, bom)
	}
	e := Edit{text: lineText{head: text[:len(text)-len(body)], raw: body, fed: body}, old: old, lf: new, crlf: new}
	if old == "" {
		return e
	}
	if strings.Contains(old, "\r\n") {
		if e.Count = strings.Count(body, old); e.Count > 0 {
			return e
		}
	}
	e.text.feed()
	e.old, e.lf = feeds(old), feeds(new)
	e.crlf = strings.ReplaceAll(e.lf, "\n", "\r\n")
	e.Count = strings.Count(e.text.fed, e.old)
	return e
}

// Text returns the text with every occurrence replaced, or false if it would be
// longer than limit bytes.
func (e Edit) Text(limit int) (string, bool) {
	var b strings.Builder
	b.WriteString(e.text.head)
	at := place{text: &e.text}
	rest := 0 // in raw
	for range e.Count {
		at.move(at.fed + strings.Index(e.text.fed[at.fed:], e.old))
		b.WriteString(e.text.raw[rest:at.raw()])
		if at.crlf() {
			b.WriteString(e.crlf)
		} else {
			b.WriteString(e.lf)
		}
		at.move(at.fed + len(e.old))
		rest = at.raw()
		if b.Len() > limit {
			return "", false
		}
	}
	b.WriteString(e.text.raw[rest:])
	return b.String(), b.Len() <= limit
}

// feeds writes all line ends as line feeds.
func feeds(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// lineText is a text and its form with line feeds only, in which is searched.
type lineText struct {
	head string // byte-order mark, or nothing
	raw  string
	fed  string
	ends []int32 // where the line feeds of fed are, if raw has other line ends
	two  []bool  // which of them are two bytes in raw
}

func (t *lineText) feed() {
	if !strings.Contains(t.raw, "\r\n") {
		return
	}
	t.fed = feeds(t.raw)
	at := 0
	for line := range strings.Lines(t.raw) {
		two := strings.HasSuffix(line, "\r\n")
		at += len(line)
		if two {
			at--
		}
		if strings.HasSuffix(line, "\n") {
			t.ends, t.two = append(t.ends, int32(at-1)), append(t.two, two)
		}
	}
}

// place is a position that moves forward in both forms of a text.
type place struct {
	text   *lineText
	fed    int
	line   int // line ends before it
	shrunk int // bytes by which raw is ahead of fed
}

func (p *place) move(fed int) {
	p.fed = fed
	for p.line < len(p.text.ends) && int(p.text.ends[p.line]) < fed {
		if p.text.two[p.line] {
			p.shrunk++
		}
		p.line++
	}
}

func (p *place) raw() int { return p.fed + p.shrunk }

// crlf reports whether the line here ends in two bytes; an open last line counts
// like the one before it.
func (p *place) crlf() bool {
	n := min(p.line, len(p.text.ends)-1)
	return n >= 0 && p.text.two[n]
}
