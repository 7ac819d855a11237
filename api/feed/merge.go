package feed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"hecate/eventstore"
)

// merge reads several streams as one, in order of position. What is appended
// meanwhile is left for the next time: the streams are read one after the other, so a
// newer record of one could otherwise come before an older one of another.
type merge struct {
	log     Log
	after   int64
	limit   int
	head    int64     // of the log when the merge began
	pending []*source // not looked at yet, in order of floor
	open    []*source
}

// source is one stream under a merge.
type source struct {
	stream  string
	floor   int64 // no record stands before this position
	version int64 // of the last record in buffer, or before the first
	buffer  []eventstore.Record
}

func (m *merge) add(stream string, floor int64) {
	m.pending = append(m.pending, &source{stream: stream, floor: floor})
}

// readRuns returns the records of a task's runs, which were opened in this order.
func readRuns(ctx context.Context, log Log, runs []openedRun, after int64, limit int) ([]eventstore.Record, error) {
	m := merge{log: log, after: after, limit: limit}
	for _, o := range runs {
		// A run's first events stand in the batch that opened it, hence not far before.
		floor := o.position - eventstore.EventsMax
		m.add("run-"+o.id, floor)
		m.add("external-"+o.id, floor)
	}
	return m.read(ctx)
}

// read returns the records after the position, up to the limit.
func (m *merge) read(ctx context.Context) ([]eventstore.Record, error) {
	var err error
	if m.head, err = m.log.Head(ctx); err != nil {
		return nil, err
	}
	var out []eventstore.Record
	for len(out) < m.limit {
		s, err := m.lowest(ctx)
		if err != nil {
			return nil, err
		}
		if s == nil {
			break
		}
		out = append(out, s.buffer[0])
		s.buffer = s.buffer[1:]
		if len(s.buffer) == 0 && len(out) < m.limit {
			if err := m.fill(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// lowest returns the source whose next record comes first, nil if there is none.
// It opens those that may have it.
func (m *merge) lowest(ctx context.Context) (*source, error) {
	for {
		next, best := int64(math.MaxInt64), (*source)(nil)
		for _, s := range m.open {
			if p := s.buffer[0].Position; p < next {
				next, best = p, s
			}
		}
		if len(m.pending) == 0 || m.pending[0].floor > next {
			return best, nil
		}
		s := m.pending[0]
		m.pending = m.pending[1:]
		version, err := versionAt(ctx, m.log, s.stream, m.after)
		if err != nil {
			return nil, err
		}
		s.version = version
		m.open = append(m.open, s)
		if err := m.fill(ctx, s); err != nil {
			return nil, err
		}
	}
}

// fill reads on in s, and closes it at its end.
func (m *merge) fill(ctx context.Context, s *source) error {
	records, err := m.log.ReadStream(ctx, s.stream, s.version, min(m.limit, pageMax))
	if err != nil {
		return fmt.Errorf("read %s: %w", s.stream, err)
	}
	if records = upTo(records, m.head); len(records) == 0 {
		m.open = slices.DeleteFunc(m.open, func(o *source) bool { return o == s })
		return nil
	}
	s.buffer, s.version = records, records[len(records)-1].Version
	return nil
}

// upTo returns the records that stand not after a position.
func upTo(records []eventstore.Record, position int64) []eventstore.Record {
	n := sort.Search(len(records), func(i int) bool { return records[i].Position > position })
	return records[:n]
}

// versionAt returns the version of the stream's last record at or before a position.
// It probes single records: a page near the end of a long run costs no more than
// one at its start.
func versionAt(ctx context.Context, log Log, stream string, position int64) (int64, error) {
	if position <= 0 {
		return 0, nil
	}
	isAfter := func(version int64) (bool, error) {
		records, err := log.ReadStream(ctx, stream, version-1, 1)
		if err != nil {
			return false, fmt.Errorf("find position %d in %s: %w", position, stream, err)
		}
		return len(records) == 0 || records[0].Position > position, nil
	}
	low, high := int64(0), int64(1) // low is not after the position
	for {
		after, err := isAfter(high)
		if err != nil {
			return 0, err
		}
		if after {
			break
		}
		low, high = high, high*2
	}
	for low+1 < high {
		middle := low + (high-low)/2
		after, err := isAfter(middle)
		if err != nil {
			return 0, err
		}
		if after {
			high = middle
		} else {
			low = middle
		}
	}
	return low, nil
}
