package builtin

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
)

// gitExec runs a git command for the model.
var gitExec = tools.New(tools.Spec[commandIn]{
	Name:    "git_exec",
	Summary: "Run a git command in the workspace, given without the word git, and return its status, output and errors.",
	Check:   requireCommand("git_exec", "git"),
	Input:   commandIn.input,
	Line:    func(in commandIn) (string, bool) { return gitLine("git_exec", in.Command) },
	Facts:   commandFacts(gitKind),
	Handle: func(ctx context.Context, env *tools.Env, in commandIn) tools.Result {
		return runGit(ctx, env, in, false)
	},
})

// git runs the command of a git task.
var git = tools.New(tools.Spec[commandIn]{
	Name: "git", Summary: "Run the command of a git task.", Direct: true,
	Check: requireCommand("git", "git"),
	Input: commandIn.input,
	Line:  func(in commandIn) (string, bool) { return gitLine("git", in.Command) },
	Facts: commandFacts(gitKind),
	Handle: func(ctx context.Context, env *tools.Env, in commandIn) tools.Result {
		return runGit(ctx, env, in, true)
	},
})

// plainGit are commands that only look and hold nothing a shell would act on.
var plainGit = regexp.MustCompile(`^[A-Za-z0-9 ./_-]+$`)

// gitLine is the approval line of a git command: shown as it is if it plainly only looks.
func gitLine(tool, command string) (string, bool) {
	words := strings.Fields(command)
	if plainGit.MatchString(command) && len(words) > 0 && onlyLooks(words) {
		return tool + " git " + strings.Join(words, " "), true
	}
	return fmt.Sprintf("%s command details withheld (command_bytes=%d)", tool, len(command)), false
}

// onlyLooks reports whether a git command is one of a few that show where a
// repository stands, with options that keep it to that.
func onlyLooks(words []string) bool {
	allowed := map[string][]string{
		"status":    {"--short", "-s", "--branch", "-b", "-sb", "--porcelain"},
		"branch":    {"--show-current", "--list", "-a", "-r", "-v", "-vv", "--all"},
		"remote":    {"-v", "--verbose"},
		"rev-parse": {"HEAD", "--show-toplevel", "--abbrev-ref", "--is-inside-work-tree", "--short", "--show-prefix"},
	}
	options, ok := allowed[words[0]]
	return ok && !slices.ContainsFunc(words[1:], func(w string) bool { return !slices.Contains(options, w) })
}

func runGit(ctx context.Context, env *tools.Env, in commandIn, direct bool) tools.Result {
	x := runCommand(ctx, env, gitKind, gitKind.invocation(env, in), true, nil)
	r := x.result(direct)
	r.Facts = []event.Payload{x.artifact(process.Stdout, x.kind.stdoutName), x.artifact(process.Stderr, x.kind.stderrName)}
	return r
}

// artifact keeps the output of one stream.
func (x *execution) artifact(stream, name string) run.ArtifactRecorded {
	a := run.ArtifactRecorded{
		ArtifactID: x.env.ArtifactID(stream), StepID: x.env.StepID, Kind: stream, Name: name,
		MIMEType: "text/plain", Status: "ready", Content: event.NewText(x.kept(stream)),
	}
	if x.res.Cancelled {
		a.Status = "cancelled"
	}
	return a
}
