package runner

import (
	"context"
	"math"
)

// Status is where a read model stands.
type Status struct {
	Model      string    `json:"model"`
	Version    int64     `json:"version"`
	Generation int64     `json:"generation"` // counts builds of this version
	Position   int64     `json:"position"`   // everything up to here is visible
	Lag        int64     `json:"lag"`        // records of the log after that
	Parked     int64     `json:"parked"`     // streams that the model could not take
	Streams    []Parked  `json:"parked_streams,omitempty"`
	Rebuilding *Progress `json:"rebuilding,omitempty"` // a build beside the visible one
	Trouble    string    `json:"trouble,omitempty"`    // why it stands still, where somebody outside is to blame
}

// Parked is a stream that a model could not take. It gets another try at each start.
type Parked struct {
	Stream   string `json:"stream"`
	Position int64  `json:"position"` // of the first event that is not in the rows
	Error    string `json:"error"`
	Attempts int64  `json:"attempts"`
}

// Progress is how far a rebuild has come.
type Progress struct {
	Model    string `json:"model"`
	Position int64  `json:"position"`
	Head     int64  `json:"head"`
}

// Status tells where each model stands.
func (r *Runner) Status(ctx context.Context) ([]Status, error) {
	head, err := r.log.Head(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Status, len(r.models))
	for i, p := range r.models {
		position, parked := p.gate.get(), *p.parked.Load()
		out[i] = Status{
			Model: p.model.Name(), Version: p.model.Version(), Generation: p.generation.Load(),
			Position: position, Lag: max(head-position, 0), Parked: int64(len(parked)), Streams: parked, Rebuilding: p.building.Load(),
		}
	}
	return out, nil
}

// WaitFor returns once the named models, or all if none is named, show everything
// up to the position. It returns ctx's error if that takes longer.
func (r *Runner) WaitFor(ctx context.Context, position int64, models ...string) error {
	return r.each(models, func(p *projection) error { return p.gate.wait(ctx, position) })
}

// Position returns the position up to which the named models, or all if none is
// named, show everything. An answer that is read after the call is at least that new.
func (r *Runner) Position(models ...string) (int64, error) {
	lowest := int64(math.MaxInt64)
	err := r.each(models, func(p *projection) error {
		lowest = min(lowest, p.gate.get())
		return nil
	})
	return lowest, err
}

func (r *Runner) each(models []string, f func(*projection) error) error {
	if len(models) == 0 {
		for _, p := range r.models {
			if err := f(p); err != nil {
				return err
			}
		}
		return nil
	}
	for _, name := range models {
		p, err := r.find(name)
		if err != nil {
			return err
		}
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}
