package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// systemCommand is "hecate system".
type systemCommand struct {
	Stats statsCommand `cmd:"" help:"How busy the server is."`
}

// statsCommand is "hecate system stats".
type statsCommand struct {
	serverFlags
	JSON bool `name:"json" help:"Print the server's JSON."`
}

// Run does the command.
func (c statsCommand) Run(a *app) error {
	ctx := context.Background()
	server, err := c.connect(ctx, a)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(ctx, a, server, "/system/stats")
	}
	s, err := server.Stats(ctx)
	if err != nil {
		return fmt.Errorf("ask how busy the server is: %w", err)
	}
	bound := ""
	if s.RunsMax > 0 {
		bound = fmt.Sprintf(", at most %d at a time", s.RunsMax)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"executed", fmt.Sprint(s.InFlight) + bound + age(s.OldestRunning)},
		{"queued", fmt.Sprint(s.QueueDepth) + age(s.OldestQueued)},
		{"waiting for a person", fmt.Sprint(s.AwaitingApproval)},
		{"waiting for a workspace", fmt.Sprint(s.WaitingWorkspace)},
		{"workers of this server", fmt.Sprint(s.WorkerCount)},
		{"log", s.StoreBackend},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row[0], terminal.Line(row[1]))
	}
	for _, live := range s.Workers {
		fmt.Fprintf(w, "node\t%s, with %s\n", terminal.Line(live.Node), show.Count(int64(live.Claims), "run"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(s.Workers) == 0 {
		fmt.Fprintf(a.out, "%s no worker is running, so nothing is executed: see HECATE_TASK_WORKERS_ENABLED\n", a.outStyle.Yellow("!"))
	}
	return nil
}

// age says how long the oldest has been so; nothing for less than a second.
func age(seconds int64) string {
	if seconds <= 0 {
		return ""
	}
	return ", the oldest for " + show.Duration(time.Duration(seconds)*time.Second)
}

// stopCommand is "hecate stop".
type stopCommand struct {
	serverFlags
	Wait time.Duration `default:"60s" help:"How long to wait for its end."`
}

// Help is the long help of the command.
func (stopCommand) Help() string {
	return `The server ends as it does on a signal: requests and commands under way get a moment, and runs that have
not ended go on with the next start, or at another server on the same database. It has to be asked on
its own machine.`
}

// stopPoll is how often it is looked whether the server has ended.
const stopPoll = 50 * time.Millisecond

// Run does the command.
func (c stopCommand) Run(a *app) error {
	if c.Wait <= 0 {
		return usage(errors.New("--wait must be longer than nothing"))
	}
	ctx, stop := context.WithTimeout(context.Background(), c.Wait)
	defer stop()
	server, err := c.connect(ctx, a)
	if err != nil {
		return err
	}
	if err := server.Shutdown(ctx); err != nil {
		var refused *client.Error
		if errors.As(err, &refused) && refused.Status == http.StatusForbidden {
			return advise(fmt.Errorf("end the server: %w", err), "run it there, or send the process a SIGTERM")
		}
		return fmt.Errorf("end the server: %w", err)
	}
	fmt.Fprintf(a.out, "the server at %s is ending\n", server.BaseURL())
	for running(ctx, a, server) {
		select {
		case <-ctx.Done():
			return advise(fmt.Errorf("the server has not ended within %s", c.Wait), "it may be waiting for a command under way; look again: hecate system stats")
		case <-time.After(stopPoll):
		}
	}
	fmt.Fprintln(a.out, "it has ended")
	return nil
}

// running reports whether the server still answers, or still holds its data: it stops
// answering first, and takes its address out of the data directory when all else is done.
func running(ctx context.Context, a *app, server *client.Client) bool {
	for _, r := range a.runningServers() {
		if strings.TrimRight(r.BaseURL, "/") == server.BaseURL() && (r.PID <= 0 || alive(r.PID)) {
			return true
		}
	}
	_, err := server.Health(ctx)
	return err == nil || ctx.Err() != nil
}

// alive reports whether there is such a process, be it another user's.
func alive(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
