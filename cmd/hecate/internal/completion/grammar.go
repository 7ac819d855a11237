// Package completion makes scripts that complete the command line in a shell, from the
// grammar that parses it.
package completion

import (
	"strings"

	"github.com/alecthomas/kong"
)

// What a value is, as far as the shell or a server can complete it.
const (
	Any      = "any" // nothing is known about it
	File     = "file"
	Dir      = "dir"
	Run      = "run" // the id of a run
	Task     = "task"
	Approval = "approval"
	oneOf    = "one of" // those that follow
)

// Grammar is what can stand on a command line.
type Grammar struct{ commands []command }

// command is a command, or the beginning of several.
type command struct {
	path  string // as it is typed, without the program
	words []word // that go on from here
	flags []flag
	args  []string // what they are, the last one for all that follow
}

type word struct{ name, help string }

type flag struct {
	names []string // with their dashes
	help  string
	takes string // "" for nothing
}

// Of reads the grammar of a program.
func Of(program *kong.Node) Grammar {
	var g Grammar
	g.add(program, "", nil)
	return g
}

func (g *Grammar) add(n *kong.Node, path string, inherited []flag) {
	c := command{path: path, flags: inherited}
	for _, f := range n.Flags {
		if !f.Hidden {
			c.flags = append(c.flags[:len(c.flags):len(c.flags)], flagOf(f))
		}
	}
	for _, p := range n.Positional {
		c.args = append(c.args, kindOf(p.Name, p.Tag.PlaceHolder, p.Enum, path))
	}
	for _, child := range n.Children {
		if !child.Hidden {
			c.words = append(c.words, word{child.Name, child.Help})
		}
	}
	g.commands = append(g.commands, c)
	for _, child := range n.Children {
		if !child.Hidden {
			g.add(child, strings.TrimSpace(path+" "+child.Name), c.flags)
		}
	}
}

func flagOf(f *kong.Flag) flag {
	out := flag{names: []string{"--" + f.Name}, help: f.Help}
	if f.Short != 0 {
		out.names = append(out.names, "-"+string(f.Short))
	}
	if !f.IsBool() && !f.IsCounter() {
		out.takes = kindOf(f.Name, f.PlaceHolder, f.Enum, "")
	}
	return out
}

// kindOf says what a value is, by what it is called.
func kindOf(name, placeholder, enum, path string) string {
	switch {
	case enum != "":
		return strings.Join(append([]string{oneOf}, strings.FieldsFunc(enum, func(r rune) bool { return r == ',' || r == ' ' })...), " ")
	case placeholder == "DIR":
		return Dir
	case placeholder == "PATH", name == "paths":
		return File
	case placeholder == "RUN", placeholder == "" && name == "run":
		return Run
	case placeholder == "TASK", placeholder == "" && name == "task":
		return Task
	case name == "id" && (path == "approve" || path == "reject"):
		return Approval
	}
	return Any
}

// values splits off what a value can be.
func values(kind string) (list []string, ok bool) {
	rest, ok := strings.CutPrefix(kind, oneOf+" ")
	return strings.Fields(rest), ok
}
