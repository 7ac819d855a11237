package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

const choice = "  y approve · n reject and end the run: "

// question handles an approval that waits: by flag, by a person, or by giving up.
func (f *follower) question(ctx context.Context, q show.Question) error {
	if f.cancel != "" {
		return nil // the run is on its way out
	}
	// What cannot be shown is not asked about: the run goes on waiting.
	if err := fill(ctx, f.server, f.task, f.run, &q, f.live.Bundles()); err != nil {
		return err
	}
	byFlag := f.yes && yesOpens(q)
	switch {
	case !byFlag && (f.typed != nil || !f.json):
		q.Write(f.ask, f.asks)
	case !f.json: // nobody is asked: it belongs to the story
		q.Write(f.out, f.a.outStyle)
	}
	switch {
	case byFlag:
		return f.resolve(ctx, q, "approve", "--yes")
	case f.typed != nil:
		f.open = &q
		f.typed.ask(f.ask, f.asks.Bold(choice))
	default:
		return f.refuse(ctx, q)
	}
	return nil
}

// openedByYes are the rules that --yes answers: what the operator's own policies ask
// about. What asks for another reason wants a person each time.
var openedByYes = map[string]bool{"": true, "runtime-policy": true, "level-2": true}

func yesOpens(q show.Question) bool {
	for _, c := range q.Calls {
		if q.Asks(c.ToolCallID) && !openedByYes[c.Ruling.Rule] {
			return false
		}
	}
	return true
}

// refuse ends a run that needs an answer where nobody can give one.
func (f *follower) refuse(ctx context.Context, q show.Question) error {
	if q.Bundle == nil {
		f.result.Refused = append(f.result.Refused, q.Reason)
	} else {
		for _, c := range q.Bundle.Calls {
			if q.Asks(c.ID) {
				f.result.Refused = append(f.result.Refused, c.Summary())
			}
		}
	}
	return f.cancelRun(ctx, "approval needed, and nobody was there to answer", "an approval is needed and nobody can give it here; cancelling the run")
}

// answered handles a line that was typed.
func (f *follower) answered(ctx context.Context, a answer) error {
	if f.open == nil {
		return nil // typed while nothing was asked
	}
	q := *f.open
	switch a {
	case answerYes:
		f.open = nil
		f.resolveOrAsk(ctx, q, "approve")
	case answerNo:
		f.open = nil
		f.result.Rejected = true
		f.resolveOrAsk(ctx, q, "reject")
	case answerNone:
		f.open, f.typed = nil, nil
		return f.refuse(ctx, q)
	case answerUnclear:
		f.typed.ask(f.ask, "  please type y or n.\n"+f.asks.Bold(choice))
	}
	return nil
}

// resolveOrAsk asks again if the answer did not get through.
func (f *follower) resolveOrAsk(ctx context.Context, q show.Question, decision string) {
	if err := f.resolve(ctx, q, decision, ""); err != nil {
		f.result.Rejected = false
		f.sayIfFailed(err)
		f.open = &q
		f.typed.ask(f.ask, f.asks.Bold(choice))
	}
}

// resolve sends the answer, bound to what was shown.
func (f *follower) resolve(ctx context.Context, q show.Question, decision, note string) error {
	_, err := f.server.Resolve(ctx, f.task, q.ApprovalID, client.Answer{Decision: decision, Note: note, Digest: q.Shown(f.run)})
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusConflict && !f.stillWaits(ctx, q.ApprovalID) {
		f.result.Rejected = false
		fmt.Fprintf(f.ask, "%s %s\n", f.asks.Yellow("!"), terminal.Line(refused.Error()))
		return nil // somebody else was faster; the feed tells with what
	}
	if err != nil {
		return fmt.Errorf("answer approval %s: %w", q.ApprovalID, err)
	}
	return nil
}

// stillWaits tells an answer that came too late from one that was refused because
// what waits is not what was shown.
func (f *follower) stillWaits(ctx context.Context, approvalID string) bool {
	approvals, err := f.server.Approvals(ctx, f.task)
	for _, p := range approvals {
		if p.ID == approvalID {
			return p.Status == "pending"
		}
	}
	return err != nil
}
