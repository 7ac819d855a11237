package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// follower watches one run, asks where it waits for a person, and ends it on Ctrl-C
// or at a time limit. All of it happens in one goroutine; only the feed, the terminal's
// input and a dialog are others.
type follower struct {
	a        *app
	server   *client.Client
	json     bool
	passing  bool         // nothing of the run stays, so nothing is said about where to look later
	scripted bool         // the model cannot do without a call: a no ends the run
	attached bool         // the run is somebody else's: leaving it leaves it going
	past     bool         // what is told happened before we came
	remote   bool         // the server goes on without us
	lost     <-chan error // the server of our own ended; nil for another's

	out    *terminal.Screen
	live   *show.Live
	ask    *terminal.Screen // where questions are asked
	asks   terminal.Style
	typed  *prompter         // nil: nobody is there to answer
	open   *asking           // what is being asked
	closed chan dialogEnd    // how the dialog ended that is open
	asked  *show.Question    // before we came, and not answered
	names  map[string]string // who answered, by approval
	cancel string            // why the run was cancelled by us, "" if it was not

	task, run string
	away      bool           // the server does not answer, and that was said
	cut       bool           // the feed is lost, and tells when it is found again
	parked    *show.Question // taken back while the server does not answer
	waits     bool           // it was said that the run waits for a worker
	waitsFor  string         // why it does
	origin    string         // what the workspace is a copy of; "" if it is no copy
	changed   changeSet
	inPlace   bool // the run works in the operator's own directory
	created   time.Time
	result    runResult
}

func newFollower(a *app, server *client.Client, asJSON bool) *follower {
	f := &follower{a: a, server: server, json: asJSON, out: terminal.NewScreen(a.out, a.outStyle), closed: make(chan dialogEnd, 1)}
	f.live = show.NewLive(f.out, a.outStyle)
	f.names, f.live.Name = map[string]string{}, f.answeredBy
	f.ask, f.asks = f.out, a.outStyle
	if asJSON {
		f.live = show.NewLive(io.Discard, terminal.Style{})
	}
	if asJSON || a.outStyle.Columns == 0 { // what is asked must not end up in a file
		f.ask, f.asks = terminal.NewScreen(a.err, a.errStyle), a.errStyle
	}
	if a.attended(asJSON) {
		f.typed = newPrompter(a.in, a.dropTyped)
	}
	return f
}

// of tells where the runs of a task work.
func (f *follower) of(t client.Task) {
	if f.inPlace = t.WorkspaceMode == "in_place"; !f.inPlace {
		f.origin = t.WorkingDirectory
	}
	if t.ExecutionKind != run.KindAgentLoop {
		f.live.Direct = show.StartOf(t).Summary()
	}
}

// toTheEnd opens and follows a run, prints what came of it and, if the server is our
// own, keeps it until nobody else uses it.
func (f *follower) toTheEnd(ctx context.Context, local *localServer, run func() (runResult, error)) error {
	if f.remote = local == nil; !f.remote {
		f.lost = local.lost
	}
	defer f.a.catchInterrupts()()
	result, err := run()
	if err != nil {
		return err
	}
	if err := f.conclude(result); err != nil {
		return err
	}
	if local != nil && !result.left {
		if err := local.whileUsed(ctx, f.a); err != nil {
			return err
		}
	}
	return exit(result.ExitCode)
}

// start creates the task, starts it and follows the run to its end.
func (f *follower) start(ctx context.Context, n newRun, limit time.Duration) (runResult, error) {
	task, position, err := f.server.CreateTask(ctx, n.task)
	var refused *client.Error
	if errors.As(err, &refused) && n.task.Posture == permission.PostureLevels && strings.Contains(refused.Message, "permission_posture") {
		return runResult{}, advise(fmt.Errorf("create the task: %w", err), "let the server's policies say what asks: hecate run --runtime-policies")
	}
	if err != nil {
		return runResult{}, fmt.Errorf("create the task: %w", err)
	}
	run, err := f.server.StartTask(ctx, task.ID, n.ahead)
	if err != nil {
		return runResult{}, fmt.Errorf("start the task: %w", err)
	}
	f.of(client.Task{ExecutionKind: n.task.ExecutionKind, WorkspaceMode: n.task.WorkspaceMode, WorkingDirectory: n.task.WorkingDirectory, Repo: n.task.Repo, BaseBranch: n.task.BaseBranch})
	return f.watch(ctx, task.ID, run.ID, position, limit)
}

// watch follows a run to its end, or cancels it after limit if that is not 0. All of
// the run's events stand behind the position after.
func (f *follower) watch(ctx context.Context, task, run string, after int64, limit time.Duration) (runResult, error) {
	f.begins(task, run)
	if err := f.follow(ctx, after, limit); err != nil {
		return runResult{}, err
	}
	return f.result, nil
}

// begins names the run that is followed.
func (f *follower) begins(task, run string) {
	f.task, f.run = task, run
	f.result = runResult{TaskID: task, RunID: run}
	if !f.json {
		fmt.Fprintln(f.out, f.a.outStyle.Dim("· task "+terminal.Line(task)+" · run "+terminal.Line(run)))
	}
}

// feedItem is what the feed delivers: an event, why there are no more, or whether the
// server answers.
type feedItem struct {
	event client.Event
	err   error
	state bool // only this is news: err says why the server does not answer
}

func (f *follower) follow(ctx context.Context, after int64, limit time.Duration) error {
	defer f.out.Show()
	defer f.drop()
	ctx, stop := context.WithCancel(ctx)
	events, typing := make(chan feedItem), make(chan client.Typing)
	var reading sync.WaitGroup
	somebody := f.typed != nil // who can end it
	reading.Go(func() { f.readFeed(ctx, after, somebody, events) })
	if f.out.Redraws() && !f.json {
		reading.Go(func() { f.readTyping(ctx, after, typing) })
	}
	defer reading.Wait()
	defer stop()

	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	redraw := make(chan os.Signal, 1)
	signal.Notify(redraw, syscall.SIGWINCH, syscall.SIGCONT)
	defer signal.Stop(redraw)
	timeUp := time.NewTimer(limit)
	defer timeUp.Stop()
	if limit == 0 {
		timeUp.Stop()
	}
	var answers <-chan typedLine
	if f.typed != nil {
		answers = f.typed.lines
	}
	for {
		f.status()
		select {
		case item := <-events:
			if item.state {
				f.feedState(ctx, item.err)
				continue
			}
			if item.err != nil {
				return fmt.Errorf("follow run %s: %w", f.run, item.err)
			}
			if done, err := f.event(ctx, item.event); done || err != nil {
				return err
			}
		case t := <-typing:
			f.live.Typing(t.At, t.Text)
		case l := <-answers:
			if err := f.answered(ctx, f.typed.take(l)); err != nil {
				return err
			}
		case end := <-f.closed:
			if f.dialogEnded(ctx, end) {
				return nil
			}
		case s := <-f.a.interrupt:
			if f.interrupted(ctx, s) {
				return nil
			}
		case err := <-f.lost:
			return endedByItself(err)
		case <-timeUp.C:
			err := f.cancelRun(ctx, "time limit of "+limit.String()+" reached", "the time limit is reached; cancelling the run")
			if f.sayIfFailed(err); err != nil {
				timeUp.Reset(cancelAgain)
			}
		case <-tick.C:
			f.look(ctx)
		case s := <-redraw:
			f.resize(s)
		}
	}
}

// interrupted cancels the run, or leaves it: at once if it is somebody else's, else when
// it was cancelled already. It reports whether it left.
func (f *follower) interrupted(ctx context.Context, s os.Signal) bool {
	f.drop()
	if f.attached || f.result.Interrupted {
		f.leave()
		return true
	}
	f.result.Interrupted = true
	again := "Ctrl-C again ends at once, and leaves the run where it is"
	if f.remote {
		again = "Ctrl-C again detaches, and leaves the rest to the server"
	}
	f.sayIfFailed(f.cancelRun(ctx, interruptedBy(s), "cancelling the run; "+again))
	return false
}

// interruptedBy says for the record what asked the command to end.
func interruptedBy(s os.Signal) string {
	switch s {
	case syscall.SIGTERM:
		return "hecate was asked to end (SIGTERM)"
	case syscall.SIGHUP:
		return "the terminal was closed"
	}
	return "interrupted with Ctrl-C"
}

func (f *follower) readFeed(ctx context.Context, after int64, patient bool, to chan<- feedItem) {
	hand := func(item feedItem) bool {
		select {
		case to <- item:
			return true
		case <-ctx.Done():
			return false
		}
	}
	away := func(err error) { hand(feedItem{err: err, state: true}) }
	for e, err := range f.server.EventsUnless(ctx, f.task, after, patient, away) {
		if !hand(feedItem{event: e, err: err}) {
			return
		}
	}
}

// event handles one event and reports whether it was the run's last.
func (f *follower) event(ctx context.Context, e client.Event) (bool, error) {
	if e.RunID != f.run {
		return false, nil
	}
	if f.created.IsZero() {
		f.created = e.OccurredAt
	}
	if f.json {
		fmt.Fprintf(f.a.out, "%s\n", e.Raw)
	}
	if e.Type == "approval.resolved" || endsRun(e.Type) {
		f.answeredElsewhere()
	}
	f.live.Event(e)
	switch e.Type {
	case "workspace.changed":
		f.changed.add(e)
	case "approval.requested":
		return false, f.question(ctx, show.QuestionOf(e))
	case "run.finished", "run.failed", "run.cancelled":
		f.ended(ctx, e)
		return true, nil
	}
	return false, nil
}

// cancelAnswerMax is how long the server may take to say that it cancels a run. Ctrl-C
// waits meanwhile.
const cancelAnswerMax = 5 * time.Second

// cancelAgain is how long after a refusal a run whose time is up is cancelled again.
const cancelAgain = time.Second

// cancelRun asks the server to cancel; the run.cancelled event ends the following.
func (f *follower) cancelRun(ctx context.Context, reason, say string) error {
	if f.cancel != "" {
		return nil
	}
	f.drop()
	f.cancel = reason
	fmt.Fprintf(f.ask, "\n%s %s\n", f.asks.Yellow("!"), say)
	ctx, stop := context.WithTimeout(ctx, cancelAnswerMax)
	defer stop()
	if _, err := f.server.CancelRun(ctx, f.task, f.run, reason); err != nil {
		f.cancel = ""
		return fmt.Errorf("cancel run %s: %w", f.run, err)
	}
	return nil
}

// sayIfFailed tells of an error after which the run goes on, watched as before.
func (f *follower) sayIfFailed(err error) {
	if err != nil {
		fmt.Fprintf(f.ask, "%s %s\n", f.asks.Red("✗"), terminal.Line(err.Error()))
	}
}

// leave ends the following without the run having ended.
func (f *follower) leave() {
	f.result.left = true
	f.result.Status = "unknown"
	f.result.ExitCode = exitInterrupted
	f.account()
}
