package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// takenMax is how long the server may take to take an answer. Ctrl-C waits meanwhile.
const takenMax = 15 * time.Second

// feedState hears from the feed whether the server answers; nil: it does.
func (f *follower) feedState(ctx context.Context, err error) {
	if f.cut = err != nil; f.cut {
		f.unreachable(err, "nothing was answered")
		return
	}
	f.reachable(ctx)
}

// unreachable says that the server does not answer, and takes the question back that is
// open: an answer could not be given. The words say what became of one.
func (f *follower) unreachable(err error, answer string) {
	lead := ""
	if f.open != nil {
		if f.open.dialog == nil {
			lead = "\n" // a line waits to be typed
		}
		q := f.open.question
		f.drop()
		f.parked = &q
	}
	if f.away {
		return
	}
	f.away = true
	stops := "Ctrl-C twice leaves the run to it"
	if f.attached {
		stops = "Ctrl-C detaches"
	}
	fmt.Fprintf(f.ask, "%s%s the server at %s cannot be reached: %s\n", lead, f.asks.Yellow("!"), terminal.Line(f.server.BaseURL()), terminal.Line(cause(err)))
	if f.parked == nil {
		fmt.Fprintf(f.ask, "  trying again; %s\n", stops)
		return
	}
	fmt.Fprintf(f.ask, "  %s; trying again, and asking anew once it is back; %s\n", answer, stops)
}

// cause is the innermost word of a network about why it does not work.
func cause(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}

// reachable says that the server is back, and asks anew what still waits.
func (f *follower) reachable(ctx context.Context) {
	if !f.away {
		return
	}
	f.away = false
	fmt.Fprintf(f.ask, "%s the server answers again\n", f.asks.Green("✓"))
	q := f.parked
	f.parked = nil
	// Of an answer that has come meanwhile, from here or elsewhere, the feed tells.
	if q != nil && f.cancel == "" && f.stillWaits(ctx, q.ApprovalID) {
		f.begin(*q)
	}
}

// lookForServer finds out whether the server is back if the feed, which was never lost, does
// not tell.
func (f *follower) lookForServer(ctx context.Context) {
	if f.cut {
		return
	}
	if _, err := f.server.Health(ctx); err == nil {
		f.reachable(ctx)
	}
}

// notTaken deals with an answer that the server has not taken.
func (f *follower) notTaken(q show.Question, err error) {
	f.result.Rejected = false
	var refused *client.Error
	if errors.As(err, &refused) {
		f.sayIfFailed(err)
		// A dialog would stand before what was just said.
		f.open = &asking{question: q, prompts: f.asksOf(q)}
		f.askLines()
		return
	}
	f.parked = &q
	f.unreachable(err, became(err))
}

// became says what is known of an answer that was sent in vain.
func became(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return "your answer was not given"
	}
	return "whether your answer arrived is not known"
}
