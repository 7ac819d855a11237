package main

import (
	"context"
	"os"
	"syscall"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
)

// status draws what the run does at the moment, where a terminal can take that.
func (f *follower) status() {
	if f.json || !f.out.Redraws() {
		return
	}
	if f.open != nil { // the question is what counts
		f.out.Show()
		return
	}
	now := time.Now()
	doing := f.live.Doing(now)
	if doing == "" && !f.live.Queued.IsZero() {
		doing = f.inQueue(now)
	}
	if f.away {
		doing = "the server does not answer; trying again"
	}
	columns, rows := f.out.Size()
	f.out.Show(f.live.Rows(doing, now, columns, rows)...)
}

// queuedMin is how long a run waits before it is asked what for: mostly it is taken at once.
const queuedMin = time.Second

// look finds out, from time to time, what no event tells.
func (f *follower) look(ctx context.Context) {
	switch {
	case f.away:
		f.lookForServer(ctx)
	case f.json || f.open != nil:
	case f.live.Lock() != nil:
		if f.givenBack(ctx, *f.live.Lock()) {
			f.live.GivenBack()
		}
	case f.live.Doing(time.Now()) == "" && !f.live.Queued.IsZero() && time.Since(f.live.Queued) >= queuedMin:
		f.lookAtQueue(ctx)
	}
}

// givenBack reports whether a lock is no longer with the call that had it: the call, or its
// run, has ended. What a call leaves running keeps the lock.
func (f *follower) givenBack(ctx context.Context, l show.LockWait) bool {
	ctx, stop := context.WithTimeout(ctx, queueAnswerMax)
	defer stop()
	holder, err := findRun(ctx, f.server, l.Run)
	if err != nil {
		return false
	}
	if r, err := f.server.Run(ctx, holder.TaskID, holder.ID); err != nil || client.Terminal(r.Status) {
		return err == nil
	}
	calls, err := f.server.ToolCalls(ctx, holder.TaskID, holder.ID)
	if err != nil {
		return false
	}
	for _, c := range calls {
		if c.StepID == l.Step {
			return c.State == "finished" && c.Tool != "terminal_open" && c.Tool != "background"
		}
	}
	return false
}

// resize lays out what follows for the terminal as it is, after its size changed or
// after it belonged to somebody else.
func (f *follower) resize(s os.Signal) {
	if s == syscall.SIGCONT {
		f.out.Forget()
	}
	if f.a.outStyle.Columns > 0 {
		columns, _ := f.out.Size()
		f.a.outStyle = f.a.outStyle.Wide(columns)
		f.live.Resize(columns)
		if f.ask == f.out {
			f.asks = f.a.outStyle
		}
	}
}

// readTyping hands on what comes of the model's answers.
func (f *follower) readTyping(ctx context.Context, after int64, to chan<- client.Typing) {
	for t := range f.server.Typing(ctx, f.task, f.run, after) {
		select {
		case to <- t:
		case <-ctx.Done():
			return
		}
	}
}

// answeredBy names who answered an approval, "" if the server does not know that.
func (f *follower) answeredBy(approval string) string {
	if name, known := f.names[approval]; known {
		return name
	}
	ctx, stop := context.WithTimeout(context.Background(), queueAnswerMax)
	defer stop()
	answers, err := f.server.Answers(ctx, f.task)
	if err != nil {
		return ""
	}
	for id, by := range answers {
		switch {
		case by.Name == "" || by.By == "": // not answered, or nobody said who
		case by.Verified:
			f.names[id] = by.Name
		default:
			f.names[id] = by.Name + " (not proved by a token)"
		}
	}
	return f.names[approval]
}
