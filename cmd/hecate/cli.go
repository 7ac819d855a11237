package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"hecate/cmd/hecate/internal/terminal"
	"hecate/runtime/model/provider"
)

// The exit codes of all commands. Scripts rely on them; the help text names them.
const (
	exitCompleted   = 0
	exitFailed      = 1   // the run failed, or the command could not do what was asked
	exitUsage       = 2   // the command line makes no sense
	exitRefused     = 3   // an approval was refused, or nobody could give it
	exitCancelled   = 4   // the run was cancelled: by somebody else, or at its time limit
	exitAltered     = 5   // the log, or a part that was exported, was altered
	exitInterrupted = 130 // Ctrl-C
)

const description = `Hecate runs AI agents and keeps every step of theirs in an append-only log.

A task says what is wanted, a run is one attempt at it. The model's tool calls run in a
workspace of their own, and what is risky waits for your yes.

Examples:

    hecate demo                                   see it work, without any model or key
    hecate run "make the failing test pass"       work on a copy of this directory
    hecate take                                   put what it changed into this directory
    hecate serve                                  run the server
    hecate approvals                              what waits for you
    hecate log                                    the history of the latest run
    hecate resume run_5d20…                       go on where a run stopped

Exit codes: 0 done; 1 failed; 2 wrong usage; 3 an approval was refused, or calls were since
nobody could give it; 4 the run was cancelled; 5 the log was altered; 130 interrupted.`

// commandLine is the grammar of the command line.
type commandLine struct {
	ShowVersion kong.VersionFlag `name:"version" short:"v" help:"Print the version."`

	Run         runCommand         `cmd:"" group:"work" help:"Let an agent work on a directory, and watch it."`
	Resume      resumeCommand      `cmd:"" group:"work" help:"Go on where a run failed or was cancelled."`
	Continue    continueCommand    `cmd:"" group:"work" help:"Say something more in a run's conversation."`
	Retry       retryCommand       `cmd:"" group:"work" help:"Do a run's task again from the beginning."`
	Branch      branchCommand      `cmd:"" group:"work" help:"Make one model call of a run again."`
	Take        takeCommand        `cmd:"" group:"work" help:"Put what a run has changed in its copy into the directory itself."`
	Restore     restoreCommand     `cmd:"" group:"work" help:"Put a run's workspace back to before one of its calls."`
	Attach      attachCommand      `cmd:"" group:"work" help:"Follow a run that is under way, and answer what it asks."`
	Demo        demoCommand        `cmd:"" group:"work" help:"Show a whole run with a scripted model."`
	Tasks       tasksCommand       `cmd:"" group:"look" help:"List tasks, or show one."`
	Log         logCommand         `cmd:"" group:"look" help:"Print the history of a run."`
	Calls       callsCommand       `cmd:"" group:"look" help:"List the tool calls of a run, and what came of them."`
	Audit       auditCommand       `cmd:"" group:"look" help:"Search the history of all runs, and say who allowed what."`
	Usage       usageCommand       `cmd:"" group:"look" help:"Sum up what model calls cost, or list them."`
	Providers   providersCommand   `cmd:"" group:"look" help:"Show how the model providers stand."`
	Provider    providerCommand    `cmd:"" group:"look" help:"Check a model provider."`
	Presets     presetsCommand     `cmd:"" group:"look" help:"List the work policies, or show one."`
	Approvals   approvalsCommand   `cmd:"" group:"decide" help:"Show what waits for a person, with every call in full."`
	Approve     approveCommand     `cmd:"" group:"decide" help:"Allow what an approval asks for."`
	Reject      rejectCommand      `cmd:"" group:"decide" help:"Refuse what an approval asks for; ends the run, or lets it go on without."`
	Permissions permissionsCommand `cmd:"" group:"decide" help:"List, accept, revoke and explain what tool calls may do."`
	Settle      settleCommand      `cmd:"" group:"decide" help:"Say what came of a call whose outcome is unknown."`
	Serve       serveCommand       `cmd:"" group:"serve" help:"Run the server: API, feeds and workers."`
	Operators   operatorsCommand   `cmd:"" group:"serve" help:"List who may decide; make an operator, or revoke one."`
	Stop        stopCommand        `cmd:"" group:"serve" help:"End the server, and wait for its end."`
	System      systemCommand      `cmd:"" group:"serve" help:"Show how busy the server is."`
	Projections projectionsCommand `cmd:"" group:"serve" help:"Look at the read models, or build them anew."`
	Doctor      doctorCommand      `cmd:"" group:"serve" help:"Look at this machine: what is enforced, what is missing."`
	Completion  completionCommand  `cmd:"" group:"serve" help:"Print a script that completes commands in a shell."`
	Complete    completeCommand    `cmd:"" hidden:"" help:"List ids for the scripts of completion."`
	Version     versionCommand     `cmd:"" group:"serve" help:"Print the version."`
}

var groups = []kong.Group{
	{Key: "work", Title: "Work:"},
	{Key: "look", Title: "Look:"},
	{Key: "decide", Title: "Decide:"},
	{Key: "serve", Title: "Serve:"},
}

// app is the process around a command: its streams, its environment and what tests replace.
type app struct {
	in        io.Reader
	out, err  io.Writer
	inTTY     bool // somebody sits at in
	outStyle  terminal.Style
	errStyle  terminal.Style
	environ   []string
	interrupt chan os.Signal // Ctrl-C and requests to end

	start         func(ctx context.Context, environ []string, log *slog.Logger) (runningNode, error)
	discoverLocal func(ctx context.Context) (name, baseURL string, models []string, ok bool)
	usualServer   string // looked for last; "" for nowhere
	dropTyped     func() // forgets what was typed before a question was on the screen
}

// runningNode is a server inside this process.
type runningNode interface {
	BaseURL() string
	Wait() error // until the node ends
	Close(ctx context.Context) error
}

func newApp() *app {
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTTY:    term.IsTerminal(int(os.Stdin.Fd())),
		outStyle: terminal.StyleOf(os.Stdout, os.Getenv), errStyle: terminal.StyleOf(os.Stderr, os.Getenv),
		environ: os.Environ(), interrupt: make(chan os.Signal, 2),
		discoverLocal: provider.DiscoverLocal, usualServer: usualServer,
		dropTyped: func() { dropTyped(os.Stdin) },
	}
	a.start = func(ctx context.Context, environ []string, log *slog.Logger) (runningNode, error) {
		return startNode(ctx, environ, log)
	}
	return a
}

// catchInterrupts hands Ctrl-C to the command instead of ending the process, until
// the returned function is called.
func (a *app) catchInterrupts() (stop func()) {
	signal.Notify(a.interrupt, endSignals()...)
	return func() { signal.Stop(a.interrupt) }
}

// endSignals lists what asks a command to end. The end of the terminal is no such
// request if whoever started the command ruled that out, as nohup does.
func endSignals() []os.Signal {
	out := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		out = append(out, syscall.SIGHUP)
	}
	return out
}

func (a *app) getenv(name string) string {
	value := ""
	for _, entry := range a.environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// run parses the arguments, runs the command and returns the exit code.
func (a *app) run(args []string) int {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	exited, code := false, 0
	parser, err := kong.New(&commandLine{},
		kong.Name("hecate"), kong.Description(description), kong.ExplicitGroups(groups),
		kong.Writers(a.out, a.err), kong.Exit(func(c int) { exited, code = true, c }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.Vars{"version": version()}, kong.Bind(a),
	)
	if err != nil {
		return a.report("", err)
	}
	parsed, err := parser.Parse(args)
	if exited { // --help or --version
		return code
	}
	if err != nil {
		return a.report(misused(err))
	}
	return a.report(commandPath(parsed.Selected()), parsed.Run())
}

// commandPath names a command as it is typed, without the program.
func commandPath(n *kong.Node) string {
	return strings.TrimSpace(strings.TrimPrefix(n.FullPath(), "hecate"))
}

// failure is an error with its exit code and, if there is one, the way out of it.
type failure struct {
	code int
	err  error // nil: everything was said already
	next string
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// exit ends a command with a code after it has said why.
func exit(code int) error {
	if code == exitCompleted {
		return nil
	}
	return &failure{code: code}
}

// misused says which command's help to read about an error of the parser.
func misused(err error) (command string, _ error) {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil && wrong.Context.Selected() != nil {
		command = commandPath(wrong.Context.Selected())
	}
	return command, usage(err)
}

func usage(err error) error { return &failure{code: exitUsage, err: err} }

// advise adds what to do next to an error.
func advise(err error, next string) error { return &failure{code: exitFailed, err: err, next: next} }

// report prints an error: where, what, and what to do next.
func (a *app) report(command string, err error) int {
	if err == nil {
		return exitCompleted
	}
	f := &failure{code: exitFailed, err: err}
	if !errors.As(err, &f) {
		f = &failure{code: exitFailed, err: err}
	}
	if f.err == nil {
		return f.code
	}
	where := strings.TrimSpace("hecate " + command)
	lead := a.errStyle.Red(where+":") + " "
	for line := range strings.SplitSeq(strings.TrimSpace(err.Error()), "\n") { // several errors in one stand on lines of their own
		fmt.Fprintf(a.err, "%s%s\n", lead, terminal.Line(line))
		lead = strings.Repeat(" ", len(where)+2)
	}
	if f.code == exitUsage {
		f.next = "see: " + strings.TrimSpace(where+" --help")
	}
	if f.next != "" {
		for line := range strings.SplitSeq(f.next, "\n") {
			fmt.Fprintf(a.err, "  %s\n", line)
		}
	}
	return f.code
}
