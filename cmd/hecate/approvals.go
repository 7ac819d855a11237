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
		q, err := questionOf(ctx, server, p)
		if err != nil {
			return err
		}
		q.Write(a.out, a.outStyle)
		fmt.Fprintf(a.out, "  task %s · run %s · since %s\n", terminal.Line(p.TaskID), terminal.Line(p.RunID), shortTime(p.CreatedAt))
		fmt.Fprintf(a.out, "  hecate approve %[1]s   or   hecate reject %[1]s\n", terminal.Line(p.ID))
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
func questionOf(ctx context.Context, server *client.Client, p client.Approval) (show.Question, error) {
	q := show.Question{ApprovalID: p.ID, Kind: p.Kind, Reason: p.Reason, Summary: p.Summary}
	var bundles show.Bundles
	err := eachEvent(ctx, server, p.TaskID, p.RunID, func(e client.Event) bool {
		bundles.Add(e)
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
	return q, fill(ctx, server, p.TaskID, p.RunID, &q, &bundles)
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
		q.Bundle = b.Of(run)
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

// resolveFlags are common to approve and reject.
type resolveFlags struct {
	serverFlags
	IDs  []string `arg:"" name:"id" help:"The approval, or its task and the approval."`
	Note string   `help:"A note for the record."`
}

// approveCommand is "hecate approve".
type approveCommand struct{ resolveFlags }

// Help is the long help of the command.
func (approveCommand) Help() string {
	return `It prints what it allows, call by call, and binds the answer to that: if the run asks for
something else meanwhile, the server refuses the answer.

Examples:

    hecate approve approval_0af3…
    hecate approve task_91c0… approval_0af3… --note "checked the script"`
}

// Run does the command.
func (c approveCommand) Run(a *app) error { return c.resolve(a, "approve") }

// rejectCommand is "hecate reject".
type rejectCommand struct{ resolveFlags }

// Run does the command.
func (c rejectCommand) Run(a *app) error { return c.resolve(a, "reject") }

func (c resolveFlags) resolve(a *app, decision string) error {
	ctx := context.Background()
	if len(c.IDs) > 2 {
		return usage(errors.New("name one approval, or a task and its approval"))
	}
	server, err := c.connect(ctx, a)
	if err != nil {
		return err
	}
	task := ""
	if len(c.IDs) == 2 {
		task = c.IDs[0]
	}
	p, err := findPending(ctx, server, task, c.IDs[len(c.IDs)-1])
	if err != nil {
		return err
	}
	q, err := questionOf(ctx, server, p)
	if err != nil {
		return err
	}
	q.Write(a.out, a.outStyle)
	done, err := server.Resolve(ctx, p.TaskID, p.ID, client.Answer{Decision: decision, Note: c.Note, Digest: q.Shown(p.RunID)})
	if err != nil {
		return fmt.Errorf("%s %s: %w", decision, p.ID, err)
	}
	mark := a.outStyle.Green("✓")
	if done.Status != "approved" {
		mark = a.outStyle.Red("✗")
	}
	fmt.Fprintf(a.out, "%s %s\n  watch the run: hecate log --follow %s\n", mark, terminal.Line(done.Status), terminal.Line(p.RunID))
	return nil
}

// findPending finds an approval that waits, by its id or the beginning of it.
func findPending(ctx context.Context, server *client.Client, task, id string) (client.Approval, error) {
	pending, err := pendingApprovals(ctx, server, task)
	if err != nil {
		return client.Approval{}, err
	}
	var found []client.Approval
	for _, p := range pending {
		if p.ID == id {
			return p, nil
		}
		if strings.HasPrefix(p.ID, id) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return client.Approval{}, advise(fmt.Errorf("no approval %s waits for an answer", id), "see what does: hecate approvals")
	}
	return client.Approval{}, usage(fmt.Errorf("%s is the beginning of %d approvals that wait", id, len(found)))
}
