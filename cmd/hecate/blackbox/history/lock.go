package history

// hold is a call's hold on an execution lock, from its intent to its settlement.
type hold struct {
	run, call string
	with      []string // calls of other runs that were begun with the same lock meanwhile
}

// take notes that a call is dispatched with locks.
func (c *checker) take(s *run, f facts) {
	for _, name := range f.Locks {
		for _, h := range c.held[name] {
			if h.run != s.id {
				h.with = append(h.with, "call "+f.CallID+" of run "+s.id)
			}
		}
		c.held[name] = append(c.held[name], &hold{run: s.id, call: f.CallID})
	}
}

// give ends a call's holds. A call with a known outcome held its locks until then. One
// whose outcome is unknown may have lost them with its worker at any time before.
func (c *checker) give(s *run, r Record, f facts) {
	for name, holds := range c.held {
		var left []*hold
		for _, h := range holds {
			if h.run != s.id || h.call != f.CallID {
				left = append(left, h)
				continue
			}
			if f.Outcome != "unknown" {
				for _, other := range h.with {
					c.wrong(r, "call %s held lock %s, and so did %s", f.CallID, name, other)
				}
			}
		}
		c.held[name] = left
	}
}
