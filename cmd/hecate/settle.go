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

// settleCommand is "hecate settle".
type settleCommand struct {
	serverFlags
	From    string `arg:"" name:"run" help:"The run, or a task for its latest run."`
	Call    string `arg:"" help:"The step or the id of the call, or the beginning of it: see hecate calls."`
	Done    bool   `required:"" xor:"outcome" help:"It took effect."`
	NotDone bool   `required:"" xor:"outcome" help:"It took no effect."`
	Note    string `help:"What else the model should know; it is told with the outcome."`
}

// Help is the long help of the command.
func (settleCommand) Help() string {
	return `A call whose outcome is unknown is settled by what you found out. It can be said once; the next run that
goes on from this one (hecate resume, hecate continue) tells the model.

Example:

    hecate settle run_5d20… step_81be… --done --note "the tag is on the server"`
}

// Run does the command.
func (c settleCommand) Run(a *app) error {
	ctx := context.Background()
	server, err := c.connect(ctx, a)
	if err != nil {
		return err
	}
	run, err := findRun(ctx, server, c.From)
	if err != nil {
		return err
	}
	calls, err := server.ToolCalls(ctx, run.TaskID, run.ID)
	if err != nil {
		return fmt.Errorf("list the calls of run %s: %w", run.ID, err)
	}
	call, err := findCall(calls, run.ID, c.Call)
	if err != nil {
		return err
	}
	outcome, said := "not_done", "took no effect"
	if c.Done {
		outcome, said = "done", "took effect"
	}
	in := run.ID
	if call.StepRunID != "" {
		in = call.StepRunID
	}
	if err := server.SettleStep(ctx, run.TaskID, in, call.StepID, outcome, c.Note); err != nil {
		return advise(fmt.Errorf("settle %s: %w", call.StepID, err), "see: hecate calls "+run.ID)
	}
	name, err := callNames{server: server, run: run, sources: map[string]*show.Bundles{}}.of(ctx, call)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s %s %s\n  a run that goes on from this one tells the model: hecate resume %[4]s, or hecate continue %[4]s \"…\"\n",
		a.outStyle.Green("✓"), name, said, terminal.Line(in))
	return nil
}

// findCall finds the call that is meant among those of a run.
func findCall(calls []client.ToolCall, run, id string) (client.ToolCall, error) {
	var exact, begin []client.ToolCall
	for _, c := range calls {
		switch {
		case c.StepID == id || c.ID == id:
			exact = append(exact, c)
		case c.StepID != "" && strings.HasPrefix(c.StepID, id) || strings.HasPrefix(c.ID, id):
			begin = append(begin, c)
		}
	}
	found := exact
	if len(found) == 0 {
		found = begin
	}
	if open := openCalls(found); len(open) > 0 {
		found = open
	}
	see := "see: hecate calls " + run
	switch {
	case len(found) == 0:
		return client.ToolCall{}, advise(fmt.Errorf("%s has no call %s", run, id), see)
	case len(found) > 1:
		return client.ToolCall{}, advise(fmt.Errorf("%s means %d calls of %s: name the step of one", id, len(found), run), see)
	case found[0].OperatorOutcome != "":
		return client.ToolCall{}, advise(fmt.Errorf("what came of %s was said already: it %s", id, outcomeWords(found[0])), see)
	case !found[0].Open():
		return client.ToolCall{}, advise(fmt.Errorf("%s is %s; only a call whose outcome is unknown can be settled", id, stateWords(found[0])), see)
	case found[0].StepID == "":
		return client.ToolCall{}, advise(errors.New("the run has not come to this call yet; settle it in the run that it was taken over from"), see)
	}
	return found[0], nil
}

func openCalls(calls []client.ToolCall) []client.ToolCall {
	var out []client.ToolCall
	for _, c := range calls {
		if c.Open() {
			out = append(out, c)
		}
	}
	return out
}
