package sqlite

import (
	"math"
	"sync"

	"hecate/eventstore"
)

// recentMax is how many records may stand in the log before the table of streams
// knows them.
const recentMax = 4096

// recentStreams knows where the records stand that are not in the table of streams
// yet. The appender writes it, readers read it.
type recentStreams struct {
	mu      sync.RWMutex
	streams map[string]*recentStream
	count   int
}

// recentStream is the end of one stream.
type recentStream struct {
	first     int64   // version of the first position
	positions []int64 // one for each version
}

// add remembers records that are in the log now.
func (s *recentStreams) add(records []eventstore.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams == nil {
		s.streams = map[string]*recentStream{}
	}
	for _, r := range records {
		end := s.streams[r.Stream]
		if end == nil {
			end = &recentStream{first: r.Version}
			s.streams[r.Stream] = end
		}
		end.positions = append(end.positions, r.Position)
	}
	s.count += len(records)
}

// full reports whether it is time for the table.
func (s *recentStreams) full() bool { return s.count >= recentMax }

// forget is called when the table knows everything.
func (s *recentStreams) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams, s.count = nil, 0
}

// version returns the stream's version, if it is known here.
func (s *recentStreams) version(stream string) (int64, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	end := s.streams[stream]
	if end == nil {
		return 0, false
	}
	return end.first + int64(len(end.positions)) - 1, true
}

// after returns up to limit positions of versions beyond after, and the first
// version that is known here: what is before it stands in the table. A reader that
// asks here first and the table second misses nothing, whatever is moved meanwhile.
func (s *recentStreams) after(stream string, after int64, limit int) (first int64, positions []int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	end := s.streams[stream]
	if end == nil {
		return math.MaxInt64, nil
	}
	from := min(max(0, after+1-end.first), int64(len(end.positions)))
	to := min(from+int64(max(0, limit)), int64(len(end.positions)))
	return end.first, end.positions[from:to:to]
}
