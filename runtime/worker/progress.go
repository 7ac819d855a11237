package worker

import (
	"strings"
	"sync"
	"time"

	"hecate/domain/secret"
)

// Partial text is announced when this much has gathered or this long has passed.
const (
	progressBytes = 24
	progressEvery = 100 * time.Millisecond
)

// Progress holds the half-finished answers of running model calls. It is passing
// news: nothing decides on it, and it is gone when the answer is in the log.
type Progress struct {
	mu   sync.Mutex
	runs map[string]*partial // only of calls under way, so that watching a run costs nothing later
	idle chan struct{}       // closed and replaced when an answer begins to arrive

	began   func(runID string) // told when an answer begins to arrive; nil: nobody
	secrets *secret.Set        // withheld from the texts
}

type partial struct {
	text      strings.Builder
	secrets   *secret.Stream
	version   int64
	shown     int // bytes announced
	announced time.Time
	changed   chan struct{} // closed and replaced at each announcement
}

func newProgress(secrets *secret.Set) *Progress {
	return &Progress{runs: map[string]*partial{}, idle: make(chan struct{}), secrets: secrets}
}

// Partial returns the text so far of the run's model call and a number that grows
// with each announcement; "" if no answer is arriving.
func (p *Progress) Partial(runID string) (text string, version int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.runs[runID]; e != nil {
		return e.text.String(), e.version
	}
	return "", 0
}

// Changed returns a channel that is closed when the run's partial text has grown
// or has become part of the log. It may be closed for another run's sake.
func (p *Progress) Changed(runID string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.runs[runID]; e != nil {
		return e.changed
	}
	return p.idle
}

// Versions returns the runs whose answers are arriving, with the numbers of their
// last announcements.
func (p *Progress) Versions() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]int64, len(p.runs))
	for id, e := range p.runs {
		out[id] = e.version
	}
	return out
}

// OnBegin sets who is told when an answer begins to arrive. It must not block; set it
// before the pool runs.
func (p *Progress) OnBegin(f func(runID string)) { p.began = f }

func (p *Progress) add(runID, delta string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.runs[runID]
	if e == nil {
		e = &partial{changed: make(chan struct{}), secrets: p.secrets.Stream()}
		p.runs[runID] = e
		close(p.idle)
		p.idle = make(chan struct{})
		if p.began != nil {
			defer p.began(runID)
		}
	}
	e.text.WriteString(e.secrets.Write(delta))
	if e.text.Len()-e.shown >= progressBytes || now.Sub(e.announced) >= progressEvery {
		e.announce(now)
	}
}

func (e *partial) announce(now time.Time) {
	e.version++
	e.shown, e.announced = e.text.Len(), now
	close(e.changed)
	e.changed = make(chan struct{})
}

// drop forgets the run's text and wakes who waits for more of it.
func (p *Progress) drop(runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.runs[runID]; e != nil {
		close(e.changed)
		delete(p.runs, runID)
	}
}
