package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/dialog"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// asking is a question that a person is being asked: by a dialog, or line by line.
type asking struct {
	question show.Question
	prompts  []show.Prompt   // of the calls that ask, in order
	answers  []dialog.Answer // to the first of them
	dialog   *dialog.Dialog  // nil: line by line
	entry    entry           // of a line: what it is for
	edited   bool            // the offer of the call that is asked about was edited
}

// dialogEnd is how a dialog ended.
type dialogEnd struct {
	dialog.Result
	err error
}

// answerPause is for how long after a call appears no key is taken for an answer.
const answerPause = 400 * time.Millisecond

// question handles an approval that waits: by asking, or by giving up.
func (f *follower) question(ctx context.Context, q show.Question) error {
	switch {
	case f.cancel != "":
		return nil // the run is on its way out
	case f.past:
		f.asked = &q
		return nil
	}
	// What cannot be shown is not asked about: the run goes on waiting.
	if err := fill(ctx, f.server, f.task, f.run, &q, f.live.Bundles()); err != nil {
		return err
	}
	q.Where = f.where()
	if f.typed == nil {
		return f.unanswered(ctx, q)
	}
	f.begin(q)
	return nil
}

// where is the run's place as far as it is known without the question saying it.
func (f *follower) where() show.Where {
	w := show.Where{Place: run.Place{Path: f.live.Workspace, Source: f.origin}, Home: f.a.getenv("HOME")}
	if f.inPlace {
		w.Kind, w.Source = run.PlaceInPlace, ""
	}
	return w
}

// begin asks a question from its first call on.
func (f *follower) begin(q show.Question) {
	f.open = &asking{question: q, prompts: f.asksOf(q)}
	news := "hecate: approve? " + f.open.prompts[0].Summary()
	if f.a.plainTerminal() {
		news = ""
	}
	if err := f.ask.Notify(news); err != nil {
		f.sayIfFailed(fmt.Errorf("ring: %w", err))
	}
	if in, out := f.screenFiles(); f.dialogs(in, out) {
		f.openDialog(in, out)
		return
	}
	f.askLines()
}

// askLines asks line by line, below what stands on the screen.
func (f *follower) askLines() {
	f.open.question.Title(f.ask, f.asks)
	f.askLine()
}

// asksOf are the calls of a question that ask.
func (f *follower) asksOf(q show.Question) []show.Prompt {
	all := q.Prompts()
	asks := slices.DeleteFunc(slices.Clone(all), func(p show.Prompt) bool { return !p.Asks() })
	if len(asks) == 0 {
		asks = all
	}
	for i := range asks {
		asks[i].Ends = asks[i].Ends || f.scripted
	}
	return asks
}

// screenFiles are the terminal that a dialog would use.
func (f *follower) screenFiles() (in, out *os.File) {
	in, _ = f.a.in.(*os.File)
	out, _ = f.a.out.(*os.File)
	if f.a.outStyle.Columns == 0 {
		out, _ = f.a.err.(*os.File)
	}
	return in, out
}

// dialogs reports whether a dialog can ask. A line that is still being read would get
// the keys that are meant for it.
func (f *follower) dialogs(in, out *os.File) bool {
	return !f.json && !f.typed.reading && !f.a.plainTerminal() && dialog.Fits(in, out)
}

// plainTerminal reports whether the terminal can only print.
func (a *app) plainTerminal() bool {
	name := a.getenv("TERM")
	return name == "" || name == "dumb"
}

func (f *follower) openDialog(in, out *os.File) {
	stops := "Ctrl-C cancels the run"
	if f.attached {
		stops = "Ctrl-C detaches from the run"
	}
	f.out.Hold()
	f.ask.Hold()
	f.typed.forget()
	d := dialog.Open(in, out, f.a.environ, f.open.prompts, dialog.Options{Style: f.asks, Interrupt: stops, Edit: editOffer, Covers: covers, Pause: answerPause})
	f.open.dialog = d
	go func() { // drop, or the loop that follows, waits for it
		result, err := d.Run()
		f.closed <- dialogEnd{result, err}
	}()
}

// dialogEnded handles a dialog that ended by itself. It reports whether the run was left.
func (f *follower) dialogEnded(ctx context.Context, end dialogEnd) bool {
	f.release()
	asked := f.open
	asked.dialog = nil
	switch {
	case end.Interrupted:
		return f.interrupted(ctx, os.Interrupt)
	case len(end.Answers) == len(asked.prompts):
		f.open = nil
		asked.answers = end.Answers
		for i := range asked.prompts {
			f.sayAnswer(asked.prompts, end.Answers[:i+1])
		}
		f.send(ctx, asked)
		return false
	case end.err != nil:
		f.sayIfFailed(end.err)
	}
	f.askLines()
	return false
}

// drop takes back what is being asked.
func (f *follower) drop() {
	if f.open != nil && f.open.dialog != nil {
		f.open.dialog.Close()
		<-f.closed
		f.release()
	}
	f.open = nil
}

// release gives the screen back to what was held while a dialog was on it.
func (f *follower) release() {
	// What fails here fails again, and is noticed, with the next lasting line.
	_ = errors.Join(f.out.Release(), f.ask.Release())
}

// answeredElsewhere takes back a question that somebody else has answered, or that went
// with its run.
func (f *follower) answeredElsewhere() {
	if f.asked, f.parked = nil, nil; f.open == nil {
		return
	}
	asked := f.open
	f.drop()
	fmt.Fprintf(f.ask, "\n%s %s\n  answered elsewhere\n", f.asks.Yellow("?"), asked.prompts[0].Summary())
}

// unanswered deals with a question that nobody here can answer.
func (f *follower) unanswered(ctx context.Context, q show.Question) error {
	if f.attached {
		q.Write(f.ask, f.asks)
		fmt.Fprintf(f.ask, "  it waits for an answer: hecate approve %s\n", terminal.Line(q.ApprovalID))
		return nil
	}
	for _, p := range f.asksOf(q) {
		f.result.refuse(show.Refusal{Call: p.Summary(), Gates: p.Asked.Gates})
	}
	if !f.json {
		q.Write(f.out, f.a.outStyle)
	}
	return f.cancelRun(ctx, "approval needed, and nobody was there to answer", "an approval is needed and nobody can give it here; cancelling the run")
}

// send gives the server all answers at once.
func (f *follower) send(ctx context.Context, asked *asking) {
	answer := answerOf(asked.prompts, asked.answers)
	f.result.Rejected = answer.Decision == client.Reject && !answer.Continue
	if err := f.resolve(ctx, asked.question, answer); err != nil {
		f.notTaken(asked.question, err)
	}
}

// resolve sends an answer, bound to what was shown.
func (f *follower) resolve(ctx context.Context, q show.Question, a client.Answer) error {
	a.Digest = q.Shown(f.run)
	ctx, stop := context.WithTimeout(ctx, takenMax)
	defer stop()
	_, err := f.server.Resolve(ctx, f.task, q.ApprovalID, a)
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

// answerOf puts the answers to single calls together.
func answerOf(prompts []show.Prompt, answers []dialog.Answer) client.Answer {
	out, plain, allowed := client.Answer{Decision: client.Approve}, true, 0
	for i, a := range answers {
		c := client.CallAnswer{ToolCallID: prompts[i].Call.ID, Decision: client.Approve, Pattern: a.Scope, CoveredBy: a.CoveredBy}
		switch a.Key {
		case "":
		case permission.AnswerOnce:
			c.Scope = run.ScopeOnce
		case permission.AnswerSession:
			c.Scope = run.ScopeSession
		case permission.AnswerRemember:
			c.Scope = run.ScopeProject
		default:
			if prompts[i].Ends {
				return client.Answer{Decision: client.Reject}
			}
			c.Decision, c.Note = client.Deny, a.Note
		}
		if c.Decision == client.Approve {
			allowed++
		}
		plain = plain && a.Key == permission.AnswerOnce
		out.Calls = append(out.Calls, c)
	}
	switch {
	case plain:
		out.Calls = nil
	case allowed == 0:
		out.Decision, out.Continue = client.Reject, true
	}
	return out
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
