package history

import "fmt"

// task is what the log says of one task.
type task struct {
	opened  map[string]int64 // numbers of its runs
	closed  map[string]string
	open    string
	last    int64
	budget  int64 // as raised, micro-USD
	deleted bool
}

func (c *checker) task(id string) *task {
	t := c.tasks[id]
	if t == nil {
		t = &task{opened: map[string]int64{}, closed: map[string]string{}}
		c.tasks[id] = t
	}
	return t
}

func (t *task) apply(c *checker, r Record, f facts) {
	if t.deleted {
		c.wrong(r, "the task was deleted")
	}
	switch r.Type {
	case "task.run.opened":
		if t.open != "" {
			c.wrong(r, "run %s is open still", t.open)
		}
		if f.Number != t.last+1 {
			c.wrong(r, "the run has number %d after %d", f.Number, t.last)
		}
		if _, again := t.opened[f.RunID]; again {
			c.wrong(r, "the run was opened before")
		}
		t.open, t.last, t.opened[f.RunID] = f.RunID, f.Number, f.Number
	case "task.run.closed":
		if t.open != f.RunID {
			c.wrong(r, "the open run is %q, not %s", t.open, f.RunID)
		}
		t.open, t.closed[f.RunID] = "", f.Status
	case "task.budget.raised":
		if f.Budget <= t.budget {
			c.wrong(r, "the ceiling goes from %d to %d", t.budget, f.Budget)
		}
		t.budget = f.Budget
	case "task.deleted":
		if t.open != "" {
			c.wrong(r, "run %s is open still", t.open)
		}
		t.deleted = true
	}
}

// pairs checks that tasks and runs tell the same story: a run and its place in its
// task begin together and end together.
func (c *checker) pairs() {
	for id, r := range c.runs {
		if !r.created {
			c.findings = append(c.findings, fmt.Sprintf("run-%s: it was never created", id))
			continue
		}
		t := c.task(r.task)
		if number, is := t.opened[id]; !is || number != r.number {
			c.findings = append(c.findings, fmt.Sprintf("run-%s: it has number %d, and %d in its task", id, r.number, number))
		}
		if t.closed[id] != r.ended {
			c.findings = append(c.findings, fmt.Sprintf("run-%s: it ended as %q, and as %q in its task", id, r.ended, t.closed[id]))
		}
	}
	for name, t := range c.tasks {
		for id := range t.opened {
			if c.runs[id] == nil || c.runs[id].task != name {
				c.findings = append(c.findings, fmt.Sprintf("task-%s: its run %s does not exist", name, id))
			}
		}
	}
}
