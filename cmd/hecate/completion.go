package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/completion"
	"hecate/cmd/hecate/internal/terminal"
)

// completionCommand is "hecate completion".
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help is the long help of the command.
func (completionCommand) Help() string {
	return `It prints a script that makes the shell complete commands, flags, their values, files, and the ids of
runs, tasks and approvals of a server that runs.

    eval "$(hecate completion bash)"                     in ~/.bashrc
    eval "$(hecate completion zsh)"                      in ~/.zshrc, after compinit
    hecate completion fish | source                      in ~/.config/fish/config.fish`
}

// Run does the command.
func (c completionCommand) Run(a *app, grammar *kong.Kong) error {
	_, err := io.WriteString(a.out, completion.Of(grammar.Model.Node).Script(c.Shell))
	return err
}

// completeCommand is "hecate complete", which the scripts call: it is fast, and says
// nothing where there is nothing to say.
type completeCommand struct {
	Kind string `arg:"" help:"run, task or approval."`
}

// How long somebody waits who presses Tab, and how much is offered.
const (
	completeMax  = 500 * time.Millisecond
	completeTask = 60 // tasks
)

// Run does the command.
func (c completeCommand) Run(a *app) error {
	ctx, stop := context.WithTimeout(context.Background(), completeMax)
	defer stop()
	server, err := (serverFlags{Server: a.getenv("HECATE_BASE_URL")}).find(ctx, a)
	if err != nil || server == nil {
		return nil //nolint:nilerr // in somebody's prompt there is no place for errors
	}
	tasks, err := server.Tasks(ctx, completeTask, "")
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	for _, t := range tasks {
		for _, id := range c.ids(ctx, server, t) {
			offer(a, id, t.Status, t)
		}
	}
	if c.Kind == completion.Run {
		earlierRuns(ctx, a, server, tasks)
	}
	return nil
}

func offer(a *app, id, status string, t client.Task) {
	fmt.Fprintf(a.out, "%s\t%s\n", terminal.Line(id), terminal.Cut(terminal.Line(status+": "+t.Name()), 60))
}

// earlierRuns offers the runs that others followed, as many as there is time for.
func earlierRuns(ctx context.Context, a *app, server *client.Client, tasks []client.Task) {
	for _, t := range tasks {
		runs, err := server.Runs(ctx, t.ID)
		if err != nil {
			return
		}
		for _, r := range runs {
			if r.ID != t.LatestRunID {
				offer(a, r.ID, r.Status, t)
			}
		}
	}
}

// ids are those that belong to a task.
func (c completeCommand) ids(ctx context.Context, server *client.Client, t client.Task) []string {
	switch {
	case c.Kind == completion.Task:
		return []string{t.ID}
	case c.Kind == completion.Run && t.LatestRunID != "":
		return []string{t.LatestRunID}
	case c.Kind != completion.Approval || t.PendingApprovals == 0:
		return nil
	}
	var out []string
	approvals, err := server.Approvals(ctx, t.ID)
	for _, p := range approvals {
		if err == nil && p.Status == "pending" {
			out = append(out, p.ID)
		}
	}
	return out
}
