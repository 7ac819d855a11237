package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/run"
)

// againFlags are common to the commands that open another run of a task.
type againFlags struct {
	serverFlags
	From    string        `arg:"" name:"run" help:"The run, or a task for its latest run."`
	Timeout time.Duration `placeholder:"DURATION" xor:"timeout" help:"Cancel the run after this time, such as 20m."`
	aheadFlags
	Detach bool `short:"d" xor:"timeout" help:"Open the run and leave it to the server."`
	JSON   bool `name:"json" help:"Print events and the result as JSON lines; with --detach, the run."`
}

// opener opens a run that follows another one.
type opener func(ctx context.Context, server *client.Client, from client.Run, ahead run.Ahead) (client.Run, error)

// again opens a run on the server that knows the earlier one, and follows it to its end.
func (c againFlags) again(a *app, open opener) error {
	if c.Timeout < 0 {
		return usage(errors.New("--timeout must be longer than nothing"))
	}
	ahead, err := c.ahead()
	if !c.Detach {
		ahead, err = c.watched(a, c.JSON)
	}
	if err != nil {
		return err
	}
	ctx := context.Background()
	return c.withServer(ctx, a, c.startServer, func(server *client.Client, local *localServer) error {
		from, err := findRun(ctx, server, c.From)
		if err != nil {
			return err
		}
		task, position, err := server.TaskNow(ctx, from.TaskID)
		if err != nil {
			return fmt.Errorf("read task %s: %w", from.TaskID, err)
		}
		if task.ExecutionKind == "agent_loop" {
			if err := checkModel(ctx, a, server, task.RequestedProvider, task.RequestedModel); err != nil {
				return err
			}
		}
		if c.Detach {
			return c.leave(ctx, a, server, from, func() (client.Run, error) { return open(ctx, server, from, ahead) })
		}
		f := newFollower(a, server, c.JSON)
		f.of(task)
		return f.toTheEnd(ctx, local, func() (runResult, error) {
			run, err := open(ctx, server, from, ahead)
			if err != nil {
				return runResult{}, notOpened(err, from)
			}
			return f.watch(ctx, run.TaskID, run.ID, position, c.Timeout)
		})
	})
}

// leave opens the run and says where to watch it.
func (c againFlags) leave(ctx context.Context, a *app, server *client.Client, from client.Run, open func() (client.Run, error)) error {
	run, err := open()
	if err != nil {
		return notOpened(err, from)
	}
	if c.JSON {
		return printJSON(ctx, a, server, client.RunPath(run.TaskID, run.ID))
	}
	fmt.Fprintf(a.out, "%s of %s is %s\n  watch it: hecate log --follow %[1]s\n", terminal.Line(run.ID), terminal.Line(run.TaskID), terminal.Line(run.Status))
	return nil
}

// notOpened says what to do about a run that cannot be followed by another one.
func notOpened(err error, from client.Run) error {
	err = fmt.Errorf("go on from %s: %w", from.ID, err)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status/100 == 4 {
		return advise(err, "its state: hecate tasks "+from.TaskID)
	}
	return err
}

// naming says in a refusal the flag in place of the member of the request.
func naming(err error, member, flag string) error {
	var refused *client.Error
	if !errors.As(err, &refused) {
		return err
	}
	said := *refused
	said.Message = strings.ReplaceAll(said.Message, member, flag)
	said.UserMessage = strings.ReplaceAll(said.UserMessage, member, flag)
	return &said
}

// startServer starts a server on the data directory that has the earlier run.
func (c againFlags) startServer(ctx context.Context, a *app) (*localServer, error) {
	if c.Detach {
		return nil, advise(errors.New("--detach leaves the run to a server, and none is running on this machine"), "start one: hecate serve\nor leave --detach out, and the run goes on in here")
	}
	var missing error
	for _, dir := range a.dataDirs() {
		if _, err := os.Stat(filepath.Join(dir, "hecate.db")); err != nil {
			continue
		}
		task, err := a.taskIn(ctx, dir, c.From)
		if err == nil {
			return a.startForRuns(ctx, dir, task.WorkspaceMode == "in_place")
		}
		missing = err
	}
	if missing == nil {
		_, missing = c.connect(ctx, a)
	}
	return nil, missing
}

// taskIn finds the task of a run in a data directory that no server uses. Nothing is
// executed: what asks for approval depends on the task.
func (a *app) taskIn(ctx context.Context, dir, run string) (client.Task, error) {
	local, err := a.startLocal(ctx, dir, map[string]string{"HECATE_TASK_WORKERS_ENABLED": "false"})
	if err != nil {
		return client.Task{}, err
	}
	defer func() { _ = local.close() }() // what is wrong there shows in the next start
	found, err := findRun(ctx, local.Client, run)
	if err != nil {
		return client.Task{}, err
	}
	return local.Task(ctx, found.TaskID)
}

// retryCommand is "hecate retry".
type retryCommand struct {
	againFlags
	Reason string `help:"Why, for the record."`
}

// Help is the long help of the command.
func (retryCommand) Help() string {
	return `The task is done again from the beginning: no history, a fresh copy of the directory, a bill of its
own. The earlier run must have ended, in whatever way. To keep what was done: hecate resume.`
}

// Run does the command.
func (c retryCommand) Run(a *app) error {
	return c.again(a, func(ctx context.Context, server *client.Client, from client.Run, ahead run.Ahead) (client.Run, error) {
		return server.RetryRun(ctx, from, c.Reason, ahead)
	})
}

// resumeCommand is "hecate resume".
type resumeCommand struct {
	againFlags
	Budget dollars `placeholder:"USD" help:"Raise the task's cost ceiling to this, for all of its runs together."`
	Reason string  `help:"Why, for the record; who follows the run sees it."`
}

// Help is the long help of the command.
func (resumeCommand) Help() string {
	return `A run that failed or was cancelled goes on where it stopped: in its workspace, with its
conversation and its bill. Nothing that was done is done again. Calls that were left open are decided
about anew. A run that completed is continued with a new prompt: hecate continue.

Examples:

    hecate resume run_5d20…
    hecate resume --budget 2 task_91c0…      it had hit its ceiling`
}

// Run does the command.
func (c resumeCommand) Run(a *app) error {
	return c.again(a, func(ctx context.Context, server *client.Client, from client.Run, ahead run.Ahead) (client.Run, error) {
		run, err := server.ResumeRun(ctx, from, c.Reason, int64(c.Budget), ahead)
		return run, naming(err, "budget_micros_usd", "--budget, in millionths of a dollar,")
	})
}

// continueCommand is "hecate continue".
type continueCommand struct {
	againFlags
	Prompt []string `arg:"" help:"What you want next, in quotes; - reads it from standard input."`
}

// Help is the long help of the command.
func (continueCommand) Help() string {
	return `The conversation of a run that has ended goes on with what you say, in the same workspace.

Example:

    hecate continue run_5d20… "now add a test for it"`
}

// Run does the command.
func (c continueCommand) Run(a *app) error {
	prompt, err := a.prompt(c.Prompt)
	if err != nil {
		return err
	}
	return c.again(a, func(ctx context.Context, server *client.Client, from client.Run, ahead run.Ahead) (client.Run, error) {
		return server.ContinueRun(ctx, from, prompt, ahead)
	})
}

// branchCommand is "hecate branch".
type branchCommand struct {
	againFlags
	Call   int64  `required:"" placeholder:"N" help:"The model call that is made again; 1 is the run's first."`
	Reason string `help:"Why, for the record; who follows the run sees it."`
}

// Help is the long help of the command.
func (branchCommand) Help() string {
	return `A run begins with the conversation of an ended one as it was just before the answer to a model call,
and asks for that answer again. What was done in the workspace after it is not undone. The numbers of
the model calls stand in: hecate log RUN`
}

// Run does the command.
func (c branchCommand) Run(a *app) error {
	if c.Call < 1 {
		return usage(errors.New("--call counts from 1"))
	}
	return c.again(a, func(ctx context.Context, server *client.Client, from client.Run, ahead run.Ahead) (client.Run, error) {
		run, err := server.BranchRun(ctx, from, c.Call, c.Reason, ahead)
		return run, naming(err, "model_call_index", "--call")
	})
}
