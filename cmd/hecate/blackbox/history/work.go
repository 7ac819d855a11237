package history

// call names one tool call: by the run whose model asked for it and the model call
// there, 0 for a run that is one command.
type call struct {
	run   string
	index int64
	id    string
}

// local names a call within the run that settles it: the index is 0 for an inherited one.
type local struct {
	index int64
	id    string
}

// work is what a run's tools did, and what they were allowed to.
type work struct {
	permits
	begun     map[local]string
	settled   map[local]bool
	inherited map[string]bool // calls that an earlier run had dispatched and not settled
	from      string          // that run
	outcomes  map[string]string
}

func newWork() work {
	return work{permits: newPermits(), begun: map[local]string{}, settled: map[local]bool{}, inherited: map[string]bool{}, outcomes: map[string]string{}}
}

func (w *work) apply(c *checker, s *run, r Record, f facts) {
	switch r.Type {
	case "conversation.inherited":
		w.from = f.FromRunID
		if f.Pending != nil {
			for _, id := range f.Pending.Begun {
				w.inherited[id] = true
			}
			w.bundles[0] = f.Pending.Calls
		}
	case "model.response.recorded":
		w.bundles[f.Index] = f.calls()
	case "approval.requested":
		w.ask(c, s, r, f)
	case "approval.resolved":
		w.answer(c, r, f)
	case "tool.dispatch.intended":
		w.intend(c, s, r, f)
	case "tool.dispatch.settled":
		w.settle(c, s, r, f)
	case "policy.tool_blocked":
		if !f.Ruling.whole() || f.Ruling.Decision != "deny" {
			c.wrong(r, "call %s is blocked after the ruling %+v", f.CallID, f.Ruling)
		}
	}
}

func (w *work) intend(c *checker, s *run, r Record, f facts) {
	origin := call{s.id, f.Index, f.CallID}
	if f.SourceRunID != "" {
		origin = call{f.SourceRunID, f.SourceIndex, f.CallID}
	}
	if in := c.intents[origin]; in != "" {
		c.wrong(r, "call %s was dispatched before, in run %s", f.CallID, in)
	}
	c.intents[origin] = s.id
	k := local{f.Index, f.CallID}
	if w.settled[k] || w.inherited[f.CallID] && f.Index == 0 && f.SourceRunID != "" {
		c.wrong(r, "call %s has been begun or settled", f.CallID)
	}
	w.begun[k] = f.ApprovalID
	w.allow(c, s, r, f)
	c.take(s, f)
}

func (w *work) settle(c *checker, s *run, r Record, f facts) {
	c.give(s, r, f)
	k := local{f.Index, f.CallID}
	if w.settled[k] {
		c.wrong(r, "call %s was settled before", f.CallID)
	}
	w.settled[k], w.outcomes[f.CallID] = true, f.Outcome
	_, begun := w.begun[k]
	never := f.Outcome == "blocked" || f.Outcome == "refused" || f.ErrorKind == "tool_dispatch_unavailable"
	// An inherited call is unknown, or ended as the run that had begun it recorded meanwhile.
	lost := w.inherited[f.CallID] && (f.Outcome == "unknown" || c.run(w.from).outcomes[f.CallID] == f.Outcome)
	switch {
	case begun && never:
		c.wrong(r, "call %s was begun and is settled as %s", f.CallID, f.Outcome)
	case !begun && !never && !lost:
		c.wrong(r, "call %s is settled as %s and was never begun", f.CallID, f.Outcome)
	}
}
