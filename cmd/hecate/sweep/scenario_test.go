//go:build linux

package sweep_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"hecate/runtime/model/scripted"
)

// scenario is a story that a caller and a model play with a server. Both go by the
// state of things and not by what came before: the caller waits for conditions and
// sends requests again, the model answers by the turn of the conversation.
type scenario struct {
	name      string
	reply     func(d *driver, turn int) scripted.Reply
	drive     func(d *driver) error
	cancelled int // so many of its runs, the first ones, are cancelled
	// calls are the tool calls that the story consists of, in order: ids, or tools
	// for calls without an id of their own.
	calls []string
}

var scenarios = []scenario{approval, resumption, direct}

// driver is the caller of one story.
type driver struct {
	*client
	ctx      context.Context
	mode     mode
	dir      string                          // effects and signs of the story are files in here
	source   string                          // what runs work on
	holds    func(call string) (bool, error) // the newest process may yet record what comes of the call
	released atomic.Bool                     // the model no longer hangs
	key      string                          // before the keys of requests, of a caller with several stories

	task     string
	runs     []string // in order
	approval string   // id of the one that was answered
}

// approval is a run with two batches of calls, the second of which waits for a person.
// Its conversation is continued.
var approval = scenario{
	name:  "approval",
	calls: []string{"a1", "a2", "a3", "a4", "a5"},
	reply: func(d *driver, turn int) scripted.Reply {
		switch turn {
		case 0:
			return scripted.Reply{Calls: []scripted.Call{
				d.shell("a1", ""), d.shell("a2", ""), scripted.ToolCall("a3", "read_file", args{"path": "given.txt"}),
			}}
		case 1:
			return scripted.Reply{Calls: []scripted.Call{
				scripted.ToolCall("a4", "file_write", args{"path": "made.txt", "content": "made\n"}), d.shell("a5", ""),
			}}
		}
		return scripted.Reply{Text: "All of it is done."}
	},
	drive: func(d *driver) error {
		if err := d.begin(args{"execution_kind": "agent_loop", "prompt": "Do it.", "requested_provider": "fake", "requested_model": scripted.ModelName}); err != nil {
			return err
		}
		if err := d.until("the run asks", d.asked); err != nil {
			return err
		}
		path := api + "/tasks/" + d.task + "/approvals/" + d.approval + "/resolve"
		if _, err := d.send(d.ctx, http.MethodPost, path, "answer", args{"decision": "approve"}); err != nil {
			return err
		}
		if err := d.until("the run ends", d.ended); err != nil {
			return err
		}
		return d.goOn()
	},
}

// resumption is a run that is cancelled while a command runs, and another that goes
// on from it. The conversation is continued.
var resumption = scenario{
	name:      "resumption",
	cancelled: 1,
	calls:     []string{"b1", "b2"},
	reply: func(d *driver, turn int) scripted.Reply {
		switch {
		case turn == 0:
			return scripted.Reply{Calls: []scripted.Call{d.shell("b1", "echo begun; sleep 300"), d.shell("b2", "")}}
		case !d.released.Load(): // after a crash the first run gets this far; it shall not end by itself
			return scripted.Reply{Hang: true}
		}
		return scripted.Reply{Text: "All of it is done."}
	},
	drive: func(d *driver) error {
		if err := d.begin(args{"execution_kind": "agent_loop", "prompt": "Do it.", "requested_provider": "fake", "requested_model": scripted.ModelName, "timeout_ms": 600_000}); err != nil {
			return err
		}
		if err := d.until("the command has begun", func() (bool, error) { return d.begun("b1") }); err != nil {
			return err
		}
		if _, err := d.send(d.ctx, http.MethodPost, d.path()+"/cancel", "cancel", args{}); err != nil {
			return err
		}
		d.released.Store(true)
		if err := d.until("all is recorded that will ever be", d.settled); err != nil {
			return err
		}
		if err := d.open(d.path()+"/resume", "resume", args{}); err != nil {
			return err
		}
		if err := d.until("the run ends", d.ended); err != nil {
			return err
		}
		return d.goOn()
	},
}

// direct is a task that is one shell command.
var direct = scenario{
	name:  "direct",
	calls: []string{"shell"},
	drive: func(d *driver) error {
		command := d.command("shell", fmt.Sprintf("echo begun; until [ -e %s/go ]; do sleep 0.02; done", d.dir))
		if err := d.begin(args{"execution_kind": "shell", "shell_command": command, "timeout_ms": 600_000}); err != nil {
			return err
		}
		if err := d.until("the command has begun", func() (bool, error) { return d.begun("") }); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(d.dir, "go"), nil, 0o600); err != nil {
			return err
		}
		return d.until("the run ends", d.ended)
	},
}

type args = map[string]any

// shell is a call that leaves a line in a file each time that it is made.
func (d *driver) shell(id, then string) scripted.Call {
	return scripted.ToolCall(id, "shell_exec", args{"command": d.command(id, then)})
}

func (d *driver) command(id, then string) string {
	return fmt.Sprintf("echo made >> %s; %s", d.effect(id), then)
}

// effect is the file with a line for each time that a call was made.
func (d *driver) effect(call string) string { return filepath.Join(d.dir, "effect-"+call) }

// begin makes the task and starts it.
func (d *driver) begin(task args) error {
	task["working_directory"], task["workspace_mode"] = d.source, d.mode.workspaces
	raw, err := d.send(d.ctx, http.MethodPost, api+"/tasks", d.key+"create", task)
	if err != nil {
		return err
	}
	var made doc
	if err := inside(raw, &made); err != nil {
		return err
	}
	d.task = made.str("id")
	return d.open(api+"/tasks/"+d.task+"/start", "start", args{})
}

// open opens the task's next run.
func (d *driver) open(path, key string, body args) error {
	raw, err := d.send(d.ctx, http.MethodPost, path, d.key+key, body)
	if err != nil {
		return err
	}
	var opened doc
	if err := inside(raw, &opened); err != nil {
		return err
	}
	d.runs = append(d.runs, opened.str("id"))
	return nil
}

// goOn continues the conversation of the newest run: whatever happened in it, it must
// be fit to be sent to a model once more.
func (d *driver) goOn() error {
	if err := d.open(d.path()+"/continue", "continue", args{"prompt": "Thanks."}); err != nil {
		return err
	}
	return d.until("the continued run ends", d.ended)
}

// path is that of the newest run.
func (d *driver) path() string { return d.pathOf(d.runs[len(d.runs)-1]) }

func (d *driver) pathOf(run string) string { return api + "/tasks/" + d.task + "/runs/" + run }

// until waits for a condition.
func (d *driver) until(what string, ok func() (bool, error)) error {
	return d.untilIn(d.ctx, what, ok)
}

// untilIn waits for a condition after the story, when its own context has ended.
func (d *driver) untilIn(ctx context.Context, what string, ok func() (bool, error)) error {
	for {
		holds, err := ok()
		if holds || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			late, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer stop()
			run, _ := d.object(late, d.path()) // only to show it
			return fmt.Errorf("it never came to be that %s (%w): %v", what, context.Cause(ctx), run)
		case <-time.After(pollEvery):
		}
	}
}

func (d *driver) ended() (bool, error) {
	run, err := d.object(d.ctx, d.path())
	return slices.Contains([]string{"completed", "failed", "cancelled"}, run.str("status")), err
}

func (d *driver) asked() (bool, error) {
	found, err := d.list(d.ctx, api+"/tasks/"+d.task+"/approvals")
	if err != nil || len(found) == 0 {
		return false, err
	}
	d.approval = found[0].str("id")
	return found[0].str("status") == "pending", nil
}

// state is how far a call of the newest run has come; "" stands for its only one.
func (d *driver) state(call string) (string, error) {
	calls, err := d.list(d.ctx, d.path()+"/tool-calls")
	for _, c := range calls {
		if call == "" || c.str("tool_call_id") == call {
			return c.str("state"), err
		}
	}
	return "", err
}

// settled reports whether nobody may yet record what came of a call of the newest run.
func (d *driver) settled() (bool, error) {
	calls, err := d.list(d.ctx, d.path()+"/tool-calls")
	for _, c := range calls {
		if state := c.str("state"); state != "unknown" && state != "running" {
			continue
		}
		if held, err := d.holds(c.str("tool_call_id")); held || err != nil {
			return false, err
		}
	}
	return true, err
}

// begun reports whether a call's first output is recorded, or nobody will ever know.
func (d *driver) begun(call string) (bool, error) {
	if state, err := d.state(call); err != nil || state == "unknown" || state == "finished" {
		return err == nil, err
	}
	events, err := d.list(d.ctx, d.path()+"/events")
	return slices.ContainsFunc(events, func(e doc) bool { return e.str("type") == "tool.shell.output_chunk" }), err
}
