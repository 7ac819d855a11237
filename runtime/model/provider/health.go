package provider

import (
	"sync"
	"time"
)

const (
	thresholdDefault = 3
	cooldownDefault  = 30 * time.Second
	// cooldownMax bounds what a provider can make of Retry-After: a wrong header
	// must not shut it out for a day.
	cooldownMax = 10 * time.Minute
	// probeLook is how soon it is worth asking again while a probe is out.
	probeLook = 2 * time.Second
)

// Health is the rules by which a failing provider is left alone for a while. It
// is per process: every node finds out for itself.
type Health struct {
	Threshold int           // consecutive failures that open the circuit; 0: 3
	Cooldown  time.Duration // how long it stays open; 0: 30 s
	SlowAfter time.Duration // an answer that takes this long makes the provider degraded; 0: none does
}

func (h Health) withDefaults() Health {
	if h.Threshold == 0 {
		h.Threshold = thresholdDefault
	}
	if h.Cooldown == 0 {
		h.Cooldown = cooldownDefault
	}
	return h
}

// States of a provider's health.
const (
	HealthUnknown  = "unknown"   // nothing was asked of it
	HealthHealthy  = "healthy"   // the last answer came in time
	HealthDegraded = "degraded"  // the last call failed or was slow
	HealthOpen     = "open"      // it is left alone until the cool-down is over
	HealthHalfOpen = "half_open" // the cool-down is over and nothing has come of it yet
)

// circuit is what is known about a provider's health.
type circuit struct {
	rules Health

	mu       sync.Mutex
	opened   time.Time // zero: closed
	until    time.Time // when the cool-down ends
	probed   time.Time // a probe is out, and taken for lost from then on; zero: none is
	troubled time.Time // of the last failure or slow answer, zero after a good one
	figures  figures
}

// figures is what is shown of it.
type figures struct {
	Consecutive  int // failures since the last answer
	Successes    int64
	Failures     int64
	Timeouts     int64
	ServerErrors int64
	RateLimits   int64

	LastError string
	LastClass string
	Latency   time.Duration // of the last answer
	Checked   time.Time     // zero: never
	OpenUntil time.Time     // zero: the circuit is closed
	Limited   bool          // it was opened by a rate limit
	Slow      bool          // the last answer was slow
}

// standing is how a provider stands in the order of candidates.
type standing int

const (
	steady  standing = iota
	probing          // may be asked, by one caller
	upset            // failed lately: behind the others
	blocked          // may not be asked
)

// stand returns the standing and, for a blocked one, when to look again.
func (c *circuit) stand(now time.Time) (standing, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.opened.IsZero():
		if !c.troubled.IsZero() && now.Sub(c.troubled) < c.rules.Cooldown {
			return upset, time.Time{}
		}
		return steady, time.Time{}
	case now.Before(c.until):
		return blocked, c.until
	case now.Before(c.probed):
		look := now.Add(probeLook)
		if c.probed.Before(look) {
			look = c.probed
		}
		return blocked, look
	}
	return probing, time.Time{}
}

// claim takes the one probe of a half-open circuit. A probe that nobody reports
// on is given out again after another cool-down.
func (c *circuit) claim(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened.IsZero() || now.Before(c.until) || now.Before(c.probed) {
		return c.opened.IsZero()
	}
	c.probed = now.Add(c.rules.Cooldown)
	return true
}

// report takes in the outcome of a call that ends now and returns the history
// events it makes.
func (c *circuit) report(took time.Duration, err error, now time.Time) []string {
	o := outcomeOf(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	late := now.Add(-took).Before(c.opened) // it began before the circuit opened, so it proves nothing
	if o.ignored {
		if !late {
			c.probed = time.Time{}
		}
		return nil
	}
	c.figures.Checked = now
	if err == nil {
		return c.succeed(took, late, now)
	}
	return append([]string{EventFailure}, c.fail(o, late, now)...)
}

func (c *circuit) succeed(latency time.Duration, late bool, now time.Time) (events []string) {
	k := &c.figures
	k.Successes++
	k.Latency, k.Slow = latency, c.rules.SlowAfter > 0 && latency >= c.rules.SlowAfter
	recovering := k.Consecutive > 0
	if !late {
		if !c.opened.IsZero() {
			events = append(events, EventRecovered)
			recovering = false
		}
		c.settle()
	}
	switch {
	case k.Slow:
		c.troubled = now
		events = append(events, EventSlowSuccess)
	case recovering:
		events = append(events, EventSuccess)
	}
	return events
}

// settle closes the circuit.
func (c *circuit) settle() {
	c.opened, c.until, c.probed, c.troubled = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	c.figures.Consecutive, c.figures.OpenUntil, c.figures.Limited = 0, time.Time{}, false
}

func (c *circuit) fail(o outcome, late bool, now time.Time) []string {
	c.count(o)
	if o.answered { // a refusal of this request comes from a provider that works
		recovered := !c.opened.IsZero() && !late
		if !late {
			c.settle()
		}
		if recovered {
			return []string{EventRecovered}
		}
		return nil
	}
	if o.passing {
		c.figures.Consecutive++
	}
	c.troubled = now
	open := !c.opened.IsZero()
	wait := c.rules.Cooldown
	if o.class == ClassRateLimited && o.wait > 0 {
		wait = min(o.wait, cooldownMax)
	}
	switch {
	case open && late:
		if o.class == ClassRateLimited && now.Add(wait).After(c.until) {
			c.until, c.figures.OpenUntil = now.Add(wait), now.Add(wait)
		}
		return nil
	case !open && o.class != ClassRateLimited && c.figures.Consecutive < c.rules.Threshold:
		return nil
	}
	c.opened, c.until, c.probed = now, now.Add(wait), time.Time{}
	c.figures.OpenUntil, c.figures.Limited = c.until, o.class == ClassRateLimited
	return []string{EventOpened}
}

func (c *circuit) count(o outcome) {
	k := &c.figures
	k.Failures++
	k.LastError, k.LastClass = o.message, o.class
	switch o.class {
	case ClassTimeout:
		k.Timeouts++
	case ClassServerError:
		k.ServerErrors++
	case ClassRateLimited:
		k.RateLimits++
	}
}

// look returns the figures and the state.
func (c *circuit) look(now time.Time) (figures, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch k := c.figures; {
	case !c.opened.IsZero() && now.Before(c.until):
		return k, HealthOpen
	case !c.opened.IsZero():
		return k, HealthHalfOpen
	case !c.troubled.IsZero():
		return k, HealthDegraded
	case k.Checked.IsZero():
		return k, HealthUnknown
	default:
		return k, HealthHealthy
	}
}
