package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
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
	write := c.printer(a)
	last, ended := int64(0), false
	err = eachEvent(ctx, server, run.TaskID, run.ID, 0, func(e client.Event) bool {
		last, ended = e.Sequence, ended || endsRun(e.Type)
		return write(e) == nil
	})
	if err != nil || !c.Follow || ended {
		return err
	}
	for e, err := range server.Events(ctx, run.TaskID, last) {
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

func (c logCommand) printer(a *app) func(client.Event) error {
	if c.JSON {
		return func(e client.Event) error {
			_, err := fmt.Fprintf(a.out, "%s\n", e.Raw)
			return err
		}
	}
	log := show.NewLog(a.out, a.outStyle)
	return func(e client.Event) error {
		log.Event(e)
		return nil
	}
}

func endsRun(eventType string) bool {
	return eventType == "run.finished" || eventType == "run.failed" || eventType == "run.cancelled"
}

// eachEvent hands a run's events behind after to do, page by page, until it returns false.
func eachEvent(ctx context.Context, server *client.Client, task, run string, after int64, do func(client.Event) bool) error {
	for {
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
