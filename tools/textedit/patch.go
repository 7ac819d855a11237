package textedit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What a section does with its file.
const (
	Add    = "add"
	Update = "update"
	Delete = "delete"
)

// Section is the part of a patch that is about one file.
type Section struct {
	Op      string // Add, Update or Delete
	Path    string // as it was written
	Content string // of an added file
	Hunks   []Hunk // of an update, in the order of the file
}

// Hunk is a run of lines that stand together in a file.
type Hunk struct {
	// Anchors are lines that come before the hunk, from the text behind @@. They
	// help to choose among several places; one that is not in the file is ignored.
	Anchors []string
	Lines   []string // begin with a space (stays), - (goes) or + (comes)
}

const (
	patchBegin = "*** Begin Patch"
	patchEnd   = "*** End Patch"

	shownMax = 200 // bytes of a line in an error
)

// Parse reads a patch text: sections for files to add, update and delete, between
// a line that begins the patch and one that ends it. Positions and notes about
// missing newlines are skipped. An error says what is wrong with the first line
// that cannot be read.
func Parse(patch string) ([]Section, error) {
	patch = strings.TrimSpace(patch)
	if first, _, _ := strings.Cut(patch, "\n"); strings.HasSuffix(first, "\r") {
		patch = feeds(patch) // the whole patch came with such line ends
	}
	lines := strings.Split(patch, "\n")
	last := len(lines) - 1
	switch {
	case strings.TrimSpace(lines[0]) != patchBegin:
		return nil, errors.New("patch must start with " + patchBegin)
	case last == 0 || strings.TrimSpace(lines[last]) != patchEnd:
		return nil, errors.New("patch missing " + patchEnd)
	}
	p := parser{lines[1:last]}
	var out []Section
	for len(p.lines) > 0 {
		line := p.lines[0]
		p.lines = p.lines[1:]
		if strings.TrimSpace(line) == "" {
			continue
		}
		s, err := p.section(line)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, errors.New("patch contains no file operations")
	}
	return out, nil
}

// parser holds the lines that are still to be read.
type parser struct{ lines []string }

func (p *parser) section(line string) (Section, error) {
	for word, op := range map[string]string{"*** Add File:": Add, "*** Update File:": Update, "*** Delete File:": Delete} {
		path, ok := strings.CutPrefix(line, word)
		if path = strings.TrimSpace(path); !ok || path == "" {
			continue
		}
		s := Section{Op: op, Path: path}
		switch op {
		case Add:
			s.Content = content(p.body("+", `\ `))
		case Update:
			s.Hunks = hunks(p.body(" ", "-", "+", "@@", `\ `))
		}
		return s, nil
	}
	return Section{}, fmt.Errorf("unsupported patch directive %q", shown(line))
}

// body takes the lines that begin in one of the ways given. Models leave the space
// out of an empty line; at the end of a section it is only a gap.
func (p *parser) body(begin ...string) []string {
	n, end := 0, 0
	for ; n < len(p.lines); n++ {
		line := p.lines[n]
		if slices.ContainsFunc(begin, func(b string) bool { return strings.HasPrefix(line, b) }) {
			end = n + 1
		} else if strings.TrimSpace(line) != "" {
			break
		}
	}
	body := p.lines[:end]
	p.lines = p.lines[end:]
	return body
}

func content(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		if strings.HasPrefix(line, `\`) {
			continue
		}
		b.WriteString(strings.TrimPrefix(line, "+"))
		b.WriteByte('\n')
	}
	return b.String()
}

func hunks(lines []string) []Hunk {
	var out []Hunk
	var h Hunk
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, `\`):
		case strings.HasPrefix(line, "@@"):
			if len(h.Lines) > 0 {
				out, h = append(out, h), Hunk{}
			}
			if a := anchor(line); a != "" {
				h.Anchors = append(h.Anchors, a)
			}
		case line != "" && strings.IndexByte(" -+", line[0]) >= 0:
			h.Lines = append(h.Lines, line)
		default: // an empty line
			h.Lines = append(h.Lines, " "+line)
		}
	}
	if len(h.Lines) > 0 {
		out = append(out, h)
	}
	return out
}

// anchor is the text behind @@, or behind the positions of a unified diff.
func anchor(line string) string {
	text := strings.TrimSpace(line[len("@@"):])
	if strings.HasPrefix(text, "-") {
		_, text, _ = strings.Cut(text, "@@")
	}
	return strings.TrimSpace(strings.TrimSuffix(text, "@@"))
}

func shown(line string) string {
	if len(line) > shownMax {
		return strings.ToValidUTF8(line[:shownMax], "") + "…"
	}
	return line
}
