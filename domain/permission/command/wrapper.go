package command

import (
	"slices"
	"strings"
)

var (
	shells       = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "csh", "tcsh", "fish"}
	interpreters = []string{"python", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua", "awk", "gawk", "mawk", "nawk"}
	evaluators   = []string{"eval", "watch"}
	switchers    = []string{"su", "runuser", "script"}

	// launchers start what their arguments name, in a way that is not read here.
	launchers = []string{
		"parallel", "bwrap", "firejail", "systemd-run", "nsenter", "perf", "fakeroot", "docker", "podman", "kubectl", "ssh", "machinectl",
		"start-stop-daemon", "daemonize", "screen", "tmux", "expect", "batch", "at", "gdb", "valgrind", "npx", "pnpx", "bunx", "uvx", "pipx",
	}
	// redefiners change what a name means to the shell that goes on.
	redefiners = []string{"hash", "alias", "enable"}
)

// Starts reports whether the program runs what its arguments name, so that allowing
// it with any arguments allows any program.
func Starts(program string) bool {
	name := Name(program)
	_, wraps := wrappers[name]
	return wraps || slices.Contains([]string{"find", "trap", "git", "make", "gmake"}, name) || slices.Contains(interpreters, name) ||
		slices.Contains(launchers, name) || slices.Contains(shells, name) || slices.Contains(evaluators, name) || slices.Contains(switchers, name)
}

// wrapper is a command whose arguments hold another command.
type wrapper struct {
	valued string // short options that take a value
	skip   int    // words of its own before the command
	query  string // short options that only ask about the command
}

var wrappers = map[string]wrapper{
	"env": {valued: "uCSPLU"}, "sudo": {valued: "ugpChTUrtRD"}, "doas": {valued: "uCa"},
	"nohup": {}, "setsid": {}, "nice": {valued: "n"}, "ionice": {valued: "cnpPu"}, "chrt": {valued: "pTPD", skip: 1},
	"taskset": {skip: 1, query: "p"}, "timeout": {valued: "ks", skip: 1}, "gtimeout": {valued: "ks", skip: 1}, "stdbuf": {valued: "ioe"},
	"time": {valued: "fo"}, "chroot": {skip: 1}, "command": {query: "vV"}, "builtin": {}, "exec": {valued: "a"},
	"setpriv": {}, "prlimit": {valued: "p"}, "linux32": {}, "linux64": {}, "i386": {}, "x86_64": {}, "setarch": {}, "runuser": {valued: "uUgGsc"},
	"busybox": {}, "toybox": {}, "unshare": {valued: "SGRw"}, "caffeinate": {valued: "tw"},
	"xargs": {valued: "IELnPsdaJRS"}, "flock": {valued: "wE", skip: 1}, "strace": {valued: "aeoOpPsSuEIbX"}, "ltrace": {valued: "aeosuxlnpADF"},
}

// evaluator has the options of commands that take a script as their words.
var evaluator = wrapper{valued: "njIqS"}

// Long options of the wrappers: those that take the next word as value, and those
// that take none. Any other could be either.
var (
	longValued = []string{
		"--user", "--group", "--chdir", "--chroot", "--close-from", "--host", "--prompt", "--role", "--type", "--other-user", "--command-timeout",
		"--unset", "--signal", "--kill-after", "--max-args", "--max-procs", "--max-lines", "--max-chars", "--delimiter", "--arg-file",
		"--adjustment", "--class", "--classdata", "--pid", "--pgid", "--uid", "--wait", "--timeout", "--conflict-exit-code", "--output",
		"--format", "--input", "--error", "--split-string", "--argv0", "--interval", "--jobs", "--userspec", "--groups",
	}
	longFlags = []string{
		"--ignore-environment", "--null", "--debug", "--verbose", "--foreground", "--preserve-status", "--no-run-if-empty", "--open-tty",
		"--interactive", "--exit", "--show-limits", "--replace", "--eof", "--background", "--preserve-env", "--set-home", "--login", "--shell",
		"--non-interactive", "--stdin", "--askpass", "--reset-timestamp", "--ctty", "--fork", "--ignore", "--append", "--portability", "--quiet",
		"--all-tasks", "--cpu-list", "--fifo", "--rr", "--batch", "--idle", "--other", "--deadline", "--reset-on-fork", "--exclusive", "--shared",
		"--nonblock", "--no-fork", "--unlock", "--close", "--skip-chdir", "--color", "--differences", "--errexit", "--beep", "--no-title", "--exec",
		"--block-signal", "--default-signal", "--ignore-signal", "--list-signal-handling", "--help", "--version",
	}
)

// inner returns the commands that the wrapper may run: one, or more where an option
// is not known.
func (w wrapper) inner(args []string) [][]string {
	rests, asks := w.options(args)
	if asks {
		return nil
	}
	var out [][]string
	for _, rest := range rests {
		rest = skipAssignments(rest)
		for range w.skip {
			rest = rest[min(1, len(rest)):]
		}
		// nice and env may stand in front with their own settings: env A=1 cmd.
		if rest = skipAssignments(rest); len(rest) > 0 {
			out = append(out, rest)
		}
	}
	return out
}

// options returns what follows the wrapper's own options. There is more than one
// answer if it is not known whether an option takes the next word. asks is true if
// the wrapper only asks about a command.
func (w wrapper) options(args []string) (rests [][]string, asks bool) {
	open := [][]string{args} // what is still to be read, in every reading
	for tries := 0; len(open) > 0 && tries < readingsMax; tries++ {
		rest, others, asked := w.read(open[0])
		if asked {
			return nil, true
		}
		open = append(open[1:], others...)
		rests = append(rests, rest)
	}
	return rests, false
}

// readingsMax bounds how many ways to read unknown options are tried.
const readingsMax = 8

// read skips options. An unknown one is taken for one without a value; others are
// the readings in which it has one.
func (w wrapper) read(args []string) (rest []string, others [][]string, asks bool) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		opt := args[0]
		args = args[1:]
		switch {
		case opt == "--":
			return args, others, false
		case strings.HasPrefix(opt, "--"):
			if strings.Contains(opt, "=") || slices.Contains(longFlags, opt) || len(args) == 0 {
				continue
			}
			if slices.Contains(longValued, opt) {
				args = args[1:]
			} else {
				others = append(others, args[1:])
			}
		case w.query != "" && strings.ContainsAny(opt, w.query):
			return nil, nil, true
		case w.takesNext(opt) && len(args) > 0:
			args = args[1:]
		}
	}
	return args, others, false
}

// takesNext reports whether a cluster such as -nu ends in an option whose value is
// the next word.
func (w wrapper) takesNext(cluster string) bool {
	at := strings.IndexAny(cluster[1:], w.valued)
	return at >= 0 && at == len(cluster)-2
}

// skipAssignments leaves out NAME=VALUE words.
func skipAssignments(args []string) []string {
	for len(args) > 0 {
		name, _, ok := strings.Cut(args[0], "=")
		if !ok || !isVariable(name) {
			break
		}
		args = args[1:]
	}
	return args
}
