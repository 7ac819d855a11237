package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// promptMax is the longest prompt that is read from standard input, in bytes.
const promptMax = 1 << 20

// prompt joins the words of a prompt, or reads standard input for "-".
func (a *app) prompt(words []string) (string, error) {
	prompt := strings.Join(words, " ")
	if prompt == "-" {
		raw, err := io.ReadAll(io.LimitReader(a.in, promptMax+1))
		if err != nil {
			return "", fmt.Errorf("read the prompt from standard input: %w", err)
		}
		if len(raw) > promptMax {
			return "", usage(fmt.Errorf("the prompt is longer than %d bytes", promptMax))
		}
		prompt = string(raw)
	}
	if strings.TrimSpace(prompt) == "" {
		return "", usage(errors.New("the prompt is empty: say what you want done"))
	}
	return prompt, nil
}

// typedLine is what came of asking for a line.
type typedLine struct {
	text  string
	ended bool // the input ended: nobody answers any more
	stale bool // it was begun under an earlier question
}

// prompter asks on the terminal. Reading a line cannot be called off, so one
// goroutine reads for the life of the process, a line whenever one is wanted.
// Everything else belongs to the goroutine that asks.
type prompter struct {
	in      *bufio.Reader
	drop    func() // forgets what was typed; nil if the input is no terminal
	lines   chan typedLine
	wanted  chan struct{}
	reading bool
	stale   bool // the line that is being read was begun under an earlier question
}

func newPrompter(in io.Reader, dropTyped func()) *prompter {
	p := &prompter{in: bufio.NewReader(in), drop: dropTyped, lines: make(chan typedLine), wanted: make(chan struct{})}
	go p.read()
	return p
}

// forget drops what was typed before a question was on the screen: it is no answer to it.
func (p *prompter) forget() {
	if p.drop == nil {
		return
	}
	p.drop()
	if !p.reading {
		_, _ = p.in.Discard(p.in.Buffered()) // no more than there is
	}
}

// ask shows what is asked for and asks for a line, which comes through lines.
func (p *prompter) ask(w io.Writer, what string) {
	p.forget()
	fmt.Fprint(w, what)
	if p.reading {
		p.stale = true
		return
	}
	p.reading = true
	p.wanted <- struct{}{}
}

// take turns what came through lines into the line that was asked for last.
func (p *prompter) take(l typedLine) typedLine {
	p.reading = false
	l.stale = p.stale && !l.ended
	p.stale = false
	return l
}

func (p *prompter) read() {
	for range p.wanted {
		line, err := p.in.ReadString('\n')
		// A line without its end was never confirmed.
		p.lines <- typedLine{text: strings.TrimRight(line, "\r\n"), ended: err != nil}
	}
}
