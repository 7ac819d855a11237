package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
)

// queueAnswerMax is how long the server may take to say how busy it is. The events
// of the run wait meanwhile.
const queueAnswerMax = 2 * time.Second

// lookAtQueue finds out what the run waits for while no worker has it, and says it once
// in a line of its own. A server that doesn't tell leaves it at the wait.
func (f *follower) lookAtQueue(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, queueAnswerMax)
	defer stop()
	f.waitsFor = waitsForWorker
	if stats, err := f.server.Stats(ctx); err == nil {
		f.waitsFor += before(stats, f.ahead(ctx))
	}
	if !f.waits {
		f.waits = true
		fmt.Fprintln(f.out, f.a.outStyle.Yellow("…")+" "+f.waitsFor)
	}
}

const waitsForWorker = "waiting for a worker"

// inQueue says what the run waits for, and for how long it has.
func (f *follower) inQueue(now time.Time) string {
	return fmt.Sprintf("%s  %ds", cmp.Or(f.waitsFor, waitsForWorker), max(int(now.Sub(f.live.Queued).Seconds()), 0))
}

// before says why no worker takes the run yet. ahead is how many runs wait longer.
func before(s client.Stats, ahead int) string {
	switch {
	case len(s.Workers) == 0:
		return ": none is running; start a server whose workers are enabled (HECATE_TASK_WORKERS_ENABLED)"
	case s.RunsMax > 0 && s.InFlight >= s.RunsMax:
		return fmt.Sprintf(": %s at a time (HECATE_TASK_MAX_CONCURRENT), and %d before it", show.Count(int64(s.RunsMax), "run"), s.InFlight+ahead)
	case s.InFlight+ahead > 0:
		return ": " + show.Count(int64(s.InFlight+ahead), "run") + " before it"
	}
	return ""
}

// ahead counts the runs that have waited longer than this one.
func (f *follower) ahead(ctx context.Context) int {
	tasks, err := f.server.Tasks(ctx, 0, "queued")
	if err != nil {
		return 0
	}
	n := 0
	for _, t := range tasks {
		if t.ID != f.task && t.UpdatedAt != nil && t.UpdatedAt.Before(f.live.Queued) {
			n++
		}
	}
	return n
}
