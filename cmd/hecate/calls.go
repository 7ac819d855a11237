package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// callsCommand is "hecate calls".
type callsCommand struct {
	serverFlags
	From string `arg:"" optional:"" name:"run" help:"The run, or a task for its latest run. Default: the latest run of all."`
	JSON bool   `name:"json" help:"Print the server's JSON."`
}

// Help is the long help of the command.
func (callsCommand) Help() string {
	return `What the run's model asked for, in that order, and how far each call has come. A call that was under
way when its worker died is unknown: it may have taken effect, and is never made again by itself. Look
for yourself, and say what you found: hecate settle`
}

// Run does the command.
func (c callsCommand) Run(a *app) error {
	ctx := context.Background()
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	run, err := findRun(ctx, server, c.From)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(ctx, a, server, client.RunPath(run.TaskID, run.ID)+"/tool-calls")
	}
	calls, err := server.ToolCalls(ctx, run.TaskID, run.ID)
	if err != nil {
		return fmt.Errorf("list the calls of run %s: %w", run.ID, err)
	}
	if len(calls) == 0 {
		_, err := fmt.Fprintf(a.out, "%s has called no tool\n", terminal.Line(run.ID))
		return err
	}
	names := callNames{server: server, run: run, sources: map[string]*show.Bundles{}}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL CALL\tSTATE\tOUTCOME\tSTEP\tID\tCALL")
	for _, call := range calls {
		name, err := names.of(ctx, call)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", askedIn(call), stateWords(call), outcomeWords(call), terminal.Line(call.StepID), terminal.Line(call.ID), name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return names.advise(ctx, a, calls)
}

// advise says what to do about the calls whose outcome nobody knows.
func (n callNames) advise(ctx context.Context, a *app, calls []client.ToolCall) error {
	var doubts []show.Doubt
	for _, c := range calls {
		if !c.Open() || c.StepID == "" {
			continue
		}
		name, err := n.of(ctx, c)
		if err != nil {
			return err
		}
		doubts = append(doubts, show.Doubt{StepID: c.StepID, Call: name})
	}
	sayDoubts(a.out, a.outStyle, n.run.ID, doubts)
	return nil
}

// sayDoubts names calls of a run that may have taken effect, and how to settle them.
func sayDoubts(w io.Writer, st terminal.Style, run string, doubts []show.Doubt) {
	for _, d := range doubts {
		fmt.Fprintf(w, "%s nobody knows whether this took effect: %s\n", st.Yellow("!"), d.Call)
		fmt.Fprintf(w, "  look, and once the run has ended: hecate settle %s %s --done (or --not-done)\n", terminal.Line(run), terminal.Line(d.StepID))
	}
}

// askedIn is the model call that asked for a call.
func askedIn(c client.ToolCall) string {
	switch {
	case c.SourceRunID != "":
		return fmt.Sprintf("%d of %s", c.SourceIndex, terminal.Line(c.SourceRunID))
	case c.ModelCallIndex == 0:
		return "-"
	}
	return fmt.Sprint(c.ModelCallIndex)
}

func stateWords(c client.ToolCall) string {
	return terminal.Line(strings.ReplaceAll(c.State, "_", " "))
}

func outcomeWords(c client.ToolCall) string {
	switch c.OperatorOutcome {
	case "done":
		return "took effect, says the operator"
	case "not_done":
		return "took no effect, says the operator"
	}
	return terminal.Line(c.Outcome)
}

// callNames says what calls are about, from the histories of the runs whose models
// asked for them.
type callNames struct {
	server  *client.Client
	run     client.Run
	sources map[string]*show.Bundles
}

// of names a call on one line.
func (n callNames) of(ctx context.Context, c client.ToolCall) (string, error) {
	run, index := n.run.ID, c.ModelCallIndex
	if c.SourceRunID != "" {
		run, index = c.SourceRunID, c.SourceIndex
	}
	source := n.sources[run]
	if source == nil {
		source = &show.Bundles{}
		n.sources[run] = source
		err := eachEvent(ctx, n.server, n.run.TaskID, run, func(e client.Event) bool {
			source.Add(e)
			return true
		})
		if err != nil {
			return "", err
		}
	}
	if call, ok := source.Call(run, index, c.ID); ok {
		return call.Summary(), nil
	}
	if index > 0 {
		return terminal.Line(c.Tool), nil
	}
	t, err := n.server.Task(ctx, n.run.TaskID) // a direct run is its one call
	if err != nil {
		return "", fmt.Errorf("read task %s: %w", n.run.TaskID, err)
	}
	return show.StartOf(t).Summary(), nil
}
