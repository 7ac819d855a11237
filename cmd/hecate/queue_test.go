package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/client"
	"hecate/domain/run"
)

// realServer is a server in this process with one worker and the scripted model.
func realServer(t *testing.T, settings ...string) *client.Client {
	t.Helper()
	dir := t.TempDir()
	environ, stop, err := e2eEnviron(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	n, err := startNode(t.Context(), append(environ, settings...), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended. What the node still writes has to be done before
		// its directories are removed.
		ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer stop()
		if err := n.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(n.BaseURL(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A run that waits behind another one says so, and goes on when that one has ended.
func TestWaitForAWorker(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		say      string
	}{
		"worker": {nil, "waiting for a worker: 1 run before it\n"},
		"bound":  {[]string{"HECATE_TASK_QUEUE_WORKERS=4", "HECATE_TASK_MAX_CONCURRENT=1"}, "waiting for a worker: 1 run at a time (HECATE_TASK_MAX_CONCURRENT), and 1 before it\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := realServer(t, append(c.settings, "HECATE_BACKEND=memory")...)
			ctx := t.Context()
			task, position, err := s.CreateTask(ctx, client.NewTask{Prompt: "hangs", ExecutionKind: "agent_loop", WorkspaceMode: "ephemeral", WorkingDirectory: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			run, err := s.StartTask(ctx, task.ID, run.Ahead{})
			if err != nil {
				t.Fatal(err)
			}
			for e, err := range s.Events(ctx, task.ID, position) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Type == "run.started" {
					break
				}
			}
			a, out, errs := testApp(t)
			a.out = onText(out, "waiting for a worker", func() {
				if _, err := s.CancelRun(ctx, task.ID, run.ID, "make room"); err != nil {
					t.Error(err)
				}
			})
			if code := a.run([]string{"run", "--server", s.BaseURL(), "--dir", t.TempDir(), "nothing special"}); code != exitCompleted {
				t.Errorf("exit code %d: %s", code, errs)
			}
			check(t, out.String(), []string{c.say, "Nothing to do."})
			if strings.Count(out.String(), "waiting for a worker") != 1 {
				t.Errorf("said more than once:\n%s", out)
			}
		})
	}
}

// onText does something once, when a text is written to out.
func onText(out *bytes.Buffer, text string, do func()) io.Writer {
	done := false
	return writerFunc(func(p []byte) (int, error) {
		if !done && bytes.Contains(p, []byte(text)) {
			done = true
			do()
		}
		return out.Write(p)
	})
}

func TestBeforeARun(t *testing.T) {
	for _, c := range []struct {
		stats client.Stats
		ahead int
		want  string
	}{
		{client.Stats{}, 3, ": none is running; start a server whose workers are enabled (HECATE_TASK_WORKERS_ENABLED)"},
		{workers(client.Stats{InFlight: 2}), 1, ": 3 runs before it"},
		{workers(client.Stats{InFlight: 1, RunsMax: 2}), 0, ": 1 run before it"},
		{workers(client.Stats{InFlight: 2, RunsMax: 2}), 1, ": 2 runs at a time (HECATE_TASK_MAX_CONCURRENT), and 3 before it"},
		{workers(client.Stats{}), 0, ""},
	} {
		if got := before(c.stats, c.ahead); got != c.want {
			t.Errorf("%+v: %q, want %q", c.stats, got, c.want)
		}
	}
}

func workers(s client.Stats) client.Stats {
	s.Workers = append(s.Workers, client.WorkerStats{Node: "n", Claims: s.InFlight})
	return s
}
