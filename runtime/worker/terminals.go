package worker

import (
	"context"
	"encoding/json"

	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/tools"
	"hecate/tools/terminal"
)

// What runs leave running between their calls belongs to the tenure: it ends with that at
// the latest. A run that is parked keeps it, although no worker has the run; whoever has a
// run when it ends, or hands it back, ends it before.

// shut ends everything that is left running, and waits for what is given back with it.
func (t *tenure) shut() {
	t.terminals.Shut()
	t.kept.Wait()
}

// fence lets nothing be opened any more and ends what parked runs have left running: the
// process that has it stops. Runs that are being executed end it when they are handed back.
func (p *Pool) fence(t *tenure) {
	t.terminals.Fence()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range t.terminals.Runs() {
		if h := p.state[id]; h == nil || h.cancel == nil {
			t.terminals.Kill(id)
		}
	}
}

// leave ends what a run has left running here if another worker has claimed it.
func (t *tenure) leave(id string, r eventstore.Record) {
	if !t.terminals.Has(id) {
		return
	}
	p, err := event.Decode(r.Type, r.Schema, r.Data, nil)
	if c, ok := p.(run.Claimed); err == nil && ok && c.Instance == t.instance {
		return
	}
	t.retire(id)
}

// retire ends what a run that nobody executes here has left running, and forgets it when
// nothing of it is left: until then the workspace is not free.
func (t *tenure) retire(id string) {
	if !t.terminals.Has(id) {
		return
	}
	t.terminals.Kill(id)
	t.kept.Go(func() { t.terminals.Retire(id) })
}

// terminals are those of the run.
func (a *attempt) terminals() *terminal.Run { return a.t.terminals.Of(a.s.ID) }

// opened reports whether a step of the run could have opened the terminal.
func (a *attempt) opened(id string) bool {
	for n := int64(1); n <= a.s.Steps; n++ {
		if terminal.IDOf(a.s.ID, a.s.StepID(n)) == id {
			return true
		}
	}
	return false
}

// polled is the terminal that a call looks at, if its process still runs; else "".
func (a *attempt) polled(c run.ToolCall) string {
	if repetition.KindOf(c.Name, true) != repetition.Poll {
		return ""
	}
	var in struct {
		TerminalID string `json:"terminal_id"`
	}
	if err := json.Unmarshal(argumentsOf(c), &in); err != nil {
		return ""
	}
	t, ok := a.terminals().Get(in.TerminalID)
	if !ok {
		return ""
	}
	if _, ended := t.Result(); ended {
		return ""
	}
	return t.ID()
}

// handle runs a call's handler. One that only waits for a process does so until the worker
// stops: nothing is lost with it.
func (a *attempt) handle(ctx context.Context, c run.ToolCall, p prepared, env *tools.Env) tools.Result {
	if c.Name == "terminal_wait" {
		var stop context.CancelFunc
		ctx, stop = a.untilTold(ctx)
		defer stop()
	}
	return safely(ctx, p.Prepared, env)
}

// leaveLocks leaves the execution locks of a call to the terminal that it has opened. They
// are held until that has ended (permission text, execution locks).
func (a *attempt) leaveLocks(step string) {
	if a.locks.call == "" {
		return
	}
	t, ok := a.terminals().OpenedBy(step)
	if !ok {
		return
	}
	pool, tenure, holder := a.Pool, a.t, eventstore.Holder{Run: a.s.ID, Call: a.locks.step}
	a.locks = locks{}
	tenure.kept.Go(func() {
		<-t.Done()
		if tenure.lease.Valid() {
			pool.drop(context.Background(), holder)
		}
	})
}

// endTerminals ends what the run has left running, and keeps the last that each process
// has written.
func (a *attempt) endTerminals() []event.Payload {
	all := a.t.terminals.Close(a.s.ID)
	terminal.Gone(all)
	var out []event.Payload
	for _, t := range all {
		text, _ := t.Tail(terminal.RetainedMax)
		if text == "" {
			continue
		}
		out = append(out, run.ArtifactRecorded{
			ArtifactID: ident.Derive("artifact", a.s.ID, t.ID()), StepID: t.Step(), Kind: "stdout", Name: "terminal.txt",
			Description: "Last output of " + tools.Valid(t.Name()), MIMEType: "text/plain", Status: "ready", Content: event.NewText(text),
		})
	}
	return out
}
