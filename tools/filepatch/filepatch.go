// Package filepatch writes one changed file as a diff and reads it back exactly.
//
// The diff is a unified diff with a single hunk that removes all old lines and adds
// all new ones, also where only one line differs: readers of patches, ours and
// other people's, take both whole texts from it, to compare, apply and revert.
// git apply accepts it.
package filepatch

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	devNull   = "/dev/null"
	noNewline = "\\ No newline at end of file\n"
)

// File is one side of a patch. A file that does not exist has no content.
type File struct {
	Exists  bool
	Content string // any bytes
}

// Text is a file with content.
func Text(content string) File { return File{Exists: true, Content: content} }

// Patch is what becomes of one file. At least one side exists.
type Patch struct {
	Path          string // relative, with slashes
	Before, After File
}

// Diff writes the patch. git has no hunk for a file that is empty before or after
// and absent on the other side: its own header stands for it.
func (p Patch) Diff() string {
	var b strings.Builder
	b.Grow(len(p.Before.Content) + len(p.After.Content) + (len(p.Before.Content)+len(p.After.Content))/16 + 2*len(p.Path) + 256)
	hunk := p.Before.Content != "" || p.After.Content != ""
	if !hunk && p.Before.Exists != p.After.Exists {
		word := "new"
		if p.Before.Exists {
			word = "deleted"
		}
		fmt.Fprintf(&b, "diff --git %s %s\n%s file mode 100644\n", quote("a/"+p.Path), quote("b/"+p.Path), word)
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", p.Before.name("a/"+p.Path), p.After.name("b/"+p.Path))
	if hunk {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", p.Before.span(), p.After.span())
		p.Before.write(&b, '-')
		p.After.write(&b, '+')
	}
	return b.String()
}

func (f File) name(path string) string {
	if !f.Exists {
		return devNull
	}
	return quote(path)
}

// span is where the lines of a side are: all of them from line 1 on.
func (f File) span() string {
	n := strings.Count(f.Content, "\n")
	if f.Content != "" && !strings.HasSuffix(f.Content, "\n") {
		n++
	}
	if n == 0 {
		return "0,0"
	}
	return "1," + strconv.Itoa(n)
}

func (f File) write(b *strings.Builder, mark byte) {
	for line := range strings.Lines(f.Content) {
		b.WriteByte(mark)
		b.WriteString(line)
	}
	if f.Content != "" && !strings.HasSuffix(f.Content, "\n") {
		b.WriteString("\n" + noNewline)
	}
}

// quote writes a name as git does: as it is, or in quotes if a byte of it would
// end the name or the line.
func quote(name string) string {
	odd := func(c rune) bool { return c < ' ' || c == 0x7f || c == '"' || c == '\\' }
	if !strings.ContainsFunc(name, odd) {
		return name
	}
	b := []byte{'"'}
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c >= 0x7f:
			b = fmt.Appendf(b, "\\%03o", c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
