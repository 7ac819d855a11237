package history

// changes is what a run's snapshots say of its workspace.
type changes struct {
	last string // the snapshot after the last change
}

// apply checks that each change goes on from the one before, and stands between the
// beginning of the call that made it and its outcome. An operation compares with what it
// found, which people may have changed.
func (s *changes) apply(c *checker, of *run, r Record, f facts) {
	if r.Type != "workspace.changed" {
		return
	}
	if f.OperationID == "" && s.last != "" && f.Before != s.last {
		c.wrong(r, "it goes on from snapshot %q, the last one is %q", f.Before, s.last)
	}
	if f.CallID != "" && !of.underWay(f.CallID) {
		c.wrong(r, "call %s is not under way", f.CallID)
	}
	if f.After != "" {
		s.last = f.After
	}
}

// underWay reports whether a call of that name has begun and has no outcome.
func (w *work) underWay(id string) bool {
	for k := range w.begun {
		if k.id == id && !w.settled[k] {
			return true
		}
	}
	return false
}
