package sandbox

import (
	"path"
	"slices"
	"strings"

	"hecate/domain/permission/command"
)

// Input is what a program makes of its standard input.
type Input int

// The kinds of input.
const (
	InputData  Input = iota // text that no shell or interpreter runs
	InputShell              // commands of a shell
	InputCode               // statements of an interpreter
)

// InputOf is what a program with its arguments makes of its standard input, as far as
// the arguments tell: also behind wrappers such as env, and for the script of sh -c.
func InputOf(argv []string) Input {
	programs, _ := command.Programs([]command.Program{{Argv: argv}}, Programs)
	kind := InputData
	for _, p := range programs {
		switch k := inputOf(p.Argv[0], p.Argv[1:]); k {
		case InputShell:
			return k
		case InputCode:
			kind = k
		}
	}
	return kind
}

// reader is a program that takes code from its standard input unless its arguments
// hold some. The texts are short options.
type reader struct {
	input       Input
	stdin       string // code comes from the standard input, whatever else is there
	inline      string // an argument is code
	interactive string // code comes from the standard input after that of the arguments
	valued      string // takes a value
	last        bool   // what follows inline code is for the code
}

var (
	shellReader = reader{input: InputShell, stdin: "s", inline: "c", interactive: "i", valued: "oO"}
	codeReaders = map[string]reader{
		"python": {inline: "cm", interactive: "i", valued: "WXQ", last: true},
		"pypy":   {inline: "cm", interactive: "i", valued: "WXQ", last: true},
		"node":   {inline: "ep", interactive: "i", valued: "rC"},
		"perl":   {inline: "eE", interactive: "d", valued: "I"},
		"ruby":   {inline: "e", valued: "ICEr"},
		"php":    {inline: "rRBEfF", interactive: "a", valued: "cdzt"},
		"lua":    {inline: "e", interactive: "i", valued: "l"},
		"luajit": {inline: "e", interactive: "i", valued: "l"},
	}
	// prompts take code whatever their arguments are.
	prompts = []string{"ipython", "bpython", "irb", "pry", "ghci", "tclsh", "iex", "erl", "julia", "r", "gdb", "lldb"}
	// loginShells begin a shell unless they are told what to run.
	loginShells = []string{"su", "runuser", "script", "newgrp", "chroot", "unshare", "nsenter"}

	longInteractive = []string{"--interactive"}
	longInline      = []string{"--eval", "--print", "--run", "--command"}
	longWithValue   = []string{"--rcfile", "--init-file", "--require", "--import", "--loader", "--define", "--php-ini"}
)

func inputOf(program string, args []string) Input {
	name := command.Name(program)
	plain := strings.TrimRight(name, "0123456789.-") // python3.12
	code, known := codeReaders[plain]
	switch {
	case slices.Contains(shells, name), slices.Contains([]string{"csh", "tcsh", "fish"}, name), slices.Contains(shells, plain):
		return shellReader.of(args)
	case known:
		code.input = InputCode
		return code.of(args)
	case slices.Contains(prompts, plain):
		return InputCode
	case plain == "deno", plain == "bun":
		if len(args) == 0 || slices.ContainsFunc(args, func(a string) bool { return a == "repl" || isStdin(a) }) {
			return InputCode
		}
	case slices.Contains(loginShells, name):
		if !slices.ContainsFunc(args, func(a string) bool { return a == "-c" || strings.HasPrefix(a, "--command") }) {
			return InputShell
		}
	case name == ".", name == "source":
		if len(args) > 0 && isStdin(args[0]) {
			return InputShell
		}
	}
	return InputData
}

// of reads the arguments.
func (r reader) of(args []string) Input {
	given := false // code among the arguments
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if len(arg) < 2 || !strings.ContainsRune("-+", rune(arg[0])) || arg == "--" {
			if arg == "--" && len(args) > 0 {
				arg = args[0]
			}
			if isStdin(arg) {
				return r.input
			}
			given = given || arg != "--"
			break // a script, or the code of -c, and what is for it
		}
		o := r.option(arg)
		switch {
		case o.reads:
			return r.input
		case o.takesNext && len(args) > 0:
			args = args[1:]
		}
		if given = given || o.inline; o.inline && r.last {
			break
		}
		if o.inline && !o.attached && r.input == InputCode && len(args) > 0 {
			args = args[1:] // the code
		}
	}
	if given {
		return InputData
	}
	return r.input
}

// option is what one argument that begins with - or + says.
type option struct{ reads, inline, attached, takesNext bool }

func (r reader) option(arg string) (o option) {
	if long, value, attached := strings.Cut(arg, "="); strings.HasPrefix(arg, "--") {
		o.reads = slices.Contains(longInteractive, long)
		o.inline = slices.Contains(longInline, long)
		o.attached = attached && value != ""
		o.takesNext = !attached && slices.Contains(longWithValue, long)
		return o
	}
	if arg[0] == '+' {
		o.takesNext = strings.ContainsAny(arg[1:], r.valued)
		return o
	}
	for i := 1; i < len(arg); i++ {
		letter := arg[i : i+1]
		rest := i+1 < len(arg)
		switch {
		case strings.Contains(r.stdin+r.interactive, letter):
			o.reads = true
		case strings.Contains(r.valued, letter):
			if r.input == InputCode {
				o.takesNext = !rest
				return o
			}
			o.takesNext = true // a shell takes the value from the next word, and goes on in this one
		case strings.Contains(r.inline, letter):
			o.inline = true
			if r.input == InputCode {
				o.attached = rest
				return o
			}
		}
	}
	return o
}

// isStdin reports whether a name is one of the standard input.
func isStdin(name string) bool {
	switch path.Clean(name) {
	case "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/proc/thread-self/fd/0":
		return true
	}
	return false
}
