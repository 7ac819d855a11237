package main

import (
	"io"
	"testing"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// A run that waits for a worker after its lock has become free does not say that it waits
// for the lock.
func TestLockGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		call   obj
		status string
		want   string
	}{
		"ended":      {nil, "completed", "waiting for its turn: run_1 has given back build"},
		"call ended": {obj{"step_id": "step_1", "tool_name": "exec", "state": "finished"}, "running", "waiting for its turn: run_1 has given back build"},
		"at work":    {obj{"step_id": "step_1", "tool_name": "exec", "state": "running"}, "running", "waiting for build, held by run_1"},
		"left a job": {obj{"step_id": "step_1", "tool_name": "terminal_open", "state": "finished"}, "running", "waiting for build, held by run_1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newContractServer(t, nil)
			s.status = c.status
			s.answers = obj{"/tasks/task_1/runs/run_1/tool-calls": []any{c.call}}
			server, err := client.New(s.URL, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			a, _, _ := testApp(t)
			f := newFollower(a, server, false)
			f.live = show.NewLive(io.Discard, terminal.Style{})
			f.live.Event(client.Event{Type: "tool.lock.waiting", Data: []byte(`{"tool_call_id":"c1","tool_name":"exec","lock":"build","held_by_run_id":"run_1","held_by_step_id":"step_1"}`)})
			f.look(t.Context())
			if got := f.live.Doing(time.Time{}); got != c.want {
				t.Errorf("it says %q", got)
			}
		})
	}
}
