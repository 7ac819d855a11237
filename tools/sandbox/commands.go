package sandbox

import (
	"slices"
	"strings"
)

var (
	networkCommands = []string{"curl", "wget", "ping", "ping6", "ssh", "scp", "sftp", "nc", "ncat", "netcat", "telnet", "ftp"}
	writeCommands   = []string{
		"rm", "rmdir", "unlink", "shred", "mv", "cp", "install", "ln", "mkdir", "mkfifo", "mknod", "touch", "truncate",
		"tee", "dd", "chmod", "chown", "chgrp", "patch", "rsync",
	}
	gitNetwork = []string{"clone", "fetch", "pull", "push", "ls-remote"}
	gitWrites  = []string{
		"add", "am", "apply", "checkout", "cherry-pick", "clean", "clone", "commit", "init", "merge", "mv", "pull", "push",
		"rebase", "reset", "restore", "revert", "rm", "switch",
	}
	// detachers leave the session that they were started in, or have somebody else start
	// what they are given.
	detachers = append([]string{"at", "batch", "daemon", "screen"}, plainDetachers...)
	// plainDetachers are those of them whose names are no ordinary words.
	plainDetachers = []string{
		"setsid", "nohup", "disown", "daemonize", "start-stop-daemon", "systemd-run", "tmux", "dtach", "abduco", "zellij", "byobu",
	}
	shells     = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"}
	evaluators = []string{"eval", "trap", "su", "runuser", "script", "watch", "parallel"}
)

// wrapper is a command whose arguments hold another command.
type wrapper struct {
	valued string // short options that take a value
	skip   int    // words of its own before the command
	query  string // short options that only ask about the command
}

var wrappers = map[string]wrapper{
	"env": {valued: "uCS"}, "sudo": {valued: "ugpChTUrtRD"}, "doas": {valued: "uC"},
	"nohup": {}, "setsid": {}, "nice": {valued: "n"}, "ionice": {valued: "cnpPu"}, "chrt": {skip: 1}, "taskset": {skip: 1},
	"timeout": {valued: "ks", skip: 1}, "stdbuf": {valued: "ioe"}, "time": {valued: "fo"}, "chroot": {skip: 1},
	"command": {query: "vV"}, "builtin": {}, "exec": {valued: "a"}, "busybox": {}, "unshare": {valued: "SGRw"},
	"xargs": {valued: "IELnPsda"}, "flock": {valued: "wE", skip: 1}, "strace": {valued: "aeoOpPsSuEIbX"},
}

// longValued are long options, of any wrapper, that take the next word as value.
var longValued = []string{
	"--user", "--group", "--chdir", "--unset", "--signal", "--kill-after", "--max-args", "--max-procs", "--max-lines",
	"--max-chars", "--delimiter", "--arg-file", "--adjustment", "--class", "--classdata", "--host", "--prompt", "--role",
	"--type", "--chroot", "--wait", "--output", "--format", "--input", "--error",
}

// inner returns the command that the wrapper runs.
func (w wrapper) inner(args []word) []word {
	rest, asks := w.skipOptions(args)
	if asks {
		return nil
	}
	rest = skipAssignments(rest)
	if len(rest) <= w.skip {
		return nil
	}
	return rest[w.skip:]
}

func (w wrapper) skipOptions(args []word) (rest []word, asks bool) {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		opt := args[0].text
		args = args[1:]
		switch {
		case opt == "--":
			return args, false
		case strings.HasPrefix(opt, "--"):
			if slices.Contains(longValued, opt) && len(args) > 0 {
				args = args[1:]
			}
		case w.query != "" && strings.ContainsAny(opt, w.query):
			return nil, true
		case w.takesNext(opt) && len(args) > 0:
			args = args[1:]
		}
	}
	return args, false
}

// takesNext reports whether a cluster such as -nu ends in an option whose value
// is the next word.
func (w wrapper) takesNext(cluster string) bool {
	at := strings.IndexAny(cluster[1:], w.valued)
	return w.valued != "" && at == len(cluster)-2
}

// shell judges sh -c SCRIPT.
func (c *checker) shell(args []word, depth int) {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		opt := args[0].text
		args = args[1:]
		if opt == "--" {
			return
		}
		if !strings.HasPrefix(opt, "--") && strings.Contains(opt, "c") {
			break
		}
		if strings.HasSuffix(opt, "o") && len(args) > 0 { // -o pipefail
			args = args[1:]
		}
		if len(args) == 0 {
			return
		}
		if !strings.HasPrefix(args[0].text, "-") {
			return // a script file: its content is not known here
		}
	}
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") { // sh -c -e SCRIPT
		args = args[1:]
	}
	if len(args) > 0 {
		c.nested(args[0], depth)
	}
}

func (c *checker) nested(script word, depth int) {
	if !script.static {
		c.unclear = true
	}
	c.script(script.text, depth+1)
}

// evaluate judges commands that take a script as text.
func (c *checker) evaluate(name string, args []word, depth int) {
	switch name {
	case "trap":
		if len(args) > 0 {
			c.nested(args[0], depth)
		}
	case "su", "runuser", "script":
		for i, a := range args {
			if (a.text == "-c" || a.text == "--command") && i+1 < len(args) {
				c.nested(args[i+1], depth)
			}
		}
	default:
		rest, _ := wrapper{valued: "njI"}.skipOptions(args)
		all := word{static: true}
		for _, a := range rest {
			all.text += a.text + " "
			all.static = all.static && a.static
		}
		c.nested(all, depth)
	}
}

// splitString judges env -S 'CMD ARG …'.
func (c *checker) splitString(args []word, depth int) {
	for i, a := range args {
		if !strings.HasPrefix(a.text, "-") {
			return
		}
		for _, opt := range []string{"-S", "--split-string=", "--split-string"} {
			if text, ok := strings.CutPrefix(a.text, opt); ok {
				all := word{"env " + text, a.static}
				for _, more := range args[i+1:] {
					all.text += " " + more.text
				}
				c.nested(all, depth)
				return
			}
		}
	}
}

// find judges find … -exec CMD ;, and -delete.
func (c *checker) find(args []word, depth int) {
	for i, a := range args {
		switch a.text {
		case "-delete", "-fprint", "-fprint0", "-fprintf", "-fls":
			c.writes = true
		case "-exec", "-execdir", "-ok", "-okdir":
			sub := args[i+1:]
			if end := slices.IndexFunc(sub, func(w word) bool { return w.text == ";" || w.text == "+" }); end >= 0 {
				sub = sub[:end]
			}
			c.call(sub, depth)
		}
	}
}

// git judges a git subcommand, after git's own options.
func (c *checker) git(args []word, depth int) {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		opt := args[0].text
		args = args[1:]
		if slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}, opt) && len(args) > 0 {
			// An alias that begins with ! is a shell command.
			if key, value, ok := strings.Cut(args[0].text, "=!"); ok && strings.HasPrefix(strings.ToLower(key), "alias.") {
				c.nested(word{value, args[0].static}, depth)
			}
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return
	}
	if !args[0].static {
		c.unclear = true
	}
	if slices.Contains(gitNetwork, args[0].text) {
		c.remotes(args[1:])
	}
	sub, next := args[0].text, ""
	if len(args) > 1 {
		next = args[1].text
	}
	c.networks = c.networks || slices.Contains(gitNetwork, sub) ||
		sub == "remote" && (next == "update" || next == "show") || sub == "submodule" && (next == "update" || next == "add")
	c.writes = c.writes || slices.Contains(gitWrites, sub) || sub == "stash" && next != "list" && next != "show"
}

// editsInPlace reports whether a cluster of short options holds i, or an option is
// --in-place. valued are options whose value may be attached.
func editsInPlace(args []word, valued string) bool {
	for _, a := range args {
		switch {
		case a.text == "--":
			return false
		case strings.HasPrefix(a.text, "--"):
			if strings.HasPrefix(a.text, "--in-place") {
				return true
			}
		case strings.HasPrefix(a.text, "-"):
			flags := a.text[1:]
			if end := strings.IndexAny(flags, valued); end >= 0 {
				flags = flags[:end]
			}
			if strings.Contains(flags, "i") {
				return true
			}
		}
	}
	return false
}
