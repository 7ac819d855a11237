// Package command finds the programs that a command starts: the one it names, and
// those behind wrappers such as env, timeout, xargs, sh -c and find -exec. It works
// on argument lists; what reads the text of a shell script is handed in. It also
// knows the environment variables that choose what code runs.
//
// What it finds is for refusing, not for allowing: a program that starts others in
// its own way (make, an interpreter with a script) is not seen through.
package command

import (
	"path"
	"slices"
	"strings"
)

// Unknown stands in a word for text that only running the command would tell, such
// as the value of a variable.
const Unknown = "\uFFFD"

const (
	depthMax    = 16  // wrappers inside each other
	programsMax = 512 // programs of one command
)

// Program is one program that a command starts.
type Program struct {
	Argv     []string `json:"argv"`               // the program as written and its arguments
	Resolved string   `json:"resolved,omitempty"` // the file that Argv[0] leads to, if that is known
}

// Parse reads the text of a shell script. whole is false if some program in it could
// not be read. It is pure.
type Parse func(script string) (commands []Program, whole bool)

// Programs lists the programs that commands start, themselves first. Scripts, such as
// the one of sh -c, go through parse; without it they count as not read. whole is
// false if there may be a program that is not in the list.
func Programs(commands []Program, parse Parse) (all []Program, whole bool) {
	s := search{parse: parse, whole: true}
	for _, c := range commands {
		s.program(c, 0)
	}
	return s.found, s.whole
}

// search gathers programs.
type search struct {
	parse Parse
	found []Program
	whole bool
}

// program takes in one program and those behind it.
func (s *search) program(p Program, depth int) {
	if len(p.Argv) == 0 {
		return
	}
	if depth > depthMax || len(s.found) >= programsMax {
		s.whole = false
		return
	}
	s.found = append(s.found, p)
	if strings.Contains(p.Argv[0], Unknown) {
		s.whole = false
	}
	name, args := Name(p.Argv[0]), p.Argv[1:]
	switch {
	case slices.Contains(shells, name):
		s.shell(args, depth)
	case name == "find":
		s.find(args, depth)
	case name == "git":
		s.git(args, depth)
	case name == "trap" && len(args) > 0:
		s.script(args[0], depth)
	case slices.Contains(evaluators, name):
		rests, _ := evaluator.options(args)
		for _, words := range rests {
			s.script(strings.Join(words, " "), depth)
		}
	case slices.Contains(switchers, name):
		s.switcher(args, depth)
	case slices.Contains(launchers, name):
		s.launcher(args, depth)
	case slices.Contains(redefiners, name):
		s.whole = false
	}
	if w, ok := wrappers[name]; ok {
		s.wrapped(w, name, args, depth)
	}
}

// wrapped takes in the command behind a wrapper.
func (s *search) wrapped(w wrapper, name string, args []string, depth int) {
	if name == "env" && s.splitString(args, depth) {
		return
	}
	own := args
	for _, argv := range w.inner(args) {
		if name == "xargs" {
			s.fromInput(argv, own[:len(own)-len(argv)], depth)
			continue
		}
		if name == "flock" && len(argv) > 1 && (argv[0] == "-c" || argv[0] == "--command") {
			s.script(argv[1], depth)
			continue
		}
		s.program(Program{Argv: argv}, depth+1)
	}
}

// script takes in the programs of a text that a shell runs.
func (s *search) script(text string, depth int) {
	if s.parse == nil || depth >= depthMax {
		s.whole = false
		return
	}
	commands, whole := s.parse(text)
	s.whole = s.whole && whole && !strings.Contains(text, Unknown)
	for _, c := range commands {
		s.program(c, depth+1)
	}
}

// shell takes in sh -c SCRIPT. A shell that is given nothing to run reads its
// commands from somewhere else.
func (s *search) shell(args []string, depth int) {
	takes, stdin := false, false // -c and -s among the options
	for len(args) > 0 && len(args[0]) > 1 && strings.ContainsRune("-+", rune(args[0][0])) {
		opt := args[0]
		args = args[1:]
		if opt == "--" {
			break
		}
		long := strings.HasPrefix(opt, "--")
		takes = takes || !long && opt[0] == '-' && strings.Contains(opt, "c")
		stdin = stdin || !long && opt[0] == '-' && strings.Contains(opt, "s")
		valued := long && slices.Contains([]string{"--rcfile", "--init-file"}, opt) || !long && strings.ContainsAny(opt[1:], "oO")
		if valued && len(args) > 0 {
			args = args[1:]
		}
	}
	switch {
	case takes && len(args) > 0:
		s.script(args[0], depth)
	case stdin || len(args) == 0 || args[0] == "-":
		s.whole = false
	}
}

// find takes in find … -exec CMD ; and its like.
func (s *search) find(args []string, depth int) {
	for i, a := range args {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a) {
			continue
		}
		argv := args[i+1:]
		if end := slices.IndexFunc(argv, func(w string) bool { return w == ";" || w == "+" }); end >= 0 {
			argv = argv[:end]
		}
		s.program(Program{Argv: unknownWhere(argv, "{}")}, depth+1)
	}
}

// unknownWhere is the argument list with Unknown in the place of a placeholder that is
// filled in when the command runs.
func unknownWhere(argv []string, placeholder string) []string {
	out := slices.Clone(argv)
	for i, w := range out {
		out[i] = strings.ReplaceAll(w, placeholder, Unknown)
	}
	return out
}

// fromInput takes in the command of xargs, whose arguments come from what it reads: in
// the place of a placeholder that its options name, or behind the others.
func (s *search) fromInput(argv, options []string, depth int) {
	for i, o := range options {
		placeholder := ""
		switch {
		case (o == "-I" || o == "-J" || o == "--replace") && i+1 < len(options):
			placeholder = options[i+1]
		case strings.HasPrefix(o, "-I"), strings.HasPrefix(o, "-J"):
			placeholder = o[2:]
		case strings.HasPrefix(o, "--replace="):
			placeholder = strings.TrimPrefix(o, "--replace=")
		case o == "-i", o == "--replace":
			placeholder = "{}"
		case strings.HasPrefix(o, "-i"):
			placeholder = o[2:]
		}
		if placeholder != "" {
			s.program(Program{Argv: unknownWhere(argv, placeholder)}, depth+1)
			return
		}
	}
	s.program(Program{Argv: argv}, depth+1)
	s.program(Program{Argv: append(slices.Clone(argv), Unknown)}, depth+1)
}

// launcher takes in what follows --, and what else it starts counts as not read.
func (s *search) launcher(args []string, depth int) {
	s.whole = false
	if at := slices.Index(args, "--"); at >= 0 {
		s.program(Program{Argv: args[at+1:]}, depth+1)
	}
}

// switcher takes in su -c SCRIPT and its like.
func (s *search) switcher(args []string, depth int) {
	for i, a := range args {
		text, attached := strings.CutPrefix(a, "--command=")
		switch {
		case attached:
			s.script(text, depth)
		case i+1 < len(args) && (a == "--command" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, "c")):
			s.script(args[i+1], depth)
		}
	}
}

// splitString takes in env -S 'CMD ARG …' MORE, if there is such an option.
func (s *search) splitString(args []string, depth int) bool {
	for i, a := range args {
		if !strings.HasPrefix(a, "-") {
			return false
		}
		text, ok := strings.CutPrefix(a, "--split-string=")
		rest := args[i+1:]
		if at := strings.IndexByte(a, 'S'); !ok && !strings.HasPrefix(a, "--") && at > 0 {
			text, ok = a[at+1:], true
		}
		if (a == "--split-string" || ok && text == "") && len(rest) > 0 {
			text, rest, ok = rest[0], rest[1:], true
		}
		if ok {
			s.script("env "+text+" "+Quote(rest), depth)
			return true
		}
	}
	return false
}

// File is the file whose content a program runs at the moment when it starts: the
// program itself if it is named by a relative path, or the script of a shell or an
// interpreter. What stands in it can change after somebody has looked.
func File(argv []string) (string, bool) {
	if len(argv) == 0 {
		return "", false
	}
	if program := argv[0]; strings.Contains(program, "/") && !strings.HasPrefix(program, "/") {
		return program, true
	}
	name := Name(argv[0])
	if len(argv) < 2 || strings.HasPrefix(argv[1], "-") || !slices.Contains(shells, name) && !slices.Contains(interpreters, name) {
		return "", false
	}
	return argv[1], true
}

// Name is a program's name without its directory, in lower case: some file systems
// find RM as well.
func Name(program string) string { return strings.ToLower(path.Base(program)) }

// Quote writes words so that a shell reads them back as they are.
func Quote(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if w != "" && strings.Trim(w, plain) == "" {
			out[i] = w
			continue
		}
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

// plain are the characters that need no quotes.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,"
