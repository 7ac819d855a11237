package stream

import (
	"sync"

	"hecate/projections"
)

// rooms are the runs that have followers. The zero value is ready.
type rooms struct {
	mu   sync.Mutex
	open map[string]*room
}

// room is what the followers of one run share: what the read models said last. Many
// followers ask no more often than one.
type room struct {
	followers int // rooms.mu guards it

	mu    sync.Mutex // held while one asks for all
	row   projections.Run
	rowAt int64 // the row shows at least this position; 0 if there is none
	last  *picture
}

// enter returns the room of a run. Call leave once.
func (s *rooms) enter(runID string) (r *room, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]*room{}
	}
	if r = s.open[runID]; r == nil {
		r = &room{}
		s.open[runID] = r
	}
	r.followers++
	return r, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.followers--; r.followers == 0 {
			delete(s.open, runID)
		}
	}
}

// run returns the run as of a position or later.
func (r *room) run(position int64, ask func() (projections.Run, error)) (projections.Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rowAt >= position {
		return r.row, nil
	}
	row, err := ask()
	if err == nil {
		r.row, r.rowAt = row, position
	}
	return row, err
}

// picture returns the picture of a position that has a version of the half-finished
// answer, or nearly. It is nil if another follower has one of a later position
// already: then there are events to send first.
func (r *room) picture(position, version int64, paint func() (*picture, error)) (*picture, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.last.shows(position, version):
		return r.last, nil
	case r.last != nil && r.last.position > position:
		return nil, nil
	}
	p, err := paint()
	if err != nil {
		return nil, err
	}
	p.version = version
	r.last = p
	return p, nil
}
