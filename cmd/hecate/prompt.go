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

// answer is what a person says to a question.
type answer int

const (
	answerNone answer = iota // the input ended
	answerYes
	answerNo
	answerUnclear
)

// prompter asks on the terminal. Reading a line cannot be called off, so one
// goroutine reads for the life of the process, a line whenever one is wanted.
// Everything else belongs to the goroutine that asks.
type prompter struct {
	in      *bufio.Reader
	drop    func() // forgets what was typed; nil if the input is no terminal
	lines   chan answer
	wanted  chan struct{}
	reading bool
	stale   bool // the line that is being read was begun under an earlier question
}

func newPrompter(in io.Reader, dropTyped func()) *prompter {
	p := &prompter{in: bufio.NewReader(in), drop: dropTyped, lines: make(chan answer), wanted: make(chan struct{})}
	go p.read()
	return p
}

// ask shows the choice and asks for a line, which comes through lines.
func (p *prompter) ask(w io.Writer, choice string) {
	if p.drop != nil {
		p.drop() // what was typed before the question is no answer to it
	}
	fmt.Fprint(w, choice)
	if p.reading {
		p.stale = true
		return
	}
	if p.drop != nil {
		_, _ = p.in.Discard(p.in.Buffered()) // no more than there is
	}
	p.reading = true
	p.wanted <- struct{}{}
}

// take turns what came through lines into the answer to the open question.
func (p *prompter) take(a answer) answer {
	p.reading = false
	if p.stale && a != answerNone {
		a = answerUnclear
	}
	p.stale = false
	return a
}

func (p *prompter) read() {
	for range p.wanted {
		line, err := p.in.ReadString('\n')
		if err != nil {
			p.lines <- answerNone // a line without its end was never confirmed
			continue
		}
		p.lines <- parseAnswer(line)
	}
}

// parseAnswer takes the whole words only. There is no default: an empty line or a
// slip of the finger is no yes.
func parseAnswer(line string) answer {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return answerYes
	case "n", "no":
		return answerNo
	}
	return answerUnclear
}
