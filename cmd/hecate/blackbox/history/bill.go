package history

const picoPerMicro = 1_000_000

// bill is what a run's model calls were and cost.
type bill struct {
	prior, spent int64 // pico-USD
	atEnd        int64 // prior and spent when the run ended
	budget       int64 // micro-USD, 0 for none
	open         int64 // index of the call without an answer, 0 for none
	answered     int64 // calls with an answer
	accounted    int64 // of them, those with an account
	over         bool
}

// begin takes over the bill of the run that this one follows.
func (s *run) begin(c *checker, r Record, f facts) {
	s.prior, s.budget = f.Prior, f.Budget
	if f.Source == nil || f.Source.Kind == "retry" {
		if f.Prior != 0 {
			c.wrong(r, "%d pico-USD come from nowhere", f.Prior)
		}
		return
	}
	// What a call cost that was answered after its run's end may come too late for this.
	from := c.run(f.Source.RunID)
	if from.ended == "" || f.Prior < from.atEnd || f.Prior > from.prior+from.spent {
		c.wrong(r, "%d pico-USD are taken over from a bill of %d, %d at its end", f.Prior, from.prior+from.spent, from.atEnd)
	}
}

func (b *bill) apply(c *checker, r Record, f facts) {
	switch r.Type {
	case "model.call.started":
		if b.open != 0 || f.Index != b.answered+1 {
			c.wrong(r, "call %d begins after %d answers, call %d is open", f.Index, b.answered, b.open)
		}
		if b.budget > 0 && b.prior+b.spent >= b.budget*picoPerMicro {
			c.wrong(r, "%d pico-USD of %d micro-USD are spent", b.prior+b.spent, b.budget)
		}
		b.open = f.Index
	case "model.response.recorded":
		b.close(c, r, f)
		b.answered = f.Index
	case "model.call.abandoned", "model.call.failed":
		if b.open != 0 || r.Type == "model.call.abandoned" { // a call that found no provider was never begun
			b.close(c, r, f)
		}
	case "model.call.completed":
		b.charge(c, r, f)
	case "run.finished", "run.failed", "run.cancelled":
		b.atEnd, b.over = b.prior+b.spent, true
	}
}

func (b *bill) close(c *checker, r Record, f facts) {
	if f.Index != b.open {
		c.wrong(r, "call %d ends, call %d is open", f.Index, b.open)
	}
	b.open = 0
}

// charge adds up. An answer that came after the end of the run has an account and
// is no part of the conversation.
func (b *bill) charge(c *checker, r Record, f facts) {
	if f.Index != b.accounted+1 || !b.over && f.Index != b.answered {
		c.wrong(r, "call %d is accounted for after %d accounts and %d answers", f.Index, b.accounted, b.answered)
	}
	b.accounted = f.Index
	if f.Pico < 0 {
		c.wrong(r, "it cost %d", f.Pico)
	}
	b.spent += f.Pico
	if f.RunMicro != micro(b.spent) || f.TaskMicro != micro(b.prior+b.spent) {
		c.wrong(r, "the sums are %d and %d, and said to be %d and %d", micro(b.spent), micro(b.prior+b.spent), f.RunMicro, f.TaskMicro)
	}
}

// micro rounds half up.
func micro(pico int64) int64 { return (pico + picoPerMicro/2) / picoPerMicro }
