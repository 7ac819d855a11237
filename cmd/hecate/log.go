package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// logCommand is "hecate log".
type logCommand struct {
	serverFlags
	Run_   string `arg:"" optional:"" name:"run" help:"The run, or a task for its latest run. Default: the latest run of all."`
	Follow bool   `short:"f" help:"Go on until the run ends."`
	JSON   bool   `name:"json" help:"Print the events as JSON lines, complete and unchanged."`
}

// Help is the long help of the command.
func (logCommand) Help() string {
	return `Every line is one event: its place in the log, its time, its type and what it says in short.

Examples:

    hecate log                      the latest run
    hecate log run_5d20…            that run
    hecate log --follow             watch it
    hecate log --json | jq .type    with everything that the events hold`
}

// Run does the command.
func (c logCommand) Run(a *app) error {
	ctx := context.Background()
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	run, err := findRun(ctx, server, c.Run_)
	if err != nil {
		return err
	}
	log := show.NewLog(a.out, a.outStyle)
	write := c.printer(a, log)
	if err := c.head(ctx, a, server, run); err != nil {
		return err
	}
	last, ended := int64(0), false
	err = eachEvent(ctx, server, run.TaskID, run.ID, func(e client.Event) bool {
		last, ended = e.Sequence, ended || endsRun(e.Type)
		return write(e) == nil
	})
	if err == nil && c.Follow && !ended {
		err = c.follow(ctx, server, run, last, write)
	}
	if err == nil && !c.JSON {
		sayDoubts(a.out, a.outStyle, run.ID, log.Unknown(run.ID))
	}
	return err
}

// head says what the run follows.
func (c logCommand) head(ctx context.Context, a *app, server *client.Client, run client.Run) error {
	if c.JSON {
		return nil
	}
	run, err := server.Run(ctx, run.TaskID, run.ID)
	if err != nil {
		return fmt.Errorf("read run %s: %w", run.ID, err)
	}
	if run.ResumedFrom != "" {
		fmt.Fprintln(a.out, a.outStyle.Dim(fmt.Sprintf("%s: a %s of %s", terminal.Line(run.ID), follows(run), terminal.Line(run.ResumedFrom))))
	}
	return nil
}

// follow prints the run's events behind a position until its last one.
func (c logCommand) follow(ctx context.Context, server *client.Client, run client.Run, after int64, write func(client.Event) error) error {
	for e, err := range server.Events(ctx, run.TaskID, after) {
		if err != nil {
			return fmt.Errorf("follow run %s: %w", run.ID, err)
		}
		if e.RunID != run.ID {
			continue
		}
		if err := write(e); err != nil || endsRun(e.Type) {
			return err
		}
	}
	return nil
}

func (c logCommand) printer(a *app, log *show.Log) func(client.Event) error {
	if c.JSON {
		return func(e client.Event) error {
			_, err := fmt.Fprintf(a.out, "%s\n", e.Raw)
			return err
		}
	}
	return func(e client.Event) error {
		log.Event(e)
		return nil
	}
}

// follows names the way in which a run follows an earlier one.
func follows(r client.Run) string {
	switch r.ResumeKind {
	case "continue":
		return "continuation"
	case "branch":
		return fmt.Sprintf("branch at model call %d", r.SourceIndex)
	}
	return terminal.Line(r.ResumeKind)
}

func endsRun(eventType string) bool {
	return eventType == "run.finished" || eventType == "run.failed" || eventType == "run.cancelled"
}

// eachEvent hands a run's events to do, page by page, until it returns false.
func eachEvent(ctx context.Context, server *client.Client, task, run string, do func(client.Event) bool) error {
	for after := int64(0); ; {
		page, err := server.RunEvents(ctx, task, run, after)
		if err != nil {
			return fmt.Errorf("read the events of run %s: %w", run, err)
		}
		for _, e := range page {
			if !do(e) {
				return nil
			}
			after = e.Sequence
		}
		if len(page) == 0 {
			return nil
		}
	}
}

// findRun finds a run by its id, by its task's, or the latest of all for no id.
func findRun(ctx context.Context, server *client.Client, id string) (client.Run, error) {
	if strings.HasPrefix(id, "task_") {
		return latestRun(ctx, server, id)
	}
	tasks, err := server.Tasks(ctx, 0, "")
	if err != nil {
		return client.Run{}, fmt.Errorf("list tasks: %w", err)
	}
	for _, t := range tasks { // the common case: somebody asks about a recent run
		if t.LatestRunID != "" && (id == "" || t.LatestRunID == id) {
			return client.Run{ID: t.LatestRunID, TaskID: t.ID}, nil
		}
	}
	if id == "" {
		return client.Run{}, advise(errors.New("there is no run yet"), `begin with: hecate run "what you want done"`)
	}
	for _, t := range tasks {
		if r, err := server.Run(ctx, t.ID, id); err == nil {
			return r, nil
		}
	}
	return client.Run{}, advise(fmt.Errorf("there is no run %s", id), "see: hecate tasks, and hecate tasks TASK for its runs")
}

func latestRun(ctx context.Context, server *client.Client, task string) (client.Run, error) {
	runs, err := server.Runs(ctx, task)
	if err != nil {
		return client.Run{}, notFound(err, "task "+task, "hecate tasks")
	}
	if len(runs) == 0 {
		return client.Run{}, fmt.Errorf("task %s has no run yet", task)
	}
	return runs[0], nil
}
