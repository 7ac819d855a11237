package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// resolveFlags are common to approve and reject.
type resolveFlags struct {
	serverFlags
	IDs  []string `arg:"" name:"id" help:"The approval, or its task and the approval."`
	Note string   `help:"A note for the record."`
}

// approveCommand is "hecate approve".
type approveCommand struct {
	resolveFlags
	Call     []string `sep:"none" placeholder:"ID" help:"What follows is about this call; can be given more than once. Default: all that ask."`
	Only     bool     `help:"Deny the calls that --call does not name."`
	Session  bool     `xor:"scope" help:"Allow what is offered for the whole session."`
	Remember bool     `xor:"scope" help:"The same, and write it into the project's permission file."`
	Pattern  string   `placeholder:"PATTERN" help:"In place of what is offered; for one call, with --session or --remember."`
}

// Help is the long help of the command.
func (approveCommand) Help() string {
	return `It prints what it allows, call by call, and binds the answer to that: if the run asks for
something else meanwhile, the server refuses the answer.

Examples:

    hecate approve approval_0af3…
    hecate approve task_91c0… approval_0af3… --note "checked the script"
    hecate approve approval_0af3… --call c2 --only
    hecate approve approval_0af3… --session --pattern 'exec(cargo) args(test *)'`
}

// Run does the command.
func (c approveCommand) Run(a *app) error {
	switch {
	case c.Only && len(c.Call) == 0:
		return usage(errors.New("--only needs --call: it denies the others"))
	case c.Pattern != "" && !c.Session && !c.Remember:
		return usage(errors.New("--pattern needs --session or --remember: without them nothing is kept"))
	}
	return c.resolve(a, c.answer)
}

// answer is what the flags say to a question.
func (c approveCommand) answer(q show.Question) (client.Answer, error) {
	out := client.Answer{Decision: client.Approve}
	if len(c.Call) == 0 && !c.Session && !c.Remember {
		return out, nil
	}
	asks := slices.DeleteFunc(q.Prompts(), func(p show.Prompt) bool { return !p.Asks() })
	if len(asks) > 0 && asks[0].Ends {
		return out, usage(errors.New("this approval stands before a run: it is answered as a whole, once"))
	}
	for _, id := range c.Call {
		if !slices.ContainsFunc(asks, func(p show.Prompt) bool { return p.Call.ID == id }) {
			return out, usage(fmt.Errorf("the approval does not ask about a call %s", id))
		}
	}
	named := 0
	for _, p := range asks {
		a := client.CallAnswer{ToolCallID: p.Call.ID, Decision: client.Approve, Scope: run.ScopeOnce}
		if len(c.Call) > 0 && !slices.Contains(c.Call, p.Call.ID) {
			if c.Only {
				a.Decision, a.Scope = client.Deny, ""
			}
			out.Calls = append(out.Calls, a)
			continue
		}
		named++
		if err := c.keep(p, &a); err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, a)
	}
	if c.Pattern != "" && named != 1 {
		return out, usage(fmt.Errorf("--pattern is for one call, and this is about %d: name it with --call", named))
	}
	return out, nil
}

// keep makes a yes one for more than once, if the flags say so.
func (c approveCommand) keep(p show.Prompt, a *client.CallAnswer) error {
	letter := permission.AnswerSession
	switch {
	case c.Session:
		a.Scope = run.ScopeSession
	case c.Remember:
		a.Scope, letter = run.ScopeProject, permission.AnswerRemember
	default:
		return nil
	}
	if !p.Allows(letter) {
		return usage(fmt.Errorf("call %s can only be answered once: nothing about it can be kept so", p.Call.ID))
	}
	if c.Pattern == "" {
		return nil
	}
	offer, err := editOffer(p, c.Pattern)
	if err != nil {
		return usage(fmt.Errorf("--pattern: %w", err))
	}
	a.Pattern = offer.Scope
	return nil
}

// rejectCommand is "hecate reject".
type rejectCommand struct {
	resolveFlags
	Continue bool   `help:"Deny all calls that ask, and let the run go on without them."`
	Reason   string `help:"What the model is told; needs --continue."`
}

// Help is the long help of the command.
func (rejectCommand) Help() string {
	return `The run ends, unless it is to go on with its calls denied:

    hecate reject approval_0af3… --continue --reason "use pnpm, not npm"`
}

// Run does the command.
func (c rejectCommand) Run(a *app) error {
	switch {
	case c.Reason != "" && !c.Continue:
		return usage(errors.New("--reason needs --continue: without it the run ends, and nobody hears it"))
	case c.Reason != "" && c.Note != "":
		return usage(errors.New("--reason stands in the record, too: leave --note out"))
	}
	return c.resolve(a, func(show.Question) (client.Answer, error) {
		return client.Answer{Decision: client.Reject, Continue: c.Continue, Note: c.Reason}, nil
	})
}

// resolve shows what waits and sends the answer to it.
func (c resolveFlags) resolve(a *app, answer func(show.Question) (client.Answer, error)) error {
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
	q, err := a.questionOf(ctx, server, p)
	if err != nil {
		return err
	}
	said, err := answer(q)
	if err != nil {
		return err
	}
	if c.Note != "" {
		said.Note = c.Note
	}
	said.Digest = q.Shown(p.RunID)
	q.Write(a.out, a.outStyle)
	done, err := server.Resolve(ctx, p.TaskID, p.ID, said)
	if err != nil {
		return fmt.Errorf("%s %s: %w", said.Decision, p.ID, err)
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
