package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	v1 "hecate/api/v1"
	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// demoCommand is "hecate demo".
type demoCommand struct {
	Yes   bool `short:"y" xor:"how" help:"Approve the one call that asks, without asking."`
	Serve bool `xor:"how" help:"Run nothing: keep a server with the scripted model until Ctrl-C, to try the console and the commands on."`
	Keep  bool `help:"Keep the directory with the project and the log."`
}

// Help is the long help of the command.
func (demoCommand) Help() string {
	return `An agent repairs a small Go project with a failing test. The model is scripted, so no key and no
network is needed; everything else is real: the server, its log, the tools, git and the test run.
One call waits for your yes. It needs go and git, and cleans up after itself.

Examples:

    hecate demo                   watch it, and answer
    hecate demo --serve           try it yourself, in the browser and in another terminal`
}

// demoModel is the name under which the scripted model is offered.
const (
	demoProvider = "scripted"
	demoPrompt   = "The tests of this package fail. Find out why, repair it and run them."
	demoWish     = "make the failing test pass" // what is suggested to people
)

// Run does the command.
func (c demoCommand) Run(a *app) error {
	if !a.inTTY && !c.Yes && !c.Serve {
		return &failure{
			code: exitRefused, err: errors.New("one call of the demo needs your approval, and nobody can answer here"),
			next: "run it on a terminal, or: hecate demo --yes",
		}
	}
	dir, err := os.MkdirTemp("", "hecate-demo-")
	if err != nil {
		return fmt.Errorf("make a directory for the demo: %w", err)
	}
	err = c.in(context.Background(), a, dir)
	if c.Keep {
		fmt.Fprintf(a.out, "\nkept: %[1]s\n  HECATE_DATA_DIR=%[1]s/data hecate log\n", dir)
		return err
	}
	if removeErr := os.RemoveAll(dir); removeErr != nil && err == nil {
		err = fmt.Errorf("clean up: %w", removeErr)
	}
	return err
}

// in plays the demo in a directory of its own.
func (c demoCommand) in(ctx context.Context, a *app, dir string) error {
	d := &demo{app: a.isolated(dir), out: terminal.NewScreen(a.out, a.outStyle), style: a.outStyle, dir: dir, keep: c.Keep}
	d.banner()
	project, err := d.prepare(ctx)
	if err != nil {
		return err
	}
	server, stopModel, err := d.startServer(ctx)
	if err != nil {
		return err
	}
	defer stopModel()
	if c.Serve {
		return d.serve(server, project)
	}
	code, err := d.play(ctx, server, project, c.Yes)
	if closeErr := server.close(); closeErr != nil && err == nil {
		err = fmt.Errorf("end the server: %w", closeErr)
	}
	if err != nil {
		return err
	}
	d.realModels(ctx)
	return exit(code)
}

// prepare makes the project. It can be interrupted, which leaves nothing behind.
func (d *demo) prepare(ctx context.Context) (string, error) {
	ctx, stop := signal.NotifyContext(ctx, endSignals()...)
	defer stop()
	project, err := d.makeProject(ctx)
	if ctx.Err() != nil {
		return "", exit(exitInterrupted)
	}
	return project, err
}

// demo is one performance.
type demo struct {
	*app
	out   *terminal.Screen
	style terminal.Style
	dir   string
	keep  bool
}

// isolated returns the app with an environment that knows nothing of the user's
// servers, settings and keys.
func (a *app) isolated(dir string) *app {
	out := *a
	out.environ = nil
	for _, name := range []string{"PATH", "HOME", "LANG", "TERM"} {
		if v := a.getenv(name); v != "" {
			out.environ = append(out.environ, name+"="+v)
		}
	}
	out.environ = append(out.environ, "TMPDIR="+dir)
	return &out
}

func (d *demo) banner() {
	fmt.Fprintln(d.out, d.style.Bold("Hecate demo")+": an agent repairs a small Go project")
	fmt.Fprintln(d.out, d.style.Yellow("The model is scripted")+": a local server plays fixed answers over the real wire protocol, at")
	fmt.Fprintln(d.out, "invented prices. All else is real: server, log, approval, tools, git and the test run.")
}

// section begins a part of the output.
func (d *demo) section(title string) {
	rule := strings.Repeat("─", max(d.style.Columns-len(title)-4, 3))
	fmt.Fprintln(d.out, "\n"+d.style.Dim("── ")+d.style.Bold(title)+d.style.Dim(" "+rule))
}

// startServer starts the scripted model, and a server that knows no other.
func (d *demo) startServer(ctx context.Context) (*localServer, func(), error) {
	base, stop, err := demoScript(d.testCommand(ctx)).Start("127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	prefix := "PROVIDER_" + strings.ToUpper(demoProvider)
	server, err := d.startLocal(ctx, filepath.Join(d.dir, "data"), map[string]string{
		prefix + "_PRECONFIGURED": "true", prefix + "_KIND": "local", prefix + "_BASE_URL": base,
		"HECATE_TASK_APPROVAL_POLICIES": "shell_exec", // the script has one such call
		"HECATE_BACKEND":                "sqlite",
		"HECATE_TASK_SANDBOX":           "none", // the script fixes the commands, and go needs the build cache of the user
		// So no command reaches this server that the user has not read here.
		"HECATE_OPERATOR_TOKEN_REQUIRED": string(v1.ProofNever),
	})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return server, stop, nil
}

// play runs the task and shows what came of it.
func (d *demo) play(ctx context.Context, server *localServer, project string, yes bool) (int, error) {
	d.section("the run")
	f := newFollower(d.app, server.Client, false)
	f.lost, f.passing, f.scripted = server.lost, true, true
	ahead, err := aheadFlags{Yes: yes}.watched(d.app, false)
	if err != nil {
		return exitFailed, err
	}
	stop := d.catchInterrupts()
	defer stop()
	result, err := f.start(ctx, newRun{client.NewTask{
		Prompt: demoPrompt, ExecutionKind: "agent_loop", WorkspaceMode: "ephemeral", WorkingDirectory: project,
		ExecutionProfile: codingProfile,
	}, ahead}, 0)
	if err != nil {
		return exitFailed, err
	}
	if err := f.conclude(result); err != nil || result.left {
		return result.ExitCode, err
	}
	if result.Rejected {
		fmt.Fprintln(d.out, "  the command did not run; the edit before it was made in a copy of the project")
	}
	d.section("the change")
	if err := d.showDiff(ctx, result.WorkspacePath); err != nil {
		return exitFailed, err
	}
	return result.ExitCode, d.showHistory(ctx, server.Client, result)
}

// showDiff prints what git says about the workspace.
func (d *demo) showDiff(ctx context.Context, workspace string) error {
	diff, err := d.git(ctx, workspace, "diff", "--no-color", "--no-ext-diff")
	if err != nil {
		return err
	}
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(terminal.Text(line), "\n")
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
			line = d.style.Dim(line)
		case strings.HasPrefix(line, "+"):
			line = d.style.Green(line)
		case strings.HasPrefix(line, "-"):
			line = d.style.Red(line)
		case strings.HasPrefix(line, "@@"):
			line = d.style.Cyan(line)
		}
		fmt.Fprintln(d.out, line)
	}
	return nil
}

// milestones are the events that the demo's history shows.
var milestones = map[string]bool{
	"run.created": true, "run.started": true, "model.call.completed": true, "tool.dispatch.settled": true, "tool.file.patch": true,
	"tool.shell.command": true, "tool.shell.exited": true, "approval.requested": true, "approval.resolved": true,
	"run.finished": true, "run.failed": true, "run.cancelled": true, "assistant.final_answer": true,
}

func (d *demo) showHistory(ctx context.Context, server *client.Client, r runResult) error {
	d.section("the history")
	log := show.NewLog(d.out, d.style)
	all, shown := int64(0), int64(0)
	err := eachEvent(ctx, server, r.TaskID, r.RunID, func(e client.Event) bool {
		all++
		if milestones[e.Type] {
			shown++
			log.Event(e)
		}
		return true
	})
	if err != nil {
		return err
	}
	where := "the history above was read from the log; --keep keeps it"
	if d.keep {
		where = "the history above was read from the log"
	}
	fmt.Fprintln(d.out, d.style.Dim(fmt.Sprintf("%d of %s; %s", shown, show.Count(all, "event"), where)))
	return nil
}

// realModels says how to go on with a model that thinks.
func (d *demo) realModels(ctx context.Context) {
	d.section("with a real model")
	var text bytes.Buffer
	if name, base, models, ok := d.discoverLocal(ctx); ok {
		fmt.Fprintf(&text, "%s runs at %s with %s; this uses it:\n", name, base, strings.Join(models, ", "))
		fmt.Fprintf(&text, "  hecate run \"%s\"\n", demoWish)
		fmt.Fprintf(&text, "or take another one:\n")
	}
	fmt.Fprintf(&text, "  export OPENAI_API_KEY=…       OpenAI\n")
	fmt.Fprintf(&text, "  export ANTHROPIC_API_KEY=…    Anthropic\n")
	fmt.Fprintf(&text, "  ollama serve                  or LM Studio, llama.cpp: found at its usual port, no key\n")
	fmt.Fprintf(&text, "  hecate run \"%s\"\n", demoWish)
	fmt.Fprint(d.out, terminal.Text(text.String()))
}
