package terminal

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Limits of one run.
const (
	OpenMax = 16 // processes at a time
	keptMax = 64 // terminals that can be looked at, ended ones included
)

// CloseMax is how long it takes at most until nothing is left of terminals that were closed.
const CloseMax = 2 * time.Second

var (
	// ErrFenced says that nothing is opened any more, because the worker stops.
	ErrFenced = errors.New("the server is stopping; no terminals are opened")
	// ErrTooMany says that a run has as many processes as it may.
	ErrTooMany = fmt.Errorf("the run has %d open terminals, as many as it may; kill one first", OpenMax)
)

// Registry is all that one worker has open. It is safe for concurrent use, and holds
// nothing for runs that have opened nothing.
type Registry struct {
	mu     sync.Mutex
	runs   map[string]*handles
	fenced bool
}

// handles are the terminals of one run, in the order in which they were opened.
type handles struct {
	list     []*Terminal
	starting int
}

// NewRegistry makes an empty one.
func NewRegistry() *Registry { return &Registry{runs: map[string]*handles{}} }

// Of gives access to the terminals of one run, and to no others.
func (r *Registry) Of(run string) *Run { return &Run{r, run} }

// Fence lets nothing be opened any more. What is open stays open.
func (r *Registry) Fence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fenced = true
}

// Retire ends all processes of a run, waits until nothing is left of them, and forgets its
// terminals. It is for runs that open none any more.
func (r *Registry) Retire(run string) {
	r.mu.Lock()
	var all []*Terminal
	if h := r.runs[run]; h != nil {
		all = slices.Clone(h.list)
	}
	r.mu.Unlock()
	for _, t := range all {
		t.Kill()
	}
	Gone(all)
	r.Close(run)
}

// Has reports whether a run has terminals, ended ones included.
func (r *Registry) Has(run string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[run] != nil
}

// Runs lists the runs that have terminals.
func (r *Registry) Runs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]string, 0, len(r.runs))
	for id := range r.runs {
		out = append(out, id)
	}
	return out
}

// Kill ends all processes of a run, whose terminals can still be looked at. It does not wait.
func (r *Registry) Kill(run string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.runs[run]; h != nil {
		for _, t := range h.list {
			t.Kill()
		}
	}
}

// Close ends all processes of a run and forgets its terminals, which it returns, ended
// ones included. It does not wait, see Terminal.Done.
func (r *Registry) Close(run string) []*Terminal {
	r.mu.Lock()
	h := r.runs[run]
	delete(r.runs, run)
	r.mu.Unlock()
	if h == nil {
		return nil
	}
	for _, t := range h.list {
		t.Kill()
	}
	return h.list
}

// Shut fences the registry, closes the terminals of all runs and waits until nothing is left of them.
func (r *Registry) Shut() {
	r.Fence()
	var all []*Terminal
	for _, run := range r.Runs() {
		all = append(all, r.Close(run)...)
	}
	Gone(all)
}

// Gone waits until nothing is left of terminals that were closed, CloseMax at most.
func Gone(all []*Terminal) {
	timer := time.NewTimer(CloseMax)
	defer timer.Stop()
	for _, t := range all {
		select {
		case <-t.Done():
		case <-timer.C:
			return
		}
	}
}

// Run is the terminals of one run.
type Run struct {
	registry *Registry
	id       string
}

// Open starts a process. Errors: ErrFenced, ErrTooMany, and what process.Start returns.
func (r *Run) Open(s Spec) (*Terminal, error) {
	h, err := r.registry.reserve(r.id)
	if err != nil {
		return nil, err
	}
	t, err := start(s)
	r.registry.mu.Lock()
	defer r.registry.mu.Unlock()
	h.starting--
	current := r.registry.runs[r.id] == h
	if err != nil {
		if current && len(h.list)+h.starting == 0 {
			delete(r.registry.runs, r.id)
		}
		return nil, err
	}
	if !current { // closed meanwhile
		t.Kill()
		return nil, ErrFenced
	}
	h.list = append(h.list, t)
	return t, nil
}

// reserve makes room for one more process of a run.
func (r *Registry) reserve(run string) (*handles, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fenced {
		return nil, ErrFenced
	}
	h := r.runs[run]
	if h == nil {
		h = &handles{}
		r.runs[run] = h
	}
	open, ended := h.starting, -1
	for i, t := range h.list {
		if _, over := t.Result(); !over {
			open++
		} else if ended < 0 {
			ended = i
		}
	}
	if open >= OpenMax {
		return nil, ErrTooMany
	}
	if len(h.list)+h.starting >= keptMax && ended >= 0 {
		h.list = append(h.list[:ended:ended], h.list[ended+1:]...) // the oldest that nothing more will come of
	}
	h.starting++
	return h, nil
}

// Get finds a terminal of the run by its id.
func (r *Run) Get(id string) (*Terminal, bool) {
	return r.find(func(t *Terminal) bool { return t.id == id })
}

// Any reports whether the run has a terminal, also one whose program has ended.
func (r *Run) Any() bool {
	_, ok := r.find(func(*Terminal) bool { return true })
	return ok
}

// OpenedBy finds the terminal that a step has opened.
func (r *Run) OpenedBy(step string) (*Terminal, bool) {
	return r.find(func(t *Terminal) bool { return t.step == step })
}

func (r *Run) find(is func(*Terminal) bool) (*Terminal, bool) {
	r.registry.mu.Lock()
	defer r.registry.mu.Unlock()
	if h := r.registry.runs[r.id]; h != nil {
		for _, t := range h.list {
			if is(t) {
				return t, true
			}
		}
	}
	return nil, false
}
