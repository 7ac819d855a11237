package history

import "strings"

// order checks the one order of the log and the order within each stream.
func (c *checker) order(records []Record) {
	versions := map[string]int64{}
	for i, r := range records {
		if r.Position != int64(i)+1 {
			c.wrong(r, "position %d was to be expected", i+1)
		}
		if versions[r.Stream]++; r.Version != versions[r.Stream] {
			c.wrong(r, "version %d was to be expected", versions[r.Stream])
			versions[r.Stream] = r.Version
		}
	}
}

// feed checks that clients are shown what the log holds of runs whose task was not
// deleted: everything, once, in order.
func (c *checker) feed(events []Event, records []Record) {
	shown := map[int64]Event{}
	last := int64(0)
	for _, e := range events {
		if e.Sequence <= last {
			c.findings = append(c.findings, "feed: an event is out of order or repeated: "+e.ID)
		}
		last = e.Sequence
		shown[e.Sequence] = e
	}
	for _, r := range records {
		kind, id, _ := strings.Cut(r.Stream, "-")
		e, is := shown[r.Position]
		delete(shown, r.Position)
		if kind != "run" && kind != "external" {
			if is {
				c.wrong(r, "the feed shows it as %s", e.Type)
			}
			continue
		}
		owner := c.run(id).task
		switch deleted := c.task(owner).deleted; {
		case is == deleted:
			c.wrong(r, "shown in the feed: %v; its task is deleted: %v", is, deleted)
		case is && (e.RunID != id || e.TaskID != owner || kind == "run" && e.Type != r.Type):
			c.wrong(r, "the feed shows it as %s of run %s of task %s", e.Type, e.RunID, e.TaskID)
		}
	}
	for _, e := range shown {
		c.findings = append(c.findings, "feed: the log has no such event: "+e.ID)
	}
}
