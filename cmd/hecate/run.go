package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// codingProfile is what a task has that nobody has said more about: 300 seconds for each
// command, and a prompt for work on code. Its runs may make 200 model calls in the levels
// posture. Source: permission text, "The repeated-call anomaly".
const codingProfile = "coding_agent"

// runCommand is "hecate run".
type runCommand struct {
	serverFlags
	Prompt []string `arg:"" help:"What you want done, in quotes; - reads it from standard input."`
	Dir    string   `xor:"source" placeholder:"DIR" help:"Directory to work on. Default: the current one."`
	Repo   string   `xor:"source,place" placeholder:"URL" help:"Clone this repository, and work on that."`
	Ref    string   `xor:"ref" placeholder:"REF" help:"Work on this branch, tag or commit, without what is not committed."`
	aheadFlags
	InPlace  bool          `xor:"place,ref" help:"Work in the directory itself instead of a copy; edits ask then, too."`
	Policies bool          `name:"runtime-policies" help:"Let the server's policies say what asks, and not the levels of the tools."`
	Model    string        `short:"m" help:"Model to use. Default: the provider's first."`
	Provider string        `help:"Provider to use; needs --model."`
	Timeout  time.Duration `placeholder:"DURATION" help:"Cancel the run after this time, such as 20m."`
	Budget   dollars       `placeholder:"USD" help:"End the run when it has cost this much, such as 0.50."`
	JSON     bool          `name:"json" help:"Print events and the result as JSON lines."`
	Keep     bool          `help:"Keep a server that this command started, until Ctrl-C."`
}

// Help is the long help of the command.
func (runCommand) Help() string {
	return `The agent works on a copy of the directory, with the state of its uncommitted files, and leaves
the directory as it is: at the end you see which files it changed, and where. Reading is silent,
edits in the copy are shown, and what can reach further, such as a command, is shown in full and
waits for your answer: y for this call, a for the session, A to remember it in the project's file,
n or N to deny. Ctrl-C asks to cancel the run, and its end is shown; a second one leaves at once, and
ends a server that this command has started.

Where nobody can be asked, what would ask is refused and the run goes on without it. --yes and
--allow-tools answer ahead; they hold for this run alone.

Without a running server one is started inside this command; its log is kept in
HECATE_DATA_DIR (default: hecate in your data directory), so that "hecate log" finds the run later.

Examples:

    hecate run "make the failing test pass"
    hecate run --allow-tools 'exec(go) args(test *)' "make the failing test pass"
    hecate run --yes --budget 0.50 --timeout 20m "update the dependencies"
    hecate run --ref v1.2 "which tests of that release fail on this machine?"
    hecate run --model qwen3 --provider ollama --in-place "explain this code"
    git diff | hecate run -                 the prompt from standard input

Exit codes: 0 completed; 1 failed; 3 an approval was refused, or calls were since nobody could
give it; 4 cancelled by somebody else or at --timeout; 130 interrupted.`
}

// Run does the command.
func (c runCommand) Run(a *app) error {
	ctx := context.Background()
	task, err := c.task(a)
	if err != nil {
		return err
	}
	ahead, err := c.watched(a, c.JSON)
	if err != nil {
		return err
	}
	if c.Server == "" { // else the files are those of another machine
		if err := c.checkFiles(a, task.WorkingDirectory); err != nil {
			return err
		}
	}
	return c.withServer(ctx, a, c.startServer, func(server *client.Client, local *localServer) error {
		err := c.on(ctx, a, server, local, newRun{task, ahead})
		if local == nil || !c.Keep {
			return err
		}
		defer a.catchInterrupts()()
		if lost := local.untilInterrupted(a); lost != nil {
			return lost
		}
		return err
	})
}

// task is what the flags ask for.
func (c runCommand) task(a *app) (client.NewTask, error) {
	prompt, err := a.prompt(c.Prompt)
	if err != nil {
		return client.NewTask{}, err
	}
	if c.Provider != "" && c.Model == "" {
		return client.NewTask{}, usage(errors.New("--provider needs --model: a provider may serve several"))
	}
	if c.Timeout < 0 {
		return client.NewTask{}, usage(errors.New("--timeout must be longer than nothing"))
	}
	dir, repo, err := c.source()
	if err != nil {
		return client.NewTask{}, usage(err)
	}
	mode, posture := "ephemeral", permission.PostureLevels
	if c.InPlace {
		mode = "in_place"
	}
	if c.Policies {
		posture = permission.PostureRuntime
	}
	return client.NewTask{
		Prompt: prompt, ExecutionKind: "agent_loop", WorkspaceMode: mode, WorkingDirectory: dir, Repo: repo, BaseBranch: c.Ref,
		ExecutionProfile: codingProfile, Model: c.Model, Provider: c.Provider, BudgetMicroUSD: int64(c.Budget),
		Posture: posture,
	}, nil
}

// source is what is worked on: a directory, or a repository elsewhere or here.
func (c runCommand) source() (dir, repo string, err error) {
	if c.Repo == "" {
		dir, err = directory(cmp.Or(c.Dir, "."))
		return dir, "", err
	}
	if info, err := os.Stat(c.Repo); err == nil && info.IsDir() {
		repo, err = filepath.Abs(c.Repo)
		return "", repo, err
	}
	return "", c.Repo, nil
}

// directory returns the absolute path of an existing directory.
func directory(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("--dir %s: %w", path, err)
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return "", fmt.Errorf("--dir: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("--dir %s is no directory", path)
	}
	return abs, nil
}

// startServer starts a server inside this process, on the data of earlier ones.
func (c runCommand) startServer(ctx context.Context, a *app) (*localServer, error) {
	dir := a.getenv("HECATE_DATA_DIR")
	if dir == "" {
		dir = a.userDataDir()
	}
	return a.startForRuns(ctx, dir, c.InPlace)
}

func noProvider() error {
	return advise(errors.New("no model provider is configured, and none was found at the usual ports of this machine"), providerHelp)
}

const providerHelp = `Set one of these and try again:
  export OPENAI_API_KEY=...                      OpenAI
  export ANTHROPIC_API_KEY=...                   Anthropic
  ollama serve                                   or LM Studio, or llama.cpp: found at its usual port
  export PROVIDER_NAME_PRECONFIGURED=true \
         PROVIDER_NAME_BASE_URL=https://... \
         PROVIDER_NAME_API_KEY=...               any OpenAI-compatible server
See how a run looks without a model: hecate demo`

// newRun is a task with what is decided ahead of its first run.
type newRun struct {
	task  client.NewTask
	ahead run.Ahead
}

// on creates and starts the task on a server, and follows it to its end.
func (c runCommand) on(ctx context.Context, a *app, server *client.Client, local *localServer, opens newRun) error {
	if err := checkModel(ctx, a, server, c.Provider, c.Model); err != nil {
		return err
	}
	f := newFollower(a, server, c.JSON)
	return f.toTheEnd(ctx, local, func() (runResult, error) { return f.start(ctx, opens, c.Timeout) })
}
