package filepatch

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	hunkLine = regexp.MustCompile(`^@@ -(?:0,(0)|1,([1-9][0-9]{0,9})) \+(?:0,(0)|1,([1-9][0-9]{0,9})) @@$`)

	errEnd = errors.New("the diff ends too early")
)

// Parse reads what Diff has written. It refuses every other form of diff, since
// only a whole-file hunk says what the file was and will be.
func Parse(diff string) (Patch, error) {
	p, err := (&reader{rest: diff}).patch()
	if err != nil {
		return Patch{}, fmt.Errorf("read patch: %w", err)
	}
	return p, nil
}

// reader takes a diff apart, line by line.
type reader struct{ rest string }

func (r *reader) patch() (Patch, error) {
	var p Patch
	if strings.HasPrefix(r.rest, "diff --git ") { // said again by the next lines
		r.line()
		r.line()
	}
	before, err := r.name("--- ", "a/")
	if err != nil {
		return p, err
	}
	after, err := r.name("+++ ", "b/")
	switch {
	case err != nil:
		return p, err
	case before == "" && after == "":
		return p, errors.New("no file on either side")
	case before != "" && after != "" && before != after:
		return p, fmt.Errorf("two paths, %q and %q", before, after)
	}
	p.Path, p.Before.Exists, p.After.Exists = max(before, after), before != "", after != ""
	if r.rest == "" {
		return p, nil
	}
	return p, r.hunk(&p)
}

// line takes the next line, without its newline.
func (r *reader) line() (string, bool) {
	line, rest, ok := strings.Cut(r.rest, "\n")
	if !ok {
		return "", false
	}
	r.rest = rest
	return line, true
}

// name reads a header line: the path, or "" for a file that does not exist.
func (r *reader) name(mark, side string) (string, error) {
	line, _ := r.line()
	text, ok := strings.CutPrefix(line, mark)
	if !ok {
		return "", fmt.Errorf("no line that begins with %q", mark)
	}
	if text == devNull {
		return "", nil
	}
	if strings.HasPrefix(text, `"`) {
		var err error
		if text, err = strconv.Unquote(text); err != nil {
			return "", fmt.Errorf("path in %q: %w", line, err)
		}
	}
	name, ok := strings.CutPrefix(text, side)
	if !ok || name == "" {
		return "", fmt.Errorf("no path in %q", line)
	}
	return name, nil
}

func (r *reader) hunk(p *Patch) error {
	line, _ := r.line()
	m := hunkLine.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("no whole-file hunk but %.80q", line)
	}
	for _, side := range []struct {
		file  *File
		lines string
		mark  byte
	}{{&p.Before, m[1] + m[2], '-'}, {&p.After, m[3] + m[4], '+'}} {
		n, err := strconv.Atoi(side.lines)
		if err != nil {
			return fmt.Errorf("number of lines: %w", err)
		}
		if n > 0 && !side.file.Exists {
			return errors.New("a file that does not exist has lines")
		}
		if side.file.Content, err = r.lines(side.mark, n); err != nil {
			return err
		}
	}
	if r.rest != "" {
		return errors.New("more text after the hunk")
	}
	return nil
}

// lines reads n lines with a mark, and the note that the last has no newline.
func (r *reader) lines(mark byte, n int) (string, error) {
	var b strings.Builder
	b.Grow(min(len(r.rest), 64*n))
	for range n {
		line, ok := r.line()
		switch {
		case !ok:
			return "", errEnd
		case line == "" || line[0] != mark:
			return "", fmt.Errorf("no line that begins with %q but %.80q", string(mark), line)
		}
		b.WriteString(line[1:])
		b.WriteByte('\n')
	}
	text := b.String()
	if rest, ok := strings.CutPrefix(r.rest, noNewline); ok && n > 0 {
		r.rest, text = rest, text[:len(text)-1]
	}
	return text, nil
}
