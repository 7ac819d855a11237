package history

import "strings"

// run is what the log says of one run.
type run struct {
	id, task string
	number   int64
	created  bool
	ended    string // completed, failed or cancelled
	status   string

	node  string // that has the run, or had it when it ended; "" for none
	epoch int64
	gap   string // node that noted a gap and is to claim next

	work
	changes
	bill
}

func (c *checker) run(id string) *run {
	r := c.runs[id]
	if r == nil {
		r = &run{id: id, work: newWork()}
		c.runs[id] = r
	}
	return r
}

var endings = map[string]string{"run.finished": "completed", "run.failed": "failed", "run.cancelled": "cancelled"}

// late are the events that may follow the end of a run: what had happened, and what
// people found out. The end of a cancelled run is told to its task's followers, and
// puts the model call that it cut off on the bill.
const late = " tool.shell.output_chunk tool.shell.exited tool.completed tool.failed tool.cancelled tool.timed_out tool.file.patch" +
	" tool.dispatch.settled artifact.recorded model.call.completed model.call.abandoned task.updated tool.outcome.stated" +
	" workspace.changed workspace.taken workspace.restored tool.file.applied tool.file.reverted "

func (s *run) apply(c *checker, r Record, f facts) {
	if s.created == (r.Type == "run.created") {
		c.wrong(r, "the run was created before: %v", s.created)
	}
	if s.ended != "" && !strings.Contains(late, " "+r.Type+" ") {
		c.wrong(r, "the run has ended as %s", s.ended)
	}
	s.fence(c, r)
	if end := endings[r.Type]; end != "" {
		s.end(c, r, end)
	}
	switch r.Type {
	case "run.created":
		s.created, s.task, s.number, s.status = true, f.TaskID, f.Number, f.Status
		s.begin(c, r, f)
	case "run.queued":
		s.status, s.node = "queued", ""
	case "run.claimed":
		s.claim(c, r, f)
	case "run.started":
		if s.status != "queued" {
			c.wrong(r, "the run is %s", s.status)
		}
		s.status = "running"
	case "run.awaiting_approval":
		if s.asked == "" {
			c.wrong(r, "nothing was asked for")
		}
		s.status, s.node = "awaiting_approval", ""
	case "gap.run_disconnected":
		s.status, s.node = "queued", ""
		if f.Action == "requeued" {
			s.gap = r.ActorName
		}
	}
	s.changes.apply(c, s, r, f)
	s.work.apply(c, s, r, f)
	s.bill.apply(c, r, f)
}

// fence checks that what a worker records comes from the one that has the run.
func (s *run) fence(c *checker, r Record) {
	claims := r.Type == "run.claimed"
	if s.gap != "" && (!claims || r.ActorName != s.gap) {
		c.wrong(r, "%s noted a gap and did not claim the run", s.gap)
	}
	s.gap = ""
	if r.ActorKind != "worker" || claims || r.Type == "gap.run_disconnected" {
		return
	}
	if s.node != r.ActorName {
		c.wrong(r, "worker %s wrote it, the run is with %q under claim %d", r.ActorName, s.node, s.epoch)
	}
}

func (s *run) claim(c *checker, r Record, f facts) {
	if f.Epoch <= s.epoch {
		c.wrong(r, "claim %d follows claim %d", f.Epoch, s.epoch)
	}
	if of := c.epochs[f.Epoch]; of != "" {
		c.wrong(r, "run %s has the same epoch", of)
	}
	if f.NodeID != r.ActorName || s.status == "awaiting_approval" {
		c.wrong(r, "%s claims for %s what is %s", r.ActorName, f.NodeID, s.status)
	}
	c.epochs[f.Epoch] = s.id
	s.epoch, s.node = f.Epoch, f.NodeID
}

func (s *run) end(c *checker, r Record, as string) {
	if s.ended != "" {
		c.wrong(r, "it is the second end of the run")
	}
	if s.asked != "" {
		c.wrong(r, "approval %s is pending", s.asked)
	}
	if as == "completed" {
		for k := range s.begun {
			if _, settled := s.settled[k]; !settled {
				c.wrong(r, "call %s has no outcome", k.id)
			}
		}
	}
	s.ended, s.status = as, as
}
