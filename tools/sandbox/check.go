package sandbox

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// commandMax is the longest command that is parsed; the kernel takes no longer argument either.
	commandMax = 128 << 10
	// scriptDepthMax is how deep scripts in scripts (sh -c "sh -c …") are followed.
	scriptDepthMax = 8
)

// Policy is what a command may do.
type Policy struct {
	ReadOnly        bool
	Network         bool
	AllowPrivateIPs bool     // URLs may name private, loopback and link-local addresses
	AllowedHosts    []string // exact hosts that URLs may name; empty = all
	Attached        bool     // nothing may leave the session, as nohup and setsid have it
}

// Check looks at a shell command before it starts and returns a *Denied if it
// plainly does what the policy forbids: it changes files, uses the network, or
// names a URL whose host is not allowed. It judges the words of the parsed
// command, through wrappers such as env, sudo, xargs and sh -c, so that words
// which merely look alike pass. A command that cannot be parsed is refused if the
// policy is read-only.
func Check(command string, p Policy) error {
	c := &checker{policy: p}
	c.script(command, 0)
	return c.verdict()
}

// CheckArgv looks at a program with its arguments, which no shell parses, as Check does.
func CheckArgv(argv []string, p Policy) error {
	c := &checker{policy: p}
	words := make([]word, len(argv))
	for i, a := range argv {
		words[i] = word{text: a, static: true}
		c.urls(a)
	}
	c.program(words, 0)
	return c.verdict()
}

// checker gathers what a command does.
type checker struct {
	policy   Policy
	writes   bool
	unclear  bool // some part cannot be judged
	networks bool
	host     error  // the first URL that is not allowed
	detaches string // the first program that leaves its session
}

func (c *checker) verdict() error {
	switch {
	case c.policy.Attached && c.detaches != "":
		return DetachDenied(c.detaches)
	case c.policy.ReadOnly && (c.writes || c.unclear):
		return WriteDenied()
	case !c.policy.Network && c.networks:
		return NetworkDenied()
	case c.policy.Network && c.host != nil:
		return c.host
	}
	return nil
}

// script judges a text that a shell will run.
func (c *checker) script(text string, depth int) {
	if depth > scriptDepthMax || len(text) > commandMax {
		c.unclear = true
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		c.unclear = true
		c.scan(text)
		return
	}
	c.walk(file, depth)
}

// walk judges what a parsed script does.
func (c *checker) walk(node syntax.Node, depth int) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			c.urls(fold(n).text)
		case *syntax.Redirect:
			c.redirect(n)
			if n.Hdoc == nil {
				return true
			}
			// The text of a here-document is data, not a place to go to; what is run to make it counts.
			for _, part := range n.Hdoc.Parts {
				c.walk(part, depth)
			}
			return false
		case *syntax.Stmt:
			c.heredoc(n, depth)
		case *syntax.CallExpr:
			c.call(foldAll(n.Args), depth)
		}
		return true
	})
}

// scan judges a text that is no shell command we understand: by its words alone.
func (c *checker) scan(text string) {
	c.urls(text)
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&()`\"'", r) }) {
		name := commandName(w)
		c.networks = c.networks || slices.Contains(networkCommands, name)
		if c.detaches == "" && slices.Contains(plainDetachers, name) {
			c.detaches = name
		}
	}
	if c.detaches == "" && (strings.Contains(text, "&!") || strings.Contains(text, "&|")) {
		c.detaches = "&!" // as zsh writes disown
	}
}

func (c *checker) redirect(r *syntax.Redirect) {
	target := fold(r.Word)
	if strings.HasPrefix(target.text, "/dev/tcp/") || strings.HasPrefix(target.text, "/dev/udp/") {
		c.networks = true
	}
	switch r.Op {
	case syntax.RdrIn, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.DplOut:
		if strings.Trim(target.text, "0123456789-") == "" {
			return // 2>&1 and the like
		}
	}
	if !harmlessTarget(target.text) {
		c.writes = true
	}
}

func harmlessTarget(name string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"}, name) || strings.HasPrefix(name, "/dev/fd/")
}

// heredoc judges the text that a statement feeds to a shell.
func (c *checker) heredoc(s *syntax.Stmt, depth int) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || !slices.Contains(shells, commandName(fold(call.Args[0]).text)) {
		return
	}
	for _, r := range s.Redirs {
		switch {
		case r.Hdoc != nil:
			c.script(fold(r.Hdoc).text, depth+1)
		case r.Op == syntax.WordHdoc:
			c.script(fold(r.Word).text, depth+1)
		}
	}
}

// call judges one command of a shell.
func (c *checker) call(args []word, depth int) { c.program(skipAssignments(args), depth) }

// program judges one program with its arguments.
func (c *checker) program(args []word, depth int) {
	if len(args) == 0 {
		return
	}
	name := commandName(args[0].text)
	if c.detaches == "" && slices.Contains(detachers, name) {
		c.detaches = name
	}
	switch {
	case !args[0].static:
		c.unclear = true
	case slices.Contains(networkCommands, name):
		c.networks = true
		c.remotes(args[1:])
	case slices.Contains(writeCommands, name):
		c.writes = true
	case name == "git":
		c.git(args[1:], depth)
	case slices.Contains(shells, name):
		c.shell(args[1:], depth)
	case name == "env":
		c.splitString(args[1:], depth)
	case slices.Contains(evaluators, name):
		c.evaluate(name, args[1:], depth)
	case name == "find":
		c.find(args[1:], depth)
	case name == "sed" && editsInPlace(args[1:], "efl"), name == "perl" && editsInPlace(args[1:], "eEImM"):
		c.writes = true
	}
	if w, ok := wrappers[name]; ok {
		c.call(w.inner(args[1:]), depth)
	}
}

// commandName is a command's name without its directory, in lower case: some file
// systems find CURL as well.
func commandName(s string) string { return strings.ToLower(path.Base(s)) }

func skipAssignments(args []word) []word {
	for len(args) > 0 {
		name, _, ok := strings.Cut(args[0].text, "=")
		if !ok || !syntax.ValidName(name) {
			break
		}
		args = args[1:]
	}
	return args
}
