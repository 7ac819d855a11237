package textedit

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Apply returns the text after an update. The lines that a hunk keeps and takes
// away must stand together, behind those of the hunk before; of several places the
// first is meant. An error says which line of which hunk was not found.
func (s Section) Apply(text string) (string, error) {
	d := newDocument(text)
	for i, h := range s.Hunks {
		if err := d.apply(h); err != nil {
			return "", fmt.Errorf("%w (hunk %d of %d)", err, i+1, len(s.Hunks))
		}
	}
	after := d.finish()
	if after == text {
		return "", errors.New("patch produced no change")
	}
	return after, nil
}

// document is a text while hunks are applied to it from top to bottom.
type document struct {
	lines  []string // with their line ends
	fed    string   // the lines with line feeds, behind one line feed
	closed string   // line end that was added to an open last line

	line int // first line that no hunk has dealt with
	off  int // where it is in fed: at the line feed in front of it
	out  strings.Builder
	last bool // what was written last is the last line, or put in its place
}

func newDocument(text string) *document {
	d := &document{}
	body := strings.TrimPrefix(text, bom)
	d.out.WriteString(text[:len(text)-len(body)])
	for line := range strings.Lines(body) {
		d.lines = append(d.lines, line)
	}
	if n := len(d.lines); n > 0 && !strings.HasSuffix(body, "\n") {
		d.closed = d.end(n - 1)
		d.lines[n-1] += d.closed
		body += d.closed
	}
	d.fed = "\n" + feeds(body)
	return d
}

// end is how a line put before line n should end: like the one above it.
func (d *document) end(n int) string {
	if n = max(n-1, 0); n < len(d.lines) && strings.HasSuffix(d.lines[n], "\r\n") {
		return "\r\n"
	}
	return "\n"
}

func (d *document) apply(h Hunk) error {
	at, err := d.locate(h)
	if err != nil {
		return err
	}
	d.keepTo(at)
	for _, line := range h.Lines {
		switch text := line[1:]; line[0] {
		case ' ':
			d.keepTo(d.after())
		case '-':
			d.off = d.after()
			d.line++
		default:
			end := d.end(d.line)
			if end == "\r\n" {
				text = strings.TrimSuffix(text, "\r")
			}
			d.out.WriteString(text + end)
			d.last = true
		}
	}
	return nil
}

// keepTo copies the lines up to a place in fed.
func (d *document) keepTo(off int) {
	for d.off < off {
		d.out.WriteString(d.lines[d.line])
		d.last = d.line == len(d.lines)-1
		d.off = d.after()
		d.line++
	}
}

// after is where the line behind the current one begins.
func (d *document) after() int {
	n := len(d.lines[d.line])
	if strings.HasSuffix(d.lines[d.line], "\r\n") {
		n--
	}
	return d.off + n
}

func (d *document) finish() string {
	d.keepTo(len(d.fed) - 1)
	if !d.last {
		return d.out.String()
	}
	return strings.TrimSuffix(d.out.String(), d.closed)
}

// locate finds where a hunk belongs.
func (d *document) locate(h Hunk) (int, error) {
	var old, marked []string
	for _, line := range h.Lines {
		if line[0] != '+' {
			old, marked = append(old, line[1:]), append(marked, line)
		}
	}
	from, anchored := d.anchor(h.Anchors)
	if len(old) == 0 {
		switch {
		case anchored:
			return from + strings.IndexByte(d.fed[from+1:], '\n') + 1, nil
		case len(d.lines) == 0:
			return d.off, nil
		}
		return 0, errors.New("no line says where the new lines belong; give a context line")
	}
	if at, ok := d.find(old, from); ok {
		return at, nil
	}
	if at, ok := d.find(old, d.off); ok {
		return at, nil
	}
	n := sort.Search(len(old)-1, func(n int) bool { _, ok := d.find(old[:n+1], d.off); return !ok })
	kind := "context"
	if marked[n][0] == '-' {
		kind = "removal"
	}
	return 0, fmt.Errorf("%s line not found: %q", kind, shown(old[n]))
}

// find looks for lines that stand together, from a place on.
func (d *document) find(lines []string, from int) (int, bool) {
	n := strings.Index(d.fed[from:], "\n"+feeds(strings.Join(lines, "\n")+"\n"))
	return from + n, n >= 0
}

// anchor returns where the last of the anchors is, if it is in the text at all.
func (d *document) anchor(anchors []string) (at int, found bool) {
	at = d.off
	for _, a := range anchors {
		for from := at; ; {
			n := strings.Index(d.fed[from:], a)
			if n < 0 {
				break
			}
			begin := strings.LastIndexByte(d.fed[:from+n], '\n')
			length := strings.IndexByte(d.fed[begin+1:], '\n')
			if strings.TrimSpace(d.fed[begin+1:begin+1+length]) == a {
				at, found = begin, true
				break
			}
			from = begin + 1 + length
		}
	}
	return at, found
}
