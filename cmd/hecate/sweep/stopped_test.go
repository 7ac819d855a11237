//go:build linux

package sweep_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hecate/runtime/model/scripted"
)

// ticking is a run whose command leaves a line every 100 ms and ends only by force.
var ticking = scenario{
	name:  "ticking",
	calls: []string{"t1"},
	reply: func(d *driver, turn int) scripted.Reply {
		if turn == 0 {
			return scripted.Reply{Calls: []scripted.Call{d.shell("t1", fmt.Sprintf("while :; do echo tick >> %s; sleep 0.1; done", d.effect("t1")))}}
		}
		return scripted.Reply{Text: "All of it is done."}
	},
	drive: func(d *driver) error {
		if err := d.begin(args{"execution_kind": "agent_loop", "prompt": "Do it.", "requested_provider": "fake", "requested_model": scripted.ModelName, "timeout_ms": 600_000}); err != nil {
			return err
		}
		return d.until("the command ticks", func() (bool, error) {
			raw, err := os.ReadFile(d.effect("t1"))
			return bytes.Count(raw, []byte("\n")) >= 3, ignoreMissing(err)
		})
	},
}

func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// A server that is stopped for longer than its lease holds has no part any more in
// what it was doing: its commands are gone before another node goes on, and when it
// wakes up it adds nothing. It goes on serving.
func TestAStoppedNodeIsFencedOff(t *testing.T) {
	t.Parallel()
	x := newExperiment(t, mode{store: onPostgres, workspaces: "ephemeral", second: true, shared: true, lease: leaseSeconds}, ticking)
	ctx, stop := context.WithTimeout(t.Context(), experimentMax)
	defer stop()
	d, first, second := x.driver, x.nodes[0], x.nodes[1]
	d.ctx = ctx
	second.env = slices.DeleteFunc(second.env, func(pair string) bool { return strings.HasPrefix(pair, "HECATE_CRASH_SKEW=") }) // times are compared
	must(t, x.start(first, 0))
	must(t, ticking.drive(d))
	must(t, x.start(second, 0))
	must(t, second.serves())

	must(t, first.cmd.Process.Signal(syscall.SIGSTOP))
	d.base.Store(second.base)
	must(t, d.until("the other node ends the run", d.ended))
	before := d.history(t)
	claimed := before[slices.IndexFunc(before, func(e doc) bool { return e.str("type") == "gap.run_disconnected" })]
	info, err := os.Stat(d.effect("t1"))
	must(t, err)
	if at, err := time.Parse(time.RFC3339Nano, claimed.str("occurred_at")); err != nil || !info.ModTime().Before(at) {
		t.Errorf("the command ticked at %v, the other node went on at %v (%v)", info.ModTime(), at, err)
	}
	if left := processesWith("cmdline", d.effect("t1")); len(left) > 0 {
		t.Errorf("these are left of the command: %q", left)
	}
	if state, err := d.state("t1"); state != "unknown" {
		t.Errorf("the command's outcome is %s (%v)", state, err)
	}

	must(t, first.cmd.Process.Signal(syscall.SIGCONT))
	must(t, d.until("the first node has a new place among the workers", func() (bool, error) {
		all, err := readTrace(first.traces[0])
		return slices.ContainsFunc(all, func(r reached) bool { return r.point == "register.after #2" }), err
	}))
	must(t, second.end())
	d.base.Store(first.base)
	again := &driver{client: d.client, ctx: ctx, mode: x.mode, source: d.source, key: "again "}
	must(t, again.begin(args{"execution_kind": "shell", "shell_command": "true", "title": "again"}))
	must(t, again.until("the first node ends another run", again.ended))
	if after := d.history(t); !reflect.DeepEqual(before, after) {
		t.Errorf("the run had %d events and has %d", len(before), len(after))
	}
	if now, err := os.Stat(d.effect("t1")); err != nil || now.Size() != info.Size() {
		t.Errorf("there were %d bytes of ticks, and are %d (%v)", info.Size(), now.Size(), err)
	}
	must(t, first.end())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// history is the list of the newest run's events.
func (d *driver) history(t *testing.T) []doc {
	t.Helper()
	events, err := d.list(d.ctx, d.path()+"/events")
	must(t, err)
	return events
}
