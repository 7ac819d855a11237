package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
	"hecate/tools/rootfs"
	"hecate/tools/sandbox"
)

// execTool runs one program for the model. Source: permission text, "The prompt".
var execTool = tools.New(tools.Spec[execIn]{
	Name: "exec",
	Summary: "Run one program in the workspace with a list of arguments, each passed literally, and return its status, output and errors. " +
		"Prefer it to shell_exec for a single program: no shell reads the arguments, so nothing needs quoting. " +
		"Everything it starts ends with it.",
	Check:  checkExec,
	Input:  execIn.input,
	Line:   execLine,
	Facts:  execFacts,
	Before: execBegins,
	Handle: func(ctx context.Context, env *tools.Env, in execIn) tools.Result {
		return runLive(ctx, env, execKind, in.invocation(), false)
	},
})

var execKind = commandKind{failed: "exec_failed", timedOut: "exec_timeout"}

type execIn struct {
	Program          string            `json:"program" jsonschema:"name or path of the program, without arguments"`
	Args             []string          `json:"args,omitempty" jsonschema:"its arguments, one an entry"`
	Env              map[string]string `json:"env,omitempty" jsonschema:"environment variables for this program alone, with values that are not expanded"`
	WorkingDirectory string            `json:"working_directory,omitempty" jsonschema:"directory to run it in, relative to the workspace; the workspace itself if left out"`
}

func (in execIn) argv() []string { return append([]string{in.Program}, in.Args...) }

func (in execIn) invocation() invocation {
	call := invocation{
		dir: in.WorkingDirectory, argv: in.argv(),
		check: func(p sandbox.Policy) error { return sandbox.CheckArgv(in.argv(), p) },
	}
	for _, name := range in.names() {
		call.set = append(call.set, name+"="+in.Env[name])
	}
	return call
}

// names are those of the variables, sorted.
func (in execIn) names() []string { return slices.Sorted(maps.Keys(in.Env)) }

// size is how many bytes the call hands to the program.
func (in execIn) size() int {
	n := len(in.Program)
	for _, a := range in.Args {
		n += 1 + len(a)
	}
	return n
}

func checkExec(in *execIn) error {
	switch {
	case strings.TrimSpace(in.Program) == "":
		return errors.New("exec tool internal error: program is required")
	case slices.ContainsFunc(in.argv(), hasNUL):
		return errors.New("exec: a program and its arguments cannot hold NUL bytes")
	}
	for _, name := range in.names() {
		switch why := keptBy(name); {
		case name == "", strings.Contains(name, "="), hasNUL(name):
			return fmt.Errorf("exec: env %q is no name of a variable", tools.Cut(name, nameShownMax))
		case hasNUL(in.Env[name]):
			return fmt.Errorf("exec: the value of env %s cannot hold NUL bytes", name)
		case why != "":
			return fmt.Errorf("exec: env %s cannot be set: %s; leave it out", tools.ShownName(tools.Cut(name, nameShownMax)), why)
		}
	}
	return nil
}

// nameShownMax bounds a name in an error, in bytes.
const nameShownMax = 200

func hasNUL(s string) bool { return strings.ContainsRune(s, 0) }

// The variables that a call cannot set. Those of the server's environment that only
// concern language, time, terminal and Git's author it can.
var (
	// runtimeNames are set for every command: who it runs as, where it looks for programs
	// and where it may leave files.
	runtimeNames = []string{"PATH", "HOME", "SHELL", "USER", "LOGNAME", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME"}
	// gitNames would make git work on another repository or with other settings than
	// those of the workspace; so would all that begin with GIT_CONFIG.
	gitNames = []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_INTERNAL_SUPER_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE",
		"GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
		"GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_ATTR_SOURCE", "GIT_ATTR_GLOBAL", "GIT_ATTR_SYSTEM", "GIT_ATTR_NOSYSTEM",
	}
)

// keptBy says why a variable cannot be set by a call; "" if it can. Source: permission
// text, "The prompt": the runtime's own environment and markers take precedence, and git
// redirection remains disabled.
func keptBy(name string) string {
	switch {
	case slices.Contains(runtimeNames, name), strings.HasPrefix(name, "HECATE_"):
		return "it is the runtime's, which sets its own for every command"
	case slices.Contains(gitNames, name), strings.HasPrefix(name, "GIT_CONFIG"):
		return "git works on the repository of the workspace with that one's settings"
	}
	return ""
}

// execLine tells how much there is to look at: arguments may hold anything.
func execLine(in execIn) (string, bool) {
	return fmt.Sprintf("exec details withheld (args=%d env=%d command_bytes=%d)", len(in.Args), len(in.Env), in.size()), false
}

func execFacts(at tools.Place, in execIn) permission.Facts {
	f := at.Exec(in.argv(), in.WorkingDirectory, sandbox.Programs)
	f.Env = in.Env
	return f
}

func execBegins(env *tools.Env, in execIn) []event.Payload {
	return commandBegins(env, in.WorkingDirectory, run.ShellCommand{
		Argv: shownList(in.argv()), Command: event.NewText(quoted(in.argv())), EnvKeys: append([]string{"PATH", "HOME"}, shownList(in.names())...),
	})
}

// quoted is an argument list as a shell would have to be given it, to be read.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		var err error
		if words[i], err = syntax.Quote(a, syntax.LangBash); err != nil {
			words[i] = tools.Quoted(a)
		}
	}
	return strings.Join(words, " ")
}

func (in execIn) input() map[string]any {
	out := map[string]any{"argv": shownList(in.argv()), "working_directory": in.WorkingDirectory}
	if len(in.Env) > 0 {
		env := make([]string, 0, len(in.Env))
		for _, name := range in.names() {
			env = append(env, name+"="+in.Env[name])
		}
		out["env"] = shownList(env)
	}
	return out
}

// How much of a list an event shows.
const (
	listShownMax  = 4 << 10 // bytes in all
	entryShownMin = 8       // bytes that count for an entry, however short it is
)

// shownList is a list as events show it: whole up to 4 KiB, else its beginning and a
// note of what there is.
func shownList(list []string) []string {
	room := listShownMax
	for i, s := range list {
		if room -= max(len(s), entryShownMin); room >= 0 {
			continue
		}
		total := 0
		for _, x := range list {
			total += len(x)
		}
		head := slices.Clone(list[:i])
		if left := room + len(s); left > 0 && len(s) > entryShownMin {
			head = append(head, tools.Valid(tools.Cut(s, left))+"…")
		}
		return append(head, fmt.Sprintf("…(%d entries, %d bytes in all)", len(list), total))
	}
	return slices.Clone(list)
}

// findProgram reports what keeps a program from being started in dir.
func findProgram(dir, name string) error {
	_, err := process.LookPath(dir, name)
	name, hint := tools.Cut(name, nameShownMax), ""
	if strings.ContainsAny(name, " \t") {
		hint = "; put its arguments into args, or use shell_exec for a shell command"
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrDot):
		return fmt.Errorf("program %s is only found in the current directory; write ./%s if that is meant", tools.Quoted(name), name)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("program %s was not found%s", tools.Quoted(name), hint)
	}
	var e *exec.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("program %s cannot be run: %s", tools.Quoted(name), rootfs.Cause(err))
}
