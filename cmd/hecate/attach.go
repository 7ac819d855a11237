package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hecate/cmd/hecate/internal/client"
)

// attachCommand is "hecate attach".
type attachCommand struct {
	serverFlags
	Run_ string `arg:"" optional:"" name:"run" help:"The run, the beginning of its id, or its task. Default: the latest run of all."`
	JSON bool   `name:"json" help:"Print events and the result as JSON lines."`
}

// Help is the long help of the command.
func (attachCommand) Help() string {
	return `It follows a run that is under way, from any terminal, and asks here what the run asks. What was
answered elsewhere meanwhile is taken back. Ctrl-C detaches, and the run goes on.`
}

// Run does the command.
func (c attachCommand) Run(a *app) error {
	ctx := context.Background()
	server, err := c.connect(ctx, a)
	if err != nil {
		return err
	}
	found, err := findOpenRun(ctx, server, c.Run_)
	if err != nil {
		return err
	}
	r, err := server.Run(ctx, found.TaskID, found.ID)
	if err != nil {
		return notFound(err, "run "+found.ID, "hecate tasks")
	}
	if client.Terminal(r.Status) {
		return advise(fmt.Errorf("run %s has ended: %s", r.ID, r.Status), "its history: hecate log "+r.ID)
	}
	task, err := server.Task(ctx, r.TaskID)
	if err != nil {
		return fmt.Errorf("read task %s: %w", r.TaskID, err)
	}
	f := newFollower(a, server, c.JSON)
	f.attached = true
	f.of(task)
	return f.toTheEnd(ctx, nil, func() (runResult, error) { return f.attach(ctx, r.TaskID, r.ID) })
}

// findOpenRun finds a run, also by the beginning of its id if it is the latest of its task.
func findOpenRun(ctx context.Context, server *client.Client, id string) (client.Run, error) {
	if !strings.HasPrefix(id, "run_") {
		return findRun(ctx, server, id)
	}
	tasks, err := server.Tasks(ctx, 0, "")
	if err != nil {
		return client.Run{}, fmt.Errorf("list tasks: %w", err)
	}
	var found []client.Run
	for _, t := range tasks {
		if strings.HasPrefix(t.LatestRunID, id) {
			found = append(found, client.Run{ID: t.LatestRunID, TaskID: t.ID})
		}
	}
	switch len(found) {
	case 0:
		return findRun(ctx, server, id)
	case 1:
		return found[0], nil
	}
	return client.Run{}, usage(errors.New(id + " is the beginning of several runs"))
}

// attach tells what has happened in the run so far, and follows it from there.
func (f *follower) attach(ctx context.Context, task, run string) (runResult, error) {
	f.begins(task, run)
	f.past = true
	last, done := int64(0), false
	err := eachEvent(ctx, f.server, task, run, func(e client.Event) bool {
		last = e.Sequence
		done, _ = f.event(ctx, e) // of the past nothing is asked, so nothing can fail
		return !done
	})
	f.past = false
	if err != nil || done {
		return f.result, err
	}
	if q := f.asked; q != nil {
		f.asked = nil
		if err := f.question(ctx, *q); err != nil {
			return runResult{}, err
		}
	}
	if err := f.follow(ctx, last, 0); err != nil {
		return runResult{}, err
	}
	return f.result, nil
}
