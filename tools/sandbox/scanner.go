package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of what is written to a program that runs it.
const (
	unfinishedMax = 64 << 10 // bytes of a shell command that is not complete yet
	typedMax      = 64 << 10 // bytes at a time
	tailMax       = 128      // bytes of a word of code that may go on
)

// Scanner looks at what is written to one program's standard input before the program
// gets it. Of shell commands it keeps what is not complete yet, so that a command in
// pieces is looked at as a whole; of code the last, perhaps unfinished, word; of data
// nothing, and it lets all of it pass. It is for one goroutine at a time.
type Scanner struct {
	kind   Input
	policy Policy
	kept   string
}

// NewScanner makes a scanner of what the program with its arguments reads.
func NewScanner(argv []string, p Policy) *Scanner { return &Scanner{kind: InputOf(argv), policy: p} }

// Kind is what the program makes of its input.
func (s *Scanner) Kind() Input { return s.kind }

// Whole is the input with what was kept for it of earlier ones.
func (s *Scanner) Whole(input string) string { return s.kept + input }

// Scan looks at the next input and takes it in, or returns an error, and then the program
// must not get it: a *Denied by the policy, or that there is too much of it.
func (s *Scanner) Scan(input string) error {
	if s.kind == InputData {
		return nil
	}
	if len(input) > typedMax {
		return fmt.Errorf("input of %d bytes is too long for a program that runs it, at most %d; write a file and run that", len(input), typedMax)
	}
	if s.kind == InputCode {
		return s.code(s.kept + input)
	}
	return s.commands(s.kept + input)
}

func (s *Scanner) commands(text string) error {
	done, rest := finished(text)
	if len(rest) > unfinishedMax {
		return fmt.Errorf("the shell command is not complete after %d bytes and cannot be checked; "+
			"write a file and run that, or begin anew in another terminal", unfinishedMax)
	}
	c := &checker{policy: s.policy}
	c.script(done, 0)
	if strings.Contains(rest, "\n") {
		c.scan(rest) // another shell may take for complete what is not by this syntax
	} else {
		c.script(rest, 0)
	}
	if err := c.verdict(); err != nil {
		return err
	}
	s.kept = strings.Clone(rest)
	return nil
}

func (s *Scanner) code(text string) error {
	c := &checker{policy: s.policy}
	c.scan(text)
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !(r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	}) {
		if c.detaches == "" && slices.Contains(codeDetachers, word) {
			c.detaches = word
		}
	}
	if err := c.verdict(); err != nil {
		return err
	}
	tail := text[strings.LastIndexAny(text, " \t\r\n;")+1:]
	s.kept = strings.Clone(tail[max(0, len(tail)-tailMax):])
	return nil
}

// codeDetachers are the names under which languages give away what plainDetachers do.
var codeDetachers = append([]string{"setpgrp", "setpgid", "start_new_session", "daemon_mode"}, plainDetachers...)

// finished splits what a shell is given into complete commands and what it would still
// wait for the end of. A text that is no shell command counts as complete up to its last
// line: nobody knows what would complete it.
func finished(text string) (done, rest string) {
	lines := lastLine(text)
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text[:lines]), "")
	if !syntax.IsIncomplete(err) {
		return text[:lines], text[lines:]
	}
	// The last of the statements that were read may be the one that is not complete.
	if n := len(file.Stmts); n > 1 {
		if end := endOf(file.Stmts[n-2], text[:lines]); parses(text[:end]) {
			return text[:end], text[end:]
		}
	}
	return "", text
}

// lastLine is where the last line begins that is not ended, or that goes on.
func lastLine(text string) int {
	for end := len(text); ; {
		end = strings.LastIndexByte(text[:end], '\n')
		if end < 0 {
			return 0
		}
		before := strings.TrimRight(text[:end], `\`)
		if (end-len(before))%2 == 0 {
			return end + 1
		}
	}
}

func parses(text string) bool {
	_, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	return err == nil
}

// endOf is where a statement of text ends, with its here-documents and the lines that end those.
func endOf(s *syntax.Stmt, text string) int {
	end := int(s.End().Offset())
	syntax.Walk(s, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Redirect); ok && r.Hdoc != nil {
			if at := int(r.Hdoc.End().Offset()); at < len(text) {
				end = max(end, at+1+strings.IndexByte(text[at:], '\n'))
			}
		}
		return true
	})
	return min(end, len(text))
}
