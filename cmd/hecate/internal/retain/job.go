package retain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/retention"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/projections/audit"
)

const (
	looksMax   = 20_000 // records that one pass looks at by one policy; the next one goes on
	placesPage = 500    // places that are asked for at once
	readAtOnce = 100    // records that are read at once
	eraseAt    = 500    // records that are erased at once
	streamPage = 1000   // records of a run that are read at once
	triesMax   = 3      // how often an erasure is tried that somebody else gets in the way of
)

// pruner says which records tell a policy that something is due, and what that is.
type pruner struct {
	types []string
	take  func(*job, context.Context, eventstore.Record) error
}

var pruners = map[string]pruner{
	retention.ModelCallEvents: {types: []string{run.ModelCallCompleted{}.EventType()}, take: (*job).itself},
	// The end of a run, not the output itself, tells that its output is due: nothing is
	// taken from a run that goes on, however old.
	retention.RunContents: {types: []string{run.Finished{}.EventType(), run.Failed{}.EventType(), run.Cancelled{}.EventType()}, take: (*job).outputOf},
}

var (
	outputType   = run.ShellOutput{}.EventType()
	artifactType = run.ArtifactRecorded{}.EventType()
)

// job is one pass by one policy.
type job struct {
	w       *Worker
	meta    commands.Meta
	policy  Policy
	pruner  pruner
	result  *retention.Result
	before  time.Time // records of an earlier time are due; zero: none is because of its time
	below   int64     // records of a lower position are due
	reached int64     // up to here it was looked
	looked  int
	waiting []int64 // positions to erase
}

func (j *job) run(ctx context.Context) error {
	if j.policy.MaxAge > 0 {
		j.before = j.w.x.Clock.Now().Add(-j.policy.MaxAge)
	}
	if j.policy.MaxCount > 0 {
		var err error
		if j.below, err = j.w.places.Nth(ctx, j.policy.MaxCount, j.pruner.types...); err != nil {
			return err
		}
	}
	if err := j.walk(ctx); err != nil {
		return err
	}
	if err := j.erase(ctx); err != nil {
		return err
	}
	j.result.Through = j.reached
	return nil
}

// walk looks at records in the order of the log up to the first one that is not due.
func (j *job) walk(ctx context.Context) error {
	for {
		page, err := j.w.places.Page(ctx, audit.Filter{Types: j.pruner.types, After: j.reached}, audit.OldestFirst, placesPage)
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(page.Found, readAtOnce) {
			done, err := j.each(ctx, chunk)
			if err != nil || done {
				return err
			}
		}
		if page.Next == 0 {
			return nil
		}
		j.reached = max(j.reached, page.Next)
	}
}

// each takes the records at some places, up to the first one that is not due or the most that
// a pass looks at; done says that it came to that.
func (j *job) each(ctx context.Context, places []audit.Found) (done bool, err error) {
	positions := make([]int64, len(places))
	for i, p := range places {
		positions[i] = p.Position
	}
	records, err := j.w.x.Store.ReadAt(ctx, positions)
	if err != nil {
		return true, err
	}
	for _, r := range records {
		if j.looked >= j.w.looks {
			j.result.Incomplete = true
			return true, nil
		}
		j.looked++
		if !r.At.Before(j.before) && r.Position >= j.below {
			return true, nil
		}
		if slices.Contains(j.pruner.types, r.Type) { // not a caller's event of that name
			if err := j.pruner.take(j, ctx, r); err != nil {
				return true, err
			}
		}
		j.reached = r.Position
		if len(j.waiting) == 0 {
			j.result.Through = j.reached
		}
	}
	return false, nil
}

// itself takes the record.
func (j *job) itself(ctx context.Context, r eventstore.Record) error { return j.add(ctx, r) }

// outputOf takes what the commands of a run that has ended have put out.
func (j *job) outputOf(ctx context.Context, end eventstore.Record) error {
	for after := int64(0); ; {
		page, err := j.w.x.Store.ReadStream(ctx, end.Stream, after, streamPage)
		if err != nil {
			return fmt.Errorf("read %s: %w", end.Stream, err)
		}
		for _, r := range page {
			after = r.Version
			if isOutput(r) {
				if err := j.add(ctx, r); err != nil {
					return err
				}
			}
		}
		j.looked += len(page)
		if len(page) < streamPage {
			return nil
		}
	}
}

// isOutput reports whether a record holds what a command has put out. What the model was
// told of it stands elsewhere, in the conversation.
func isOutput(r eventstore.Record) bool {
	if r.Type == outputType {
		return true
	}
	if r.Type != artifactType {
		return false
	}
	p, err := event.Decode(r.Type, r.Schema, r.Data, nil)
	a, ok := p.(run.ArtifactRecorded)
	return err == nil && ok && (a.Kind == "stdout" || a.Kind == "stderr")
}

// add takes a record, and erases what has gathered if that is enough.
func (j *job) add(ctx context.Context, r eventstore.Record) error {
	if r.Erased != 0 {
		return nil
	}
	j.waiting = append(j.waiting, r.Position)
	if len(j.waiting) < eraseAt {
		return nil
	}
	return j.erase(ctx)
}

// erase erases what has gathered. If somebody else erases the same at this moment, what is
// left is tried again.
func (j *job) erase(ctx context.Context) error {
	if len(j.waiting) == 0 {
		return nil
	}
	var err error
	for range triesMax {
		var done commands.EraseResult
		done, err = j.w.x.Erase(ctx, j.meta, commands.EraseRequest{Positions: j.waiting, Policy: j.policy.Name, Reason: j.policy.reason()})
		j.result.Deleted += int64(done.Records)
		if f, ok := fault.Of(err); !ok || f.Kind != fault.KindConflict {
			break
		}
	}
	if err == nil {
		j.waiting = nil
	}
	return err
}

// explain says in a result why a policy was not carried out to its end. What only the
// operator of the server may read goes to its log.
func (w *Worker) explain(ctx context.Context, p Policy, err error) string {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return "it was broken off; the next pass goes on"
	}
	if f, ok := fault.Of(err); ok {
		return f.Message
	}
	w.log.Error("retention", "subsystem", p.Name, "error", err)
	return "internal error; the server's log says more"
}
