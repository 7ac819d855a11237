package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/domain/event"
)

// auditLog is "hecate audit log".
type auditLog struct {
	serverFlags
	Task     string `placeholder:"ID" help:"Only what belongs to this task."`
	Run_     string `name:"run" placeholder:"ID" help:"Only what belongs to this run."`
	Actor    string `placeholder:"WHO" help:"Only what this one caused: a name, a kind (operator, client, worker, schedule, system), or kind:name."`
	Type     string `placeholder:"TYPE,…" help:"Only these types of events."`
	Tool     string `placeholder:"NAME" help:"Only events that name this tool."`
	Path     string `placeholder:"PATH" help:"Only events that name this file; with a slash at its end, anything below it."`
	Host     string `placeholder:"HOST" help:"Only events that name this host."`
	Secret   string `placeholder:"NAME" help:"Only events that this secret of the server was withheld from, or that name it, such as OPENAI_API_KEY."`
	Approval string `placeholder:"ID" help:"Only events that name this approval."`
	Since    string `placeholder:"TIME" help:"Only what was recorded then or later: a time, a day, or how long ago, such as 90m or 3d."`
	Until    string `placeholder:"TIME" help:"Only what was recorded before then."`
	From     int64  `placeholder:"N" help:"Only events at this place of the log or behind it."`
	To       int64  `placeholder:"N" help:"Only events at this place of the log or before it."`
	Last     int    `short:"n" placeholder:"N" help:"Only the newest N."`
	Follow   bool   `short:"f" help:"Go on with what is recorded from now on, until Ctrl-C."`
	JSON     bool   `name:"json" help:"Print the events as JSON lines, complete and unchanged."`
}

// Help is the long help of the command.
func (auditLog) Help() string {
	return `Every line is one event that meets all filters: its place in the log, its time, who caused it, its type and what it
says in short, below the run that it belongs to. A question mark stands behind names that nothing proves. What was deleted is
among it.

Examples:

    hecate audit log --last 100                        the newest events of all
    hecate audit log --path internal/ --since 1d       what touched these files since yesterday
    hecate audit log --host example.com                every call to that host, and who allowed it
    hecate audit log --secret OPENAI_API_KEY           where a key of the server turned up, and what asked for it
    hecate audit log --actor ada --type approval.resolved --json`
}

// auditPoll is how often a follower asks for more.
const auditPoll = time.Second

// Run does the command.
func (c auditLog) Run(a *app) error {
	f, err := c.filter(time.Now())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	server, done, err := c.reader(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	last := f.After
	write := c.printer(a, &last)
	if c.Last > 0 {
		var events []client.Event
		if events, err = server.AuditLast(ctx, f, c.Last); err == nil {
			err = writeAll(events, write)
		}
	} else {
		err = server.Audit(ctx, f, write)
	}
	if err == nil && last == f.After {
		if err := c.nothing(); err != nil {
			return err
		}
		if !c.JSON {
			fmt.Fprintln(a.err, "no events match")
		}
	}
	if err == nil && c.Follow {
		return c.follow(ctx, a, server, f, &last, write)
	}
	if err != nil {
		return fmt.Errorf("search the log: %w", err)
	}
	return nil
}

// nothing doubts types that nothing was found of, unless they are waited for: callers name those
// of their events as they like, so a type is not wrong before.
func (c auditLog) nothing() error {
	for name := range strings.SplitSeq(c.Type, ",") {
		if name = strings.TrimSpace(name); name != "" && !c.Follow && !event.Known(name) {
			return usage(fmt.Errorf("no events match, and no type of events is known that is called %q: hecate audit log --last 100 shows some", name))
		}
	}
	return nil
}

func writeAll(events []client.Event, do func(client.Event) error) error {
	for _, e := range events {
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

// printer writes events and keeps the place of the last one.
func (c auditLog) printer(a *app, last *int64) func(client.Event) error {
	log := show.NewAudit(a.out, a.outStyle)
	return func(e client.Event) error {
		*last = e.Sequence
		if c.JSON {
			_, err := fmt.Fprintf(a.out, "%s\n", e.Raw)
			return err
		}
		log.Event(e)
		return nil
	}
}

// follow asks for more until somebody ends it.
func (c auditLog) follow(ctx context.Context, a *app, server *client.Client, f client.AuditFilter, last *int64, write func(client.Event) error) error {
	defer a.catchInterrupts()()
	poll := time.NewTicker(auditPoll)
	defer poll.Stop()
	for {
		select {
		case <-a.interrupt:
			return exit(exitInterrupted)
		case <-poll.C:
		}
		f.After = *last
		if err := server.Audit(ctx, f, write); err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
	}
}

// filter is what the flags ask for.
func (c auditLog) filter(now time.Time) (client.AuditFilter, error) {
	f := client.AuditFilter{
		Task: c.Task, Run: c.Run_, Actor: c.Actor, Types: c.Type, Tool: c.Tool, Path: c.Path, Host: c.Host, Secret: c.Secret, Approval: c.Approval,
		After: max(c.From-1, 0),
	}
	if c.To > 0 {
		f.Before = c.To + 1
	}
	for _, t := range []struct {
		flag, text string
		to         *string
	}{{"--since", c.Since, &f.Since}, {"--until", c.Until, &f.Until}} {
		if t.text == "" {
			continue
		}
		at, err := moment(t.text, now)
		if err != nil {
			return f, usage(fmt.Errorf("%s: %w", t.flag, err))
		}
		*t.to = at.UTC().Format(time.RFC3339Nano)
	}
	if c.Last < 0 || c.From < 0 || c.To < 0 {
		return f, usage(fmt.Errorf("--last, --from and --to are numbers above 0"))
	}
	if c.To > 0 && c.From > c.To {
		return f, usage(fmt.Errorf("--from %d is behind --to %d", c.From, c.To))
	}
	return f, nil
}

// moment reads a time as people write it: a time, a day, or how long ago.
func moment(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return now, fmt.Errorf("%q is no time; write 2026-02-03, 2026-02-03T09:30:00Z, or how long ago: 90m, 12h, 3d", text)
}
