package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// tasksCommand is "hecate tasks".
type tasksCommand struct {
	serverFlags
	Task   string `arg:"" optional:"" help:"Show this task with its runs."`
	Status string `placeholder:"STATUS" enum:",not_started,queued,running,awaiting_approval,completed,failed,cancelled" default:"" help:"List only tasks with this status."`
	Search string `placeholder:"TEXT" help:"List only tasks that have all of these words in their title, the beginning of what is wanted, or their directory."`
	Before int64  `placeholder:"N" help:"List only tasks older than those of the list that named N."`
	Limit  int    `default:"20" help:"List at most this many, newest first; 0 for all."`
	JSON   bool   `name:"json" help:"Print the server's JSON."`
}

// Run does the command.
func (c tasksCommand) Run(a *app) error {
	ctx := context.Background()
	if c.Limit < 0 || c.Before < 0 {
		return usage(errors.New("--limit and --before must not be negative"))
	}
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	switch {
	case c.Task != "" && c.JSON:
		return printJSON(ctx, a, server, "/tasks/"+url.PathEscape(c.Task))
	case c.Task != "":
		return showTask(ctx, a, server, c.Task)
	}
	return c.list(ctx, a, server)
}

// list prints the list, and how to see what follows it.
func (c tasksCommand) list(ctx context.Context, a *app, server *client.Client) error {
	raw, next, err := server.TaskList(ctx, client.TaskQuery{Limit: c.Limit, Status: c.Status, Search: c.Search, Before: c.Before})
	if err != nil {
		return fmt.Errorf("list tasks: %w", err)
	}
	more := a.out
	if c.JSON {
		more = a.err
		err = printValue(a, raw)
	} else {
		err = c.table(a, raw)
	}
	if err != nil || next == 0 {
		return err
	}
	_, err = fmt.Fprintln(more, "older: "+c.older(next))
	return err
}

// older is the command for the tasks below next.
func (c tasksCommand) older(next int64) string {
	words := []string{"hecate tasks"}
	if c.Status != "" {
		words = append(words, "--status", c.Status)
	}
	if c.Search != "" {
		words = append(words, "--search", "'"+strings.ReplaceAll(terminal.Line(c.Search), "'", `'\''`)+"'")
	}
	if c.Limit != tasksShown {
		words = append(words, "--limit", strconv.Itoa(c.Limit))
	}
	return strings.Join(append(words, "--before", strconv.FormatInt(next, 10)), " ")
}

func (c tasksCommand) table(a *app, raw []json.RawMessage) error {
	tasks, err := client.DecodeTasks(raw)
	switch {
	case err != nil:
		return err
	case len(tasks) == 0 && c.Status == "" && c.Search == "" && c.Before == 0:
		fmt.Fprintln(a.out, `no tasks yet; begin with: hecate run "what you want done"`)
		return nil
	case len(tasks) == 0:
		fmt.Fprintln(a.out, "no task matches")
		return nil
	}
	if columns := a.outStyle.Columns; columns > 0 && columns < tableColumns {
		return listTasks(a, tasks)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TASK\tSTATUS\tCREATED\tTITLE")
	for _, t := range tasks {
		title := terminal.Cut(terminal.Line(t.Name()), 50)
		if t.PendingApprovals > 0 {
			title += "  (waits for your approval)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", terminal.Line(t.ID), terminal.Line(t.Status), shortTime(t.CreatedAt), title)
	}
	return w.Flush()
}

// tasksShown is how many tasks are listed unless another number is asked for.
const tasksShown = 20

// tableColumns is the width that the table of tasks needs.
const tableColumns = 100

// listTasks writes each task on two lines, where a table does not fit.
func listTasks(a *app, tasks []client.Task) error {
	st := a.outStyle
	for _, t := range tasks {
		title := terminal.Line(t.Name())
		if t.PendingApprovals > 0 {
			title = st.Yellow("waits for your approval") + ": " + terminal.Cut(title, st.Columns-27)
		} else {
			title = terminal.Cut(title, st.Columns-2)
		}
		fmt.Fprintf(a.out, "%s\n  %s\n", st.Row(terminal.Line(t.ID), terminal.Line(t.Status)+" · "+shortTime(t.CreatedAt)), title)
	}
	return nil
}

func printJSON(ctx context.Context, a *app, server *client.Client, path string) error {
	raw, err := server.Raw(ctx, path)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	return printValue(a, raw)
}

func printValue(a *app, v any) error {
	var indented strings.Builder
	enc := json.NewEncoder(&indented)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	_, err := fmt.Fprint(a.out, indented.String())
	return err
}

func showTask(ctx context.Context, a *app, server *client.Client, id string) error {
	t, err := server.Task(ctx, id)
	if err != nil {
		return notFound(err, "task "+id, "hecate tasks")
	}
	runs, err := server.Runs(ctx, id)
	if err != nil {
		return fmt.Errorf("list the runs of task %s: %w", id, err)
	}
	fmt.Fprintf(a.out, "%s  %s\n", a.outStyle.Bold(terminal.Line(t.Name())), a.statusText(t.Status))
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"task", t.ID},
		{"created", shortTime(t.CreatedAt)},
		{"kind", strings.TrimSpace(t.ExecutionKind + " " + t.WorkspaceMode)},
		{"directory", t.WorkingDirectory},
		{"repository", t.Repo},
		{"ref", t.BaseBranch},
		{"model", strings.Trim(t.LatestProvider+"/"+t.LatestModel, "/")},
		{"error", t.LastError},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "  %s\t%s\n", row[0], terminal.Line(row[1]))
		}
	}
	if t.BudgetMicroUSD > 0 {
		fmt.Fprintf(w, "  budget\t%s\n", show.Cost(t.BudgetMicroUSD, true))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, line := range terminal.Wrap(terminal.Text(t.Prompt), show.TextColumns(a.outStyle)-2) {
		fmt.Fprintf(a.out, "  %s\n", line)
	}
	return showRuns(ctx, a, server, t, runs)
}

// showRuns lists a task's runs, newest first, and what there is to know and to do.
func showRuns(ctx context.Context, a *app, server *client.Client, t client.Task, runs []client.Run) error {
	if len(runs) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\n#\tRUN\tSTATUS\tMODEL CALLS\tCOST\tTIME\tFOLLOWS\tERROR")
	for _, r := range runs {
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.Number, terminal.Line(r.ID), terminal.Line(r.Status), r.ModelCallCount,
			show.Cost(r.CostMicroUSD, r.Known()), runTime(r), followed(r, runs), terminal.Cut(terminal.Line(r.LastError), 60))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	if len(runs) > 1 {
		fmt.Fprintf(a.out, "%s in all\n", spent(runs))
	}
	showWarnings(a, runs)
	latest := runs[0]
	if calls, err := server.ToolCalls(ctx, latest.TaskID, latest.ID); err == nil && len(openCalls(calls)) > 0 {
		fmt.Fprintf(a.out, "%s nobody knows whether %s of %s took effect: hecate calls %[3]s\n",
			a.outStyle.Yellow("!"), show.Count(int64(len(openCalls(calls))), "call"), terminal.Line(latest.ID))
	}
	next := "history: hecate log " + latest.ID
	if t.PendingApprovals > 0 {
		next = "it waits for you: hecate approvals " + t.ID
	}
	_, err := fmt.Fprintln(a.out, next)
	return err
}

// spent is what the runs have cost together; as far as that is known.
func spent(runs []client.Run) string {
	sum, known := int64(0), true
	for _, r := range runs {
		sum += r.CostMicroUSD
		known = known && r.Known()
	}
	return show.Cost(sum, known)
}

// followed says which run of the list a run follows, and how.
func followed(r client.Run, runs []client.Run) string {
	if r.ResumedFrom == "" {
		return ""
	}
	for _, from := range runs {
		if from.ID == r.ResumedFrom {
			return fmt.Sprintf("%s of run %d", follows(r), from.Number)
		}
	}
	return follows(r)
}

// showWarnings prints what does not stop runs and is worth knowing.
func showWarnings(a *app, runs []client.Run) {
	mark := a.outStyle.Yellow("!")
	for _, r := range runs {
		if r.WaitingReason == "workspace_unreachable" {
			fmt.Fprintf(a.out, "%s run %d waits: no running worker reaches its workspace; start the server that has it\n", mark, r.Number)
		}
		for _, w := range r.Warnings {
			fmt.Fprintf(a.out, "%s run %d: %s\n", mark, r.Number, terminal.Line(w.Message))
		}
	}
}

func (a *app) statusText(status string) string {
	text := terminal.Line(status)
	switch status {
	case "completed":
		return a.outStyle.Green(text)
	case "failed", "cancelled":
		return a.outStyle.Red(text)
	case "awaiting_approval":
		return a.outStyle.Yellow(text)
	}
	return text
}

func shortTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

func runTime(r client.Run) string {
	if r.StartedAt == nil || r.FinishedAt == nil {
		return ""
	}
	return show.Duration(r.FinishedAt.Sub(*r.StartedAt))
}

// notFound says where to look for an id that the server does not know.
func notFound(err error, what, look string) error {
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return advise(fmt.Errorf("there is no %s", what), "see: "+look)
	}
	return fmt.Errorf("look up %s: %w", what, err)
}
