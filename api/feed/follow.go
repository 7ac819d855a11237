package feed

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hecate/eventstore"
)

// Follower reads the records of one run from its beginning, the callers' among them,
// in order of position. It is used by one goroutine at a time.
type Follower struct {
	log      Log
	streams  [2]string
	versions [2]int64 // of the last record that Next has returned
}

// Follow returns a follower of a run.
func (r *Reader) Follow(runID string) *Follower {
	return &Follower{log: r.log, streams: [2]string{"run-" + runID, "external-" + runID}}
}

// Take returns the run's records among items of a hub that follow on what was returned
// before, without asking the log. ok is false if one is missing between: use Next.
func (f *Follower) Take(items []*Item) (records []eventstore.Record, ok bool) {
	for _, item := range items {
		i := slices.Index(f.streams[:], item.record.Stream)
		switch {
		case i < 0 || item.record.Version <= f.versions[i]:
			continue
		case item.record.Version > f.versions[i]+1:
			return records, false
		}
		f.versions[i]++
		records = append(records, item.record)
	}
	return records, true
}

// Next reads the next records; none if there are no more yet.
func (f *Follower) Next(ctx context.Context) ([]eventstore.Record, error) {
	bound, err := f.log.Head(ctx) // see merge
	if err != nil {
		return nil, err
	}
	var pages [2][]eventstore.Record
	for i, stream := range f.streams {
		if pages[i], err = f.log.ReadStream(ctx, stream, f.versions[i], pageMax); err != nil {
			return nil, fmt.Errorf("read %s: %w", stream, err)
		}
		if n := len(pages[i]); n == pageMax { // there may be more, before what the other has
			bound = min(bound, pages[i][n-1].Position)
		}
	}
	var out []eventstore.Record
	for i := range pages {
		page := upTo(pages[i], bound)
		if n := len(page); n > 0 {
			f.versions[i] = page[n-1].Version
		}
		out = append(out, page...)
	}
	slices.SortFunc(out, func(a, b eventstore.Record) int { return cmp.Compare(a.Position, b.Position) })
	return out, nil
}
