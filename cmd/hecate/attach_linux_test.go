package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/client"
	"hecate/domain/run"
)

// command is a hecate of this test binary in an environment.
func command(environ []string, args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(environ, asHecate+"=1")
	return c
}

// hecate runs a command that must succeed and returns what it says.
func hecate(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	c := command(environ, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("hecate %q: %v\n%s", args, err, &errs)
	}
	return out.String()
}

// served starts a server, with a run on it that asks.
func served(t *testing.T) (environ []string, server *client.Client, r client.Run) {
	t.Helper()
	environ, project := terminalEnviron(t)
	c := command(environ, "serve")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt) // it ends with the test in any case
		_ = c.Wait()
	})
	ctx, a := context.Background(), &app{environ: environ}
	server = waitFor(t, "the server", func() (*client.Client, bool) {
		found, err := (serverFlags{}).find(ctx, a)
		return found, err == nil && found != nil
	})
	task, _, err := server.CreateTask(ctx, client.NewTask{Prompt: "gated: make a file", ExecutionKind: "agent_loop", WorkspaceMode: "ephemeral", WorkingDirectory: project, Posture: "levels"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = server.StartTask(ctx, task.ID, run.Ahead{}); err != nil {
		t.Fatal(err)
	}
	return environ, server, r
}

// A run that waits is answered from another terminal, by the beginning of its id.
func TestTerminalAttach(t *testing.T) {
	t.Parallel()
	environ, _, r := served(t)
	s := onPTY(t, environ, "attach", r.ID[:12])
	s.waitFor(t, asksNow)
	s.typeIn(t, "y")
	if code := s.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, s.output())
	}
	check(t, s.output(), []string{"wrote \x1b[1mmade.txt", "Ctrl-C detaches from the run", "y: this call only", "The file is there.", "completed"})
	late := onPTY(t, environ, "attach", r.TaskID)
	if code := late.exitCode(); code != exitFailed {
		t.Errorf("exit code %d:\n%s", code, late.output())
	}
	check(t, late.output(), []string{"has ended: completed"})
}

// Ctrl-C leaves the run alone. A second terminal that asks the same closes its dialog
// when the answer comes from elsewhere.
func TestTerminalDetach(t *testing.T) {
	t.Parallel()
	environ, server, r := served(t)
	first, second := onPTY(t, environ, "attach", r.ID), onPTY(t, environ, "attach", r.TaskID)
	first.waitFor(t, asksNow)
	second.waitFor(t, asksNow)
	first.typeIn(t, "\x03")
	if code := first.exitCode(); code != exitInterrupted {
		t.Fatalf("exit code %d:\n%s", code, first.output())
	}
	check(t, first.output(), []string{"detached; the run goes on", "hecate attach " + r.ID})
	approvals, err := server.Approvals(context.Background(), r.TaskID)
	if err != nil || len(approvals) != 1 || approvals[0].Status != "pending" {
		t.Fatalf("after detaching: %+v (%v)", approvals, err)
	}
	if out := hecate(t, environ, "approve", approvals[0].ID); !strings.Contains(out, "approved") {
		t.Errorf("approve says:\n%s", out)
	}
	if code := second.exitCode(); code != exitCompleted {
		t.Fatalf("exit code %d:\n%s", code, second.output())
	}
	_, after, _ := strings.Cut(second.output(), closes)
	check(t, after, []string{"answered elsewhere", "The file is there."})
}
