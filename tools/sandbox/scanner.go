package sandbox

import (
	"errors"
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
	tty    bool
	kept   []string // what the program may be waiting for the end of: one of these; none is ""
	line   int      // bytes of the line that is not ended, on a terminal device
}

// NewScanner makes a scanner of what the program with its arguments reads.
func NewScanner(argv []string, p Policy) *Scanner { return &Scanner{kind: InputOf(argv), policy: p} }

// NewTTYScanner makes one of what the program reads from a terminal device, see type keys.
func NewTTYScanner(argv []string, p Policy) *Scanner {
	s := NewScanner(argv, p)
	s.tty = s.kind != InputData
	return s
}

// Kind is what the program makes of its input.
func (s *Scanner) Kind() Input { return s.kind }

// Whole is the input with what was kept for it of earlier ones. There are several such
// texts if it cannot be known whether an interrupt made the program forget what it had.
func (s *Scanner) Whole(input string) []string {
	k, err := s.read(input)
	if err != nil { // Scan refuses it
		return s.whole(keys{pieces: []string{input}})
	}
	return s.whole(k)
}

// whole are the texts that the program may have to make something of.
func (s *Scanner) whole(k keys) []string {
	texts := s.begin()
	for i, piece := range k.pieces {
		if i > 0 {
			texts = distinct(append(texts, "")) // an interrupt may have been heard, or not
		}
		if len(texts) > readingsMax {
			return texts // Scan refuses it
		}
		for j := range texts {
			texts[j] += piece
		}
	}
	return distinct(texts)
}

// begin is what was kept, at least "".
func (s *Scanner) begin() []string {
	if len(s.kept) == 0 {
		return []string{""}
	}
	return slices.Clone(s.kept)
}

// Scan looks at the next input and takes it in, or returns an error, and then the program
// must not get it: a *Denied by the policy, or that it cannot be checked.
func (s *Scanner) Scan(input string) error {
	if s.kind == InputData {
		return nil
	}
	if len(input) > typedMax {
		return fmt.Errorf("input of %d bytes is too long for a program that runs it, at most %d; write a file and run that", len(input), typedMax)
	}
	k, err := s.read(input)
	if err != nil {
		return err
	}
	texts := s.whole(k)
	if len(texts) > readingsMax {
		return errors.New("after so many interrupts of what was not complete nobody can tell what the program has; end lines before you interrupt, or open another terminal")
	}
	look := s.commands
	if s.kind == InputCode {
		look = s.code
	}
	kept := make([]string, len(texts))
	for i, text := range texts {
		if kept[i], err = look(text); err != nil {
			return err
		}
	}
	s.kept, s.line = distinct(kept), k.line
	return nil
}

// readingsMax is how many texts a program may have to make something of, as far as is known.
const readingsMax = 4

func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// read takes an input apart as the program will get it.
func (s *Scanner) read(input string) (keys, error) {
	if !s.tty {
		return keys{pieces: []string{input}}, nil
	}
	return pressed(input, s.line)
}

// commands looks at what a shell has and returns what it would wait for the end of.
func (s *Scanner) commands(text string) (rest string, err error) {
	done, rest := finished(text)
	if len(rest) > unfinishedMax {
		return "", fmt.Errorf("the shell command is not complete after %d bytes and cannot be checked; "+
			"write a file and run that, or begin anew in another terminal", unfinishedMax)
	}
	c := &checker{policy: s.policy}
	c.script(done, 0)
	if strings.Contains(rest, "\n") {
		c.scan(rest) // another shell may take for complete what is not by this syntax
	} else {
		c.script(rest, 0)
	}
	return strings.Clone(rest), c.verdict()
}

// code looks at what an interpreter has and returns a word of it that may go on.
func (s *Scanner) code(text string) (rest string, err error) {
	c := &checker{policy: s.policy}
	c.scan(text)
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !(r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	}) {
		if c.detaches == "" && slices.Contains(codeDetachers, word) {
			c.detaches = word
		}
	}
	tail := text[strings.LastIndexAny(text, " \t\r\n;")+1:]
	return strings.Clone(tail[max(0, len(tail)-tailMax):]), c.verdict()
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
