package runs_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/fault"
	"hecate/domain/task"
	"hecate/projections/projectiontest"
	"hecate/projections/runs"
)

// A task as it was is what the read model said about it then, at any position of a
// history and at the time of that position.
func TestTheTaskAsItWas(t *testing.T) {
	for seed := range uint64(2) {
		log := projectiontest.New(t)
		mixed(t, log, 20+seed)
		random := rand.New(rand.NewPCG(seed, 3))
		records := log.Records()
		for range 4 {
			at := 1 + random.Int64N(int64(len(records)))
			_, then := project(t, &projectiontest.UpTo{Store: log, Last: at}, memory(t))
			for _, item := range must[runs.TaskPage](t)(then.Tasks(t.Context(), runs.TaskFilter{})).Tasks {
				want := encode(t, ask(t, then, item.ID))
				for _, m := range []runs.Moment{{Position: at}, {Time: records[at-1].At}} {
					past := must[*runs.Past](t)(runs.TaskAsOf(t.Context(), log, item.ID, m))
					if diff := cmp.Diff(want, encode(t, ask(t, past.Views, item.ID))); diff != "" {
						t.Errorf("seed %d, %s at %+v (-then +folded):\n%s", seed, item.ID, m, diff)
					}
					if past.Position > at {
						t.Errorf("%s at %d has read up to %d", item.ID, at, past.Position)
					}
					if err := past.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

// What was not there yet, or is deleted, is not found; before its end it is.
func TestThePastOfWhatIsNotThere(t *testing.T) {
	log := projectiontest.New(t)
	mixed(t, log, 5)
	var created, opened, deleted int64
	for _, r := range log.Records() {
		switch {
		case r.Type == task.Created{}.EventType() && r.Stream == "task-task_deleted":
			created = r.Position
		case r.Stream == "run-run_deleted" && r.Version == 1:
			opened = r.Position
		case r.Type == task.Deleted{}.EventType() && r.Stream == "task-task_deleted":
			deleted = r.Position
		}
	}
	ctx := context.Background()
	found := func(p *runs.Past, err error) bool {
		t.Helper()
		if err == nil {
			_, err = p.Task(ctx, p.TaskID)
			err = errors.Join(err, p.Close())
		}
		if f, ok := fault.Of(err); err != nil && (!ok || f.Kind != fault.KindNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	for _, c := range []struct {
		at        int64
		task, run bool
	}{{created - 1, false, false}, {created, true, false}, {opened, true, true}, {deleted - 1, true, true}, {deleted, false, false}, {0, false, false}} {
		if c.at == 0 && created == 1 {
			continue // before the first record is no position
		}
		if got := found(runs.TaskAsOf(ctx, log, "task_deleted", runs.Moment{Position: c.at})); got != c.task {
			t.Errorf("the task at %d is found: %v", c.at, got)
		}
		if got := found(runs.RunAsOf(ctx, log, "run_deleted", runs.Moment{Position: c.at})); got != c.run {
			t.Errorf("the run at %d is found: %v", c.at, got)
		}
	}
	for _, id := range []string{"nobody", ""} {
		if found(runs.TaskAsOf(ctx, log, id, runs.Moment{})) || found(runs.RunAsOf(ctx, log, id, runs.Moment{Time: projectiontest.Start})) {
			t.Errorf("%q is found", id)
		}
	}
}
