package builtin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/secret"
	"hecate/tools"
	"hecate/tools/process"
	"hecate/tools/rootfs"
	"hecate/tools/sandbox"
)

// How much of each stream of a command is kept, in bytes.
const (
	shownMax = 4000     // in the result
	keptMax  = 32 << 20 // in an artifact: the log has a limit for a text, a server need not have one for output
)

// commandIn are the arguments of the tools that run a command.
type commandIn struct {
	Command          string `json:"command" jsonschema:"command line"`
	WorkingDirectory string `json:"working_directory,omitempty" jsonschema:"directory to run it in, relative to the workspace; the workspace itself if left out"`
}

func (in commandIn) input() map[string]any {
	return map[string]any{"command": in.Command, "working_directory": in.WorkingDirectory}
}

// commandKind is what tells the command tools apart.
type commandKind struct {
	prefix                 string // in front of the command
	failed, timedOut       string // error kinds
	directTitle            string // of a direct task's step
	stdoutName, stderrName string // of the artifacts, for kinds without output events
}

var (
	shellKind = commandKind{failed: "shell_command_failed", timedOut: "shell_timeout", directTitle: "Shell command"}
	gitKind   = commandKind{
		prefix: "git ", failed: "git_command_failed", timedOut: "git_timeout", directTitle: "Git command",
		stdoutName: "git-stdout.txt", stderrName: "git-stderr.txt",
	}
)

// invocation is what a command tool starts.
type invocation struct {
	dir    string // as the model wrote it
	argv   []string
	script string                     // of a shell; "" if it is none
	set    []string                   // NAME=VALUE for the command alone
	check  func(sandbox.Policy) error // the static checks; an error keeps it from starting
	tty    bool                       // with a terminal device
}

// invocation is the shell that runs the command.
func (k commandKind) invocation(env *tools.Env, in commandIn) invocation {
	script := k.prefix + in.Command
	return invocation{
		dir: in.WorkingDirectory, argv: withRTK(env, []string{"sh", "-lc", script}), script: script,
		check: func(p sandbox.Policy) error { return sandbox.Check(script, p) },
	}
}

// commandFacts makes the Facts of a command tool.
func commandFacts(kind commandKind) func(tools.Place, commandIn) permission.Facts {
	return func(at tools.Place, in commandIn) permission.Facts {
		return at.Command(in.Command, kind.prefix+in.Command, in.WorkingDirectory, sandbox.Programs)
	}
}

// requireCommand makes the Check of a command tool.
func requireCommand(tool, what string) func(*commandIn) error {
	return func(in *commandIn) error {
		if strings.TrimSpace(in.Command) == "" {
			return fmt.Errorf("%s tool internal error: %s command is required", tool, what)
		}
		return nil
	}
}

// execution is one command on its way to a result.
type execution struct {
	env      *tools.Env
	kind     commandKind
	call     invocation
	dir      string // absolute
	res      process.Result
	denied   bool // by policy
	started  bool
	out, err strings.Builder // what the result shows, or what an artifact keeps if keep is set
	keep     bool
	size     map[string]int64                       // bytes of output by stream, as recorded
	sink     func(stream string, data []byte) error // nil: nobody else wants the output
}

// What ends a command whose run was not ended, and which nobody gave up.
var (
	errInterrupted = errors.New("the server stopped and ended the command with its processes; it may have had part of its effect")
	errFenced      = errors.New("the worker lost its lease on the run, so the command was ended with its processes or not begun; it may have had part of its effect")
)

// runCommand checks and runs a command. sink, if not nil, is handed the output.
func runCommand(ctx context.Context, env *tools.Env, kind commandKind, call invocation, keep bool, sink func(string, []byte) error) *execution {
	x := &execution{env: env, kind: kind, call: call, dir: commandDir(env, call.dir), keep: keep, sink: sink}
	argv, set, err := x.prepare()
	if err != nil {
		x.denied = errors.As(err, new(*sandbox.Denied))
		x.res = process.Result{ExitCode: -1, Err: err}
		return x
	}
	x.started = true
	// Secrets are withheld here, where the output is whole: it is cut into pieces behind this.
	streams := map[string]*secret.Stream{process.Stdout: env.Settings.Secrets.Stream(), process.Stderr: env.Settings.Secrets.Stream()}
	x.res = process.Run(ctx, process.Command{
		Argv: argv, Set: set, Dir: x.dir, Timeout: env.CommandTimeout(), OutputMax: env.Settings.OutputMaxBytes, Lease: env.Settings.Lease,
		Output: func(stream string, data []byte) error {
			text := streams[stream].Write(string(data))
			tellWithheld(env, streams[stream].Withheld())
			return x.take(stream, text)
		},
	})
	for _, stream := range []string{process.Stdout, process.Stderr} {
		rest := streams[stream].End()
		tellWithheld(env, streams[stream].Withheld())
		_ = x.take(stream, rest) // what ended the command ended it before
	}
	x.res.Stdout, x.res.Stderr = x.size[process.Stdout], x.size[process.Stderr]
	switch {
	case errors.Is(x.res.Err, process.ErrLeaseOver) || x.res.Cancelled && tools.LeaseLost(ctx):
		x.res.Cancelled, x.res.Err = false, errFenced
	case x.res.Cancelled && !tools.RunEnded(ctx):
		x.res.Cancelled, x.res.Err = false, errInterrupted
	}
	return x
}

// commandDir is the directory a command is meant to run in, whether it may or not.
func commandDir(env *tools.Env, dir string) string {
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(env.RootPath, dir)
}

// prepare makes the static checks and returns what is really started, and the variables
// that it is started with beside those of every command.
func (x *execution) prepare() (argv, set []string, err error) {
	rel, err := rootfs.Dir(x.env.Root, x.env.RootPath, x.call.dir)
	if err != nil {
		return nil, nil, err
	}
	x.dir = filepath.Join(x.env.RootPath, rel)
	err = x.call.check(sandbox.Policy{
		ReadOnly: x.env.ReadOnly, Network: x.env.Network,
		AllowPrivateIPs: x.env.Settings.ShellAllowPrivateIPs, AllowedHosts: x.env.Settings.ShellAllowedHosts,
	})
	if err != nil {
		return nil, nil, err
	}
	if err := findProgram(x.dir, x.call.argv[0]); err != nil {
		return nil, nil, err
	}
	w := x.env.Settings.Wrapper
	if err := w.Holds(x.env.ReadOnly, x.env.Network, x.env.Settings.Confined); err != nil {
		return nil, nil, err
	}
	if wrapperKind(x.env) == sandbox.WrapperNone {
		return x.call.argv, x.call.set, nil
	}
	return w.Wrap(x.call.argv, sandbox.Confine{
		Root: x.env.RootPath, Dir: x.dir, ReadOnly: x.env.ReadOnly, Network: x.env.Network, Hidden: x.env.Settings.Hidden, Cache: x.env.CacheDir, Set: x.call.set, TTY: x.call.tty,
	}), nil, nil
}

func tellWithheld(env *tools.Env, names []string) {
	if len(names) > 0 && env.Withheld != nil {
		env.Withheld(names)
	}
}

// take takes output as it is recorded.
func (x *execution) take(stream, text string) error {
	if text == "" {
		return nil
	}
	x.gather(stream, text)
	if x.sink == nil {
		return nil
	}
	return x.sink(stream, []byte(text))
}

func (x *execution) gather(stream, text string) {
	b := &x.out
	if stream == process.Stderr {
		b = &x.err
	}
	most := shownMax + 1
	if x.keep {
		most = keptMax
	}
	b.WriteString(text[:min(len(text), most-b.Len())])
	if x.size == nil {
		x.size = map[string]int64{}
	}
	x.size[stream] += int64(len(text))
}

// kept is a stream's output for an artifact, marked if that is not all of it.
func (x *execution) kept(stream string) string {
	text, size := x.out.String(), x.res.Stdout
	if stream == process.Stderr {
		text, size = x.err.String(), x.res.Stderr
	}
	if int64(len(text)) < size {
		text += truncatedMark
	}
	return text
}

func (x *execution) status() string {
	switch {
	case x.res.Cancelled:
		return "cancelled"
	case x.res.Err != nil:
		return "failed"
	}
	return "completed"
}

func (x *execution) errorText() string {
	if x.res.Err == nil {
		return ""
	}
	return x.res.Err.Error()
}

func (x *execution) errorKind() string {
	switch {
	case x.res.Err == nil:
		return ""
	case x.denied:
		return tools.KindPolicy
	case x.res.Cancelled:
		return tools.KindCancelled
	case errors.Is(x.res.Err, errInterrupted):
		return tools.KindInterrupted
	case errors.Is(x.res.Err, errFenced):
		return tools.KindLeaseLost
	case x.res.TimedOut:
		return x.kind.timedOut
	}
	return x.kind.failed
}

// text is what the model is told.
func (x *execution) text() string {
	var b strings.Builder
	b.WriteString("status=" + x.status() + "\n")
	if x.res.Err != nil {
		b.WriteString("error=" + x.errorText() + "\n")
	}
	x.section(&b, process.Stdout, x.out.String(), x.res.Stdout)
	x.section(&b, process.Stderr, x.err.String(), x.res.Stderr)
	return b.String()
}

func (x *execution) section(b *strings.Builder, stream, text string, size int64) {
	b.WriteString("--- " + stream + " ---\n")
	shown := tools.Valid(tools.Cut(text, shownMax))
	b.WriteString(shown)
	if shown != "" && !strings.HasSuffix(shown, "\n") {
		b.WriteString("\n")
	}
	if size > shownMax {
		// The rest is in the artifact; say how to get at it.
		fmt.Fprintf(b, "%s\nfull %s: artifact_id=%s size=%d\n", truncatedMark, stream, x.env.ArtifactID(stream), size)
	}
}

// result makes the tool's result of the execution.
func (x *execution) result(direct bool) tools.Result {
	r := tools.Result{
		Text: x.text(), Error: x.res.Err != nil, Outcome: run.Outcome(x.status()),
		ErrorText: x.errorText(), ErrorKind: x.errorKind(), ExitCode: int64(x.res.ExitCode),
	}
	if direct {
		r.Title, r.Input, r.Output = x.kind.directTitle, x.directInput(), x.directOutput()
		return r
	}
	r.Title = fmt.Sprintf("%s (%s)", x.env.ToolName, x.status())
	r.Output = subStep(x.status(), x.errorText(), 2)
	return r
}

// subStep is the output summary of tools that the contract describes as a step with a step below it.
func subStep(status, lastError string, artifacts int) map[string]any {
	return map[string]any{"sub_status": status, "last_error": lastError, "sub_step_count": 1, "artifact_count": artifacts}
}

func (x *execution) directInput() map[string]any {
	ms := x.env.CommandTimeout().Milliseconds()
	out := map[string]any{
		"timeout_ms": ms, "working_directory": x.dir, "hecate.tool.working_directory": x.dir, "hecate.tool.timeout_ms": ms,
	}
	if before, after := rtkShown(x.env, x.call.script); before != "" {
		out["hecate.sandbox.rtk.command.before"], out["hecate.sandbox.rtk.command.after"] = before, after
	}
	return merge(out, x.posture())
}

func (x *execution) directOutput() map[string]any {
	return merge(map[string]any{
		"stdout_bytes": x.res.Stdout, "stderr_bytes": x.res.Stderr, "exit_code": x.res.ExitCode,
		"hecate.tool.exit_code": x.res.ExitCode, "hecate.tool.stdout.bytes": x.res.Stdout, "hecate.tool.stderr.bytes": x.res.Stderr,
		"hecate.tool.timed_out": x.res.TimedOut, "hecate.tool.cancelled": x.res.Cancelled, "hecate.tool.output_truncated": x.res.Truncated,
	}, x.posture())
}

func (x *execution) posture() map[string]any {
	out := map[string]any{
		"hecate.sandbox.wrapper.kind": wrapperKind(x.env), "hecate.sandbox.network.enabled": x.env.Network,
		"hecate.sandbox.read_only": x.env.ReadOnly, "hecate.sandbox.output_limit.bytes": x.env.Settings.OutputMaxBytes,
	}
	if x.call.script != "" && usesRTK(x.env) {
		out["hecate.sandbox.rtk.enabled"] = true
	}
	return out
}

func wrapperKind(env *tools.Env) string {
	if env.Settings.Wrapper.Kind == "" {
		return sandbox.WrapperNone
	}
	return env.Settings.Wrapper.Kind
}

func merge(into, from map[string]any) map[string]any {
	for k, v := range from {
		into[k] = v
	}
	return into
}
