package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// auditErase is "hecate audit erase".
type auditErase struct {
	serverFlags
	Task   string  `placeholder:"ID" xor:"what" help:"All that this task, its runs and the operations on their workspaces say, and what callers have added."`
	Run_   string  `name:"run" placeholder:"ID" xor:"what" help:"What this run says."`
	Event  []int64 `placeholder:"N" xor:"what" help:"What single events say: their places in the log. Can be given more than once."`
	Reason string  `placeholder:"TEXT" help:"What to tell those who find it missing. It stands in the log for good."`
	Yes    bool    `help:"Do not ask."`
	JSON   bool    `name:"json" help:"Print the result as JSON. It asks nothing: add --yes."`
}

// Help is the long help of the command.
func (auditErase) Help() string {
	return `Takes away what events say - texts, arguments, output, paths, whatever somebody or a model has written - and
leaves that they were there: ids, kinds, times, costs, decisions and the digests that the proof of the log
is made of. hecate audit verify goes on to work, and says what was erased, when, by whom and why. It cannot be
undone. Keep a copy first, if you may: hecate audit export.

What is not erased: settings, permissions, names of operators; copies that were made before, such as
exports, backups, and what was sent to brokers, webhooks or telemetry; files in workspaces, see docs/audit.md.

Examples:

    hecate audit erase --run run_5d20… --reason "asked by its author"
    hecate audit erase --event 1041 --event 1044 --reason "a customer's address"`
}

// Run does the command.
func (c auditErase) Run(a *app) error {
	ctx := context.Background()
	what := c.what()
	switch {
	case what == "":
		return usage(errors.New("say what to erase: --task TASK, --run RUN, or --event N"))
	case strings.TrimSpace(c.Reason) == "":
		return usage(errors.New("say why, with --reason: it stands in the log instead of what was there"))
	case c.JSON && !c.Yes:
		return usage(errors.New("--json asks nothing: add --yes"))
	}
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	if !c.Yes {
		fmt.Fprintf(a.out, "This takes away what %s, for good. Ids, kinds, times, costs and decisions stay.\n%s", terminal.Line(what), c.stays())
		if err := a.confirm("erase it? y or n: ", "add --yes"); err != nil {
			return err
		}
	}
	erased, err := server.Erase(ctx, client.Erase{TaskID: c.Task, RunID: c.Run_, Sequences: c.Event, Reason: c.Reason})
	if err != nil {
		return fmt.Errorf("erase what %s: %w", what, err)
	}
	if c.JSON {
		return json.NewEncoder(a.out).Encode(erased)
	}
	if len(erased.Erasures) == 0 {
		_, err := fmt.Fprintln(a.out, "nothing was left to erase")
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s erased of %s, %s\n  recorded at %s of the log; see: hecate audit log --type log.erased\n", a.outStyle.Green("✓"),
		show.Count(int64(erased.Records), "event"), show.Count(int64(erased.Contents), "large content"), strings.Trim(fmt.Sprint(erased.Erasures), "[]"))
	return err
}

// stays says what else may say the same.
func (c auditErase) stays() string {
	if c.Task != "" {
		return "Workspaces, exports and backups are not touched.\n"
	}
	return "The task keeps its own text (--task takes all of it); workspaces, exports and backups are not touched.\n"
}

// what is what is to be erased, in words.
func (c auditErase) what() string {
	switch {
	case c.Task != "":
		return "task " + c.Task + " and its runs say"
	case c.Run_ != "":
		return "run " + c.Run_ + " says"
	case len(c.Event) == 1:
		return fmt.Sprintf("event %d says", c.Event[0])
	case len(c.Event) > 1:
		return "events " + strings.ReplaceAll(strings.Trim(fmt.Sprint(c.Event), "[]"), " ", ", ") + " say"
	}
	return ""
}
