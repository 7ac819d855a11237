package builtin_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
	"hecate/tools/tooltest"
)

// A worker that lost its run has its command ended, and says so if anybody still asks.
func TestALostLeaseEndsTheCommand(t *testing.T) {
	why := "the worker lost its lease on the run, so the command was ended with its processes or not begun; it may have had part of its effect"
	for how, lose := range map[string]func(w *tooltest.Workspace, cancel context.CancelCauseFunc){
		"the lease is over":     func(w *tooltest.Workspace, _ context.CancelCauseFunc) { w.Env.Settings.Lease.End() },
		"the call is cancelled": func(_ *tooltest.Workspace, cancel context.CancelCauseFunc) { cancel(tools.ErrLeaseLost) },
	} {
		t.Run(how, func(t *testing.T) {
			w := tooltest.New(t)
			w.Env.Timeout, w.Env.Settings.Lease = time.Minute, process.NewLease()
			ctx, cancel := context.WithCancelCause(t.Context())
			w.Env.Emit = func(context.Context, event.Payload) error { lose(w, cancel); return nil }
			r := w.CallContext(ctx, tool(t, "shell_exec"), args{"command": "echo begun; sleep 300"})
			if r.Text != "status=failed\nerror="+why+"\n--- stdout ---\nbegun\n--- stderr ---\n" || r.ErrorText != why || r.ErrorKind != "lease_lost" ||
				r.Outcome != run.OutcomeFailed || r.ExitCode != -1 {
				t.Errorf("got %+v", r)
			}
			if end, ok := r.Facts[len(r.Facts)-1].(run.ToolFailed); !ok || end.Error != why || end.Cancelled || end.TimedOut {
				t.Errorf("got %v", kinds(r.Facts))
			}
		})
	}
}

// A lease that ends while new contents are being written beside their targets ends the
// change before anything takes its place.
func TestNothingIsChangedUnderALeaseThatIsOver(t *testing.T) {
	var patch strings.Builder
	patch.WriteString("*** Begin Patch\n")
	for i := range 200 {
		fmt.Fprintf(&patch, "*** Add File: f%d\n+%s\n", i, strings.Repeat("x", 40_000))
	}
	patch.WriteString("*** End Patch")
	for range 10 {
		w := tooltest.New(t)
		w.Env.Settings.Lease = process.NewLease()
		stop := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { endAtFirstFile(w, stop) })
		r := w.Call(tool(t, "apply_patch"), args{"patch_text": patch.String()})
		close(stop)
		watch.Wait()
		if r.Outcome == run.OutcomeCompleted {
			continue // it was too quick to be caught at it
		}
		left, err := os.ReadDir(w.Dir)
		if err != nil || len(left) > 0 || r.ErrorKind != "lease_lost" || len(r.Facts) > 0 ||
			r.Text != "apply_patch: the worker lost its lease on the run before the call was done; nothing was changed" {
			t.Errorf("%v: %d files are left: %+v", err, len(left), r)
		}
		return
	}
	t.Error("the lease never ended before the change was done")
}

func endAtFirstFile(w *tooltest.Workspace, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if found, _ := os.ReadDir(w.Dir); len(found) > 0 {
			w.Env.Settings.Lease.End()
			return
		}
	}
}
