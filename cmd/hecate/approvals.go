package main

import (
	"context"
	"fmt"
	"io"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/run"
)

// approvalsCommand is "hecate approvals".
type approvalsCommand struct {
	serverFlags
	Task string `arg:"" optional:"" help:"Only those of this task."`
}

// Run does the command.
func (c approvalsCommand) Run(a *app) error {
	ctx := context.Background()
	server, err := c.connect(ctx, a)
	if err != nil {
		return err
	}
	pending, err := pendingApprovals(ctx, server, c.Task)
	if err != nil {
		return err
	}
	if len(pending) == 0 {
		_, err := fmt.Fprintln(a.out, "nothing waits for you")
		return err
	}
	for i, p := range pending {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		q, err := a.questionOf(ctx, server, p)
		if err != nil {
			return err
		}
		q.Write(a.out, a.outStyle)
		fmt.Fprintf(a.out, "  task %s · run %s · since %s\n", terminal.Line(p.TaskID), terminal.Line(p.RunID), shortTime(p.CreatedAt))
		q.WriteWays(a.out, a.outStyle, p.RunID)
	}
	return nil
}

// pendingApprovals lists what waits, of one task or of all.
func pendingApprovals(ctx context.Context, server *client.Client, task string) ([]client.Approval, error) {
	var tasks []string
	if task != "" {
		tasks = append(tasks, task)
	} else {
		all, err := server.Tasks(ctx, 0, "")
		if err != nil {
			return nil, fmt.Errorf("list tasks: %w", err)
		}
		for _, t := range all {
			if t.PendingApprovals > 0 {
				tasks = append(tasks, t.ID)
			}
		}
	}
	var out []client.Approval
	for _, id := range tasks {
		approvals, err := server.Approvals(ctx, id)
		if err != nil {
			return nil, notFound(err, "task "+id, "hecate tasks")
		}
		for _, p := range approvals {
			if p.Status == "pending" {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// questionOf finds what an approval asks for, with the calls as they would run, in
// the history of its run.
func (a *app) questionOf(ctx context.Context, server *client.Client, p client.Approval) (show.Question, error) {
	q := show.Question{ApprovalID: p.ID, Kind: p.Kind, Reason: p.Reason, Summary: p.Summary}
	var bundles show.Bundles
	live := show.NewLive(io.Discard, terminal.Style{})
	err := eachEvent(ctx, server, p.TaskID, p.RunID, func(e client.Event) bool {
		bundles.Add(e)
		live.Event(e)
		if e.Type == "approval.requested" {
			if asked := show.QuestionOf(e); asked.ApprovalID == p.ID {
				asked.Summary = p.Summary
				q = asked
				return false
			}
		}
		return true
	})
	if err != nil {
		return q, err
	}
	if err := fill(ctx, server, p.TaskID, p.RunID, &q, &bundles); err != nil {
		return q, err
	}
	q.Where, err = whereOf(ctx, server, p.TaskID, live.Workspace)
	q.Where.Home = a.getenv("HOME")
	return q, err
}

// whereOf is the place that the runs of a task work in.
func whereOf(ctx context.Context, server *client.Client, task, workspace string) (show.Where, error) {
	t, err := server.Task(ctx, task)
	if err != nil {
		return show.Where{}, fmt.Errorf("read task %s: %w", task, err)
	}
	w := show.Where{Place: run.Place{Path: workspace, Source: t.WorkingDirectory}}
	if t.WorkspaceMode == "in_place" {
		w.Kind, w.Source = run.PlaceInPlace, ""
	}
	return w, nil
}

// fill completes a question of a run with what it is about: the task, if it stands
// before the run, else the calls. b has those that the run's own model asked for.
func fill(ctx context.Context, server *client.Client, task, run string, q *show.Question, b *show.Bundles) error {
	switch {
	case len(q.Calls) == 0:
		t, err := server.Task(ctx, task)
		if err != nil {
			return fmt.Errorf("read what approval %s asks for: %w", q.ApprovalID, err)
		}
		q.Start = show.StartOf(t)
	case q.SourceRunID != "":
		source, err := bundleAt(ctx, server, task, q.SourceRunID, q.SourceIndex)
		if err != nil {
			return fmt.Errorf("read what approval %s asks for: %w", q.ApprovalID, err)
		}
		q.Bundle = source.TakenOver(run)
	default:
		if q.Bundle = b.Of(run); q.Bundle == nil {
			return fmt.Errorf("read what approval %s asks for: the history of run %s does not have its calls", q.ApprovalID, run)
		}
	}
	return nil
}

// bundleAt reads what the model of a run asked for in one of its answers.
func bundleAt(ctx context.Context, server *client.Client, task, run string, index int64) (*show.Bundle, error) {
	var bundles show.Bundles
	err := eachEvent(ctx, server, task, run, func(e client.Event) bool {
		bundles.Add(e)
		return bundles.At(run, index) == nil || e.Type == "assistant.tool_call_proposed" // they stand together
	})
	if err == nil && bundles.At(run, index) == nil {
		err = fmt.Errorf("run %s has no calls of its model call %d", run, index)
	}
	return bundles.At(run, index), err
}
