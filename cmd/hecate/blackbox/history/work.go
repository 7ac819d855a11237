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

// approval is what a person was asked.
type approval struct {
	digest   string
	calls    map[string]bool // nil for a gate before a command
	decision string
}

// work is what a run's tools did and were allowed to.
type work struct {
	approvals map[string]*approval
	asked     string // pending approval
	begun     map[local]string
	settled   map[local]bool
	inherited map[string]bool // calls that an earlier run had dispatched and not settled
	from      string          // that run
	outcomes  map[string]string
}

func newWork() work {
	return work{approvals: map[string]*approval{}, begun: map[local]string{}, settled: map[local]bool{}, inherited: map[string]bool{}, outcomes: map[string]string{}}
}

func (w *work) apply(c *checker, s *run, r Record, f facts) {
	switch r.Type {
	case "conversation.inherited":
		w.from = f.FromRunID
		if f.Pending != nil {
			for _, id := range f.Pending.Begun {
				w.inherited[id] = true
			}
		}
	case "approval.requested":
		w.ask(c, r, f)
	case "approval.resolved":
		w.answer(c, r, f)
	case "tool.dispatch.intended":
		w.intend(c, s, r, f)
	case "tool.dispatch.settled":
		w.settle(c, r, f)
	}
}

func (w *work) ask(c *checker, r Record, f facts) {
	if w.asked != "" || w.approvals[f.ApprovalID] != nil {
		c.wrong(r, "approval %s is asked for while %q is pending", f.ApprovalID, w.asked)
	}
	a := &approval{digest: f.Digest}
	for _, asked := range f.Calls {
		if a.calls == nil {
			a.calls = map[string]bool{}
		}
		a.calls[asked.ID] = true
	}
	w.approvals[f.ApprovalID], w.asked = a, f.ApprovalID
}

func (w *work) answer(c *checker, r Record, f facts) {
	a := w.approvals[f.ApprovalID]
	if a == nil || w.asked != f.ApprovalID {
		c.wrong(r, "pending is %q", w.asked)
		return
	}
	if f.Decision == "approved" && f.Digest != a.digest {
		c.wrong(r, "something else was approved than was asked for")
	}
	a.decision, w.asked = f.Decision, ""
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
	if w.asked != "" {
		c.wrong(r, "approval %s is pending", w.asked)
	}
	w.begun[k] = f.ApprovalID
	asks := f.Ruling != nil && f.Ruling.Decision == "ask"
	if !asks && f.ApprovalID == "" {
		return
	}
	a := w.approvals[f.ApprovalID]
	if a == nil || a.decision != "approved" || a.calls != nil && !a.calls[f.CallID] {
		c.wrong(r, "call %s was not approved: %+v", f.CallID, a)
	}
}

func (w *work) settle(c *checker, r Record, f facts) {
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
