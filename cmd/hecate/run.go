package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/runtime/model/provider"
)

// commandTimeout is the time limit of each command that the model runs, if the
// run as a whole has no shorter one.
const commandTimeout = 10 * time.Minute

// promptMax is the longest prompt that is read from standard input, in bytes.
const promptMax = 1 << 20

// runCommand is "hecate run".
type runCommand struct {
	serverFlags
	Prompt   []string      `arg:"" help:"What you want done, in quotes; - reads it from standard input."`
	Dir      string        `default:"." help:"Directory to work on."`
	InPlace  bool          `help:"Work in the directory itself instead of a copy; edits ask then, too."`
	Model    string        `short:"m" help:"Model to use. Default: the provider's first."`
	Provider string        `help:"Provider to use; needs --model."`
	Timeout  time.Duration `placeholder:"DURATION" help:"Cancel the run after this time, such as 20m."`
	Budget   dollars       `placeholder:"USD" help:"End the run when it has cost this much, such as 0.50."`
	Yes      bool          `short:"y" help:"Approve what the policies ask about, without asking."`
	JSON     bool          `name:"json" help:"Print events and the result as JSON lines."`
	Keep     bool          `help:"Keep a server that this command started, until Ctrl-C."`
}

// Help is the long help of the command.
func (runCommand) Help() string {
	return `The agent works on a copy of the directory, with the state of its uncommitted files, and leaves
the directory as it is: at the end you see which files it changed, and where. Commands that it
wants to run are shown in full and wait for your y or n. Ctrl-C cancels the run, a second one
leaves at once.

Without a running server one is started inside this command; its log is kept in
HECATE_DATA_DIR (default: hecate in your data directory), so that "hecate log" finds the run later.

Examples:

    hecate run "make the failing test pass"
    hecate run --yes --budget 0.50 --timeout 20m "update the dependencies"
    hecate run --model qwen3 --provider ollama --in-place "explain this code"
    git diff | hecate run -                 the prompt from standard input

Exit codes: 0 completed; 1 failed; 3 an approval was refused, or nobody could give it;
4 cancelled by somebody else or at --timeout; 130 interrupted.`
}

// Run does the command.
func (c runCommand) Run(a *app) error {
	ctx := context.Background()
	task, err := c.task(a)
	if err != nil {
		return err
	}
	server, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	if server != nil {
		return c.on(ctx, a, server, nil, task)
	}
	local, err := c.startServer(ctx, a)
	if err != nil {
		return err
	}
	err = c.on(ctx, a, local.Client, local, task)
	if c.Keep {
		stop := a.catchInterrupts()
		if lost := local.untilInterrupted(a); lost != nil {
			err = lost
		}
		stop()
	}
	if closeErr := local.close(); closeErr != nil && err == nil {
		err = fmt.Errorf("end the server: %w", closeErr)
	}
	return err
}

// task is what the flags ask for.
func (c runCommand) task(a *app) (client.NewTask, error) {
	prompt := strings.Join(c.Prompt, " ")
	if prompt == "-" {
		raw, err := io.ReadAll(io.LimitReader(a.in, promptMax+1))
		if err != nil {
			return client.NewTask{}, fmt.Errorf("read the prompt from standard input: %w", err)
		}
		if len(raw) > promptMax {
			return client.NewTask{}, usage(fmt.Errorf("the prompt is longer than %d bytes", promptMax))
		}
		prompt = string(raw)
	}
	if strings.TrimSpace(prompt) == "" {
		return client.NewTask{}, usage(errors.New("the prompt is empty: say what you want done"))
	}
	if c.Provider != "" && c.Model == "" {
		return client.NewTask{}, usage(errors.New("--provider needs --model: a provider may serve several"))
	}
	if c.Timeout < 0 {
		return client.NewTask{}, usage(errors.New("--timeout must be longer than nothing"))
	}
	dir, err := directory(c.Dir)
	if err != nil {
		return client.NewTask{}, usage(err)
	}
	mode, limit := "ephemeral", commandTimeout
	if c.InPlace {
		mode = "in_place"
	}
	if c.Timeout > 0 {
		limit = min(limit, c.Timeout)
	}
	return client.NewTask{
		Prompt: prompt, ExecutionKind: "agent_loop", WorkspaceMode: mode, WorkingDirectory: dir,
		TimeoutMS: max(limit.Milliseconds(), 1), Model: c.Model, Provider: c.Provider, BudgetMicroUSD: int64(c.Budget),
	}, nil
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

// startServer starts a server inside this process, with the model providers of the
// environment or one that is found on this machine.
func (c runCommand) startServer(ctx context.Context, a *app) (*localServer, error) {
	settings := map[string]string{}
	configs, err := provider.Parse(a.environ)
	if err != nil {
		return nil, err
	}
	if len(configs) == 0 {
		name, base, models, ok := a.discoverLocal(ctx)
		if !ok {
			return nil, noProvider()
		}
		prefix := "PROVIDER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		settings[prefix+"_PRECONFIGURED"], settings[prefix+"_BASE_URL"] = "true", base
		fmt.Fprintf(a.err, "no provider is configured; using %s at %s (%s)\n", name, base, strings.Join(models, ", "))
	}
	c.setDefault(a, settings, "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS", "200")
	// In a copy every edit is seen before it reaches the original, so edits don't ask.
	policies := "shell_exec,git_exec,network_egress"
	if c.InPlace {
		policies += ",file_write"
	}
	c.setDefault(a, settings, "HECATE_TASK_APPROVAL_POLICIES", policies)
	dir := a.getenv("HECATE_DATA_DIR")
	if dir == "" {
		dir = a.userDataDir()
	}
	return a.startLocal(ctx, dir, settings)
}

// setDefault sets what the environment leaves open. An empty list of policies is a choice, too.
func (runCommand) setDefault(a *app, settings map[string]string, name, value string) {
	for _, entry := range a.environ {
		if strings.HasPrefix(entry, name+"=") {
			return
		}
	}
	settings[name] = value
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

// on creates and starts the task on a server, and follows it to its end.
func (c runCommand) on(ctx context.Context, a *app, server *client.Client, local *localServer, task client.NewTask) error {
	f := newFollower(a, server, c.Yes, c.JSON)
	if local != nil {
		f.lost = local.lost
	}
	stop := a.catchInterrupts()
	defer stop()
	result, err := f.start(ctx, task, c.Timeout)
	if err != nil {
		return err
	}
	if err := f.conclude(result); err != nil {
		return err
	}
	if local != nil && !result.left {
		if err := local.whileUsed(ctx, a); err != nil {
			return err
		}
	}
	return exit(result.ExitCode)
}
