package v1

import (
	"context"
	"fmt"
	"sync"
	"time"

	"hecate/domain/clock"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
)

const (
	// lingerMax is how long commands of a run may outlive it. A cancel is in the log before
	// the worker has heard of it, and anybody may cancel: a command could end its own run
	// and use the moment until it is killed.
	lingerMax = 5 * time.Second

	endsPage = 512    // records read at a time
	endsTail = 20_000 // records looked through at most; more within lingerMax count as "perhaps"
)

// ends knows which runs with network ended a moment ago.
type ends struct {
	log   eventstore.Store
	clock clock.Clock

	mu    sync.Mutex
	read  int64                // the log is known up to here
	blind time.Time            // ends up to here may have been missed
	runs  map[string]time.Time // streams of runs with network, with their ends
}

// recent reports whether a run with network ended within lingerMax, as far as the log
// says up to head. It says yes if there was too much to look through.
func (e *ends) recent(ctx context.Context, head int64) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	after := e.clock.Now().Add(-lingerMax)
	if err := e.catchUp(ctx, head, after); err != nil {
		return true, err
	}
	for stream, at := range e.runs {
		if at.Before(after) {
			delete(e.runs, stream)
		}
	}
	return len(e.runs) > 0 || e.blind.After(after), nil
}

// catchUp reads what was appended since the last look, the newest first, as far back
// as it matters.
func (e *ends) catchUp(ctx context.Context, head int64, after time.Time) error {
	for to, least := head, max(e.read, head-endsTail); to > least; {
		from := max(least, to-endsPage)
		records, err := e.log.ReadAll(ctx, from, int(to-from))
		if err != nil {
			return err
		}
		for _, r := range records {
			if err := e.note(ctx, r); err != nil {
				return err
			}
		}
		if len(records) == 0 || records[0].At.Before(after) {
			break
		}
		if to = from; to == least && least > e.read {
			e.blind = records[0].At
		}
	}
	e.read = max(e.read, head)
	return nil
}

// note keeps the end of a run with network.
func (e *ends) note(ctx context.Context, r eventstore.Record) error {
	switch r.Type {
	case run.Cancelled{}.EventType(), run.Failed{}.EventType(), run.Finished{}.EventType():
	default:
		return nil
	}
	first, err := e.log.ReadStream(ctx, r.Stream, 0, 1)
	if err != nil || len(first) == 0 {
		return err
	}
	p, err := event.Decode(first[0].Type, first[0].Schema, first[0].Data, nil)
	if err != nil {
		return fmt.Errorf("read the beginning of %s: %w", r.Stream, err)
	}
	if created, ok := p.(run.Created); ok && created.Spec.Network {
		e.runs[r.Stream] = r.At
	}
	return nil
}
