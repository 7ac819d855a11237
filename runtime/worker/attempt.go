package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/runtime/model"
	"hecate/runtime/permissions"
	"hecate/tools"
	"hecate/tools/terminal"
)

// attempt is one worker's hold on one run. Everything in it but the log is a cache.
type attempt struct {
	*Pool
	t        *tenure
	stopping <-chan struct{} // closed when the run is to be handed back at the next occasion
	s        *run.State
	staged   []event.Event // folded into s, not yet durable
	epoch    int64         // of this attempt's claim
	over     int64         // version of the run when it was folded after its end; 0 before
	root     *os.Root      // the workspace, opened when first needed

	client  model.Client // that encoded is for
	encoded []model.Encoded
	chars   int64  // of the encoded conversation, for the token estimate
	tools   []byte // the catalogue, for client
	known   map[string]tools.Tool
	ready   map[string]prepared // by call id
	locks   locks               // execution locks that are held for a call
	entered bool                // it has a share of its workspace
	watched bool                // by the repetition guard, when it was decided last
	changes changes             // what calls do to the workspace
}

// prepared is a call whose arguments were read, or could not be.
type prepared struct {
	tools.Prepared
	err error
}

// saveTries and savePause bound how long results are kept in memory while the log
// cannot be written. After that the run is left to recovery.
const (
	saveTries = 6
	savePause = 500 * time.Millisecond
	saveLimit = 15 * time.Second
)

// recordMax is how many events one append takes. What is longer is made durable in
// order, piece by piece.
const recordMax = eventstore.EventsMax / 2

// errLost says that the run was changed by somebody else; s was folded anew.
var errLost = errors.New("the run moved on")

// execute does what is next for the run until it ends, parks or ctx ends. When the
// pool stops first, the run is handed back.
func (a *attempt) execute(ctx context.Context) (err error) {
	defer a.close()
	defer func() {
		if r := recover(); r != nil {
			err = errors.Join(panicked(a.s.ID, r), a.salvage(ctx))
		}
	}()
	return a.loop(ctx)
}

func (a *attempt) close() {
	if a.s.Status != run.StatusAwaitingApproval {
		terminal.Gone(a.t.terminals.Close(a.s.ID)) // of what ended well they are closed already
	}
	a.unlock(context.Background())
	a.changes.close()
	a.leave()
	a.unclaim()
	a.Progress.drop(a.s.ID)
	if a.root != nil {
		a.root.Close()
	}
}

// panicked is the error of a run in whose execution something panicked: that must not
// end the process and with it everybody else's runs.
func panicked(id string, r any) error {
	return fmt.Errorf("execute run %s: panic: %v\n%s", id, r, debug.Stack())
}

// salvage records what had happened before a panic. So an answer is not paid for again,
// and a run that panics each time does not begin anew for ever.
func (a *attempt) salvage(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(a.s.ID, r)
		}
	}()
	return a.flushOrMoveOn(ctx)
}

// loop does what is next until there is nothing more to do here.
func (a *attempt) loop(ctx context.Context) error {
	for {
		switch {
		case a.othersRun():
			return nil
		case a.s.Status.Terminal(), a.s.Status == run.StatusAwaitingApproval:
			return a.wrapUp(ctx)
		case !a.mine():
			a.take()
			continue
		case a.told():
			return a.handBack(ctx)
		}
		err := a.perform(ctx, run.Next(a.s, a.rules()))
		var fenced *eventstore.FencedError
		switch {
		case errors.Is(err, errLost):
		case errors.As(err, &fenced), !a.t.lease.Valid():
			a.Log.Warn("a run was lost to another worker", "run_id", a.s.ID)
			return nil // what is not in the log by now is not this process's to record
		case errors.Is(err, eventstore.ErrInvalid):
			return a.giveUp(ctx, err)
		case errors.Is(context.Cause(ctx), tools.ErrRunEnded):
			return a.wrapUp(ctx)
		case errors.Is(context.Cause(ctx), errStopped):
			return a.handBack(ctx)
		case ctx.Err() != nil:
			return a.flushOrMoveOn(ctx) // what happened is recorded, the rest waits
		case err != nil:
			return err
		}
	}
}

// told reports whether the process stops.
func (a *attempt) told() bool {
	select {
	case <-a.stopping:
		return true
	default:
		return false
	}
}

// handBack puts the run before the workers again, with all that happened recorded.
func (a *attempt) handBack(ctx context.Context) error {
	if a.s.InFlight != nil {
		a.stage(run.ModelCallAbandoned{ModelCallIndex: a.s.InFlight.Index, StepID: a.s.InFlight.StepID, Reason: "the server stopped while the model call was under way"})
	}
	a.stage(a.endTerminals()...)
	a.stage(run.Queued{Kind: run.Orchestrator, Route: a.s.Route, Resume: true})
	return a.flushOrMoveOn(ctx)
}

// giveUp ends a run whose next facts the log can never take, because they break one
// of its limits. Trying again would change nothing.
func (a *attempt) giveUp(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	if err := a.fold(ctx, a.s.ID); err != nil {
		return err
	}
	a.stage(a.s.Failing(run.Fail{Reason: "unrecordable", Message: "what happened could not be recorded: " + cause.Error()})...)
	return a.flushOrMoveOn(ctx)
}

func (a *attempt) fold(ctx context.Context, id string) error {
	s, err := a.Executor.LoadRun(ctx, id)
	if err != nil {
		return fmt.Errorf("fold run %s: %w", id, err)
	}
	a.s, a.staged = s, nil
	if s.Status.Terminal() {
		a.over = s.Version
	}
	a.client, a.tools, a.encoded, a.chars = nil, nil, nil, 0
	clear(a.ready)
	return nil
}

// rules are what decisions are made under at this moment.
func (a *attempt) rules() run.Rules {
	r := run.Rules{Posture: a.posture(), Repeat: a.pendingRepeat}
	r.Facts = func(c run.ToolCall) permission.Call { return a.call(c, r.Posture) }
	if r.Posture.Config.Repetition.On(a.s.Spec.Posture == permission.PostureLevels) {
		limits := r.Posture.Config.Repetition.Effective()
		r.Limits = &limits
	}
	a.watched = r.Limits != nil
	return r
}

// call is a call as decisions see it. What is refused without that is not looked up:
// a name server would see the host.
func (a *attempt) call(c run.ToolCall, under permission.Posture) permission.Call {
	p, at := a.prepare(c), a.place()
	at.Offline = true
	_, there := a.program(p)
	out := permission.Call{Tool: c.Name, Propose: p.Propose, Void: p.err != nil || !there, Facts: a.facts(p, at)}
	if !permission.NamesURL(c.Name) || permission.Decide(out, under).Decision == permission.Deny {
		return out
	}
	out.Facts = a.facts(p, a.place())
	return out
}

// posture is what the server, the files and the run say about calls at this moment.
func (a *attempt) posture() permission.Posture {
	p := permission.Posture{Policies: a.Executor.Policies, PrivateAddrs: a.Settings.HTTP.AllowPrivateIPs, Hidden: a.hidden()}
	p.ShellOffline = !a.s.Spec.Network && a.Settings.Wrapper.Holds(false, false, true) == nil
	if a.Permissions != nil {
		project := a.project()
		p.Config = a.Permissions.For(project)
		p.Project = (filepath.IsAbs(project.Dir) || filepath.IsAbs(project.File)) && !p.Config.Unaccepted
		if rel, err := filepath.Rel(a.s.WorkspacePath, project.File); err == nil && project.File != "" {
			p.Protected = []string{rel} // in a workspace that is the project itself
		}
	}
	return a.s.Posture(p)
}

// hidden are the directories of the server that stand in the workspace, below its root.
func (a *attempt) hidden() []string { return below(a.s.WorkspacePath, a.Settings.Hidden) }

// below returns those of the directories that stand in root, as paths below it.
func below(root string, dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			out = append(out, rel)
		}
	}
	return out
}

// project is what the run's permission files belong to: the original, never a copy.
func (a *attempt) project() permissions.Project {
	return permissions.Project{Dir: a.s.Spec.WorkingDirectory, File: a.s.Ahead.ProjectConfig}
}

// projectFile is where an answer for good is written; "" if there is no such place.
func (a *attempt) projectFile() string {
	if a.Permissions == nil {
		return ""
	}
	return a.Permissions.ProjectFile(a.project())
}

// facts are what a call would touch. Without them it is covered by no grant, and asks
// where a deny could be about it; so it is with a tool that panics over them.
func (a *attempt) facts(p prepared, at tools.Place) (f permission.Facts) {
	if p.Facts == nil {
		return permission.Facts{}
	}
	defer func() {
		if r := recover(); r != nil {
			a.Log.Warn("a tool cannot say what a call would touch", "run_id", a.s.ID, "panic", r)
			f = permission.Facts{}
		}
	}()
	return p.Facts(at)
}

// place is where calls act; not known before the workspace is open.
func (a *attempt) place() tools.Place {
	return tools.Place{Root: a.root, Path: a.s.WorkspacePath, Terminals: a.terminals()}
}

// prepare reads a call's arguments once. Ids are unique within one answer only, so
// what is kept goes with the answer.
func (a *attempt) prepare(c run.ToolCall) prepared {
	if p, ok := a.ready[c.ID]; ok {
		return p
	}
	var p prepared
	t, ok := a.known[c.Name]
	if !ok || t.Direct != (a.s.Spec.ExecutionKind != run.KindAgentLoop) {
		p.err = fmt.Errorf("unknown tool: %s", c.Name)
	} else {
		p = read(t, c)
	}
	a.ready[c.ID] = p
	return p
}

// read has a tool read a call's arguments. A panic in it is an answer to the model.
func read(t tools.Tool, c run.ToolCall) (p prepared) {
	defer func() {
		if r := recover(); r != nil {
			p = prepared{err: fmt.Errorf("%s tool internal error: %v", c.Name, r)}
		}
	}()
	p.Prepared, p.err = t.Prepare(argumentsOf(c))
	return p
}

// argumentsOf is the text that the model wrote; nothing at all means no arguments.
func argumentsOf(c run.ToolCall) json.RawMessage {
	text := c.Arguments.String()
	if text == "" {
		text = "{}"
	}
	return json.RawMessage(text)
}

// stage folds facts now and keeps them until the next flush, so that neighbours
// without an effect between them become durable together.
func (a *attempt) stage(payloads ...event.Payload) {
	now := a.Clock.Now()
	for _, p := range payloads {
		// The id makes a repeated append harmless whose first answer was lost.
		e := event.Event{ID: a.Executor.NewID(), Version: a.s.Version + 1, At: now, Payload: p}
		a.s.Apply(e)
		a.staged = append(a.staged, e)
	}
}

// flush makes what is staged durable. It goes on after ctx has ended, because a
// result that was obtained must not be lost with it.
func (a *attempt) flush(ctx context.Context) error {
	if len(a.staged) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
	defer stop()
	return a.saveAll(ctx)
}

// saveAll makes the staged events durable, piece by piece.
func (a *attempt) saveAll(ctx context.Context) error {
	for len(a.staged) > 0 {
		if err := a.save(ctx, a.staged[:min(len(a.staged), recordMax)]); err != nil {
			return err
		}
	}
	a.staged = nil
	return nil
}

// save makes the first of the staged events durable.
func (a *attempt) save(ctx context.Context, events []event.Event) error {
	var err error
	for range saveTries {
		_, err = a.Executor.Record(ctx, a.meta(), a.s, a.epochFor(events), events)
		var conflict *eventstore.ConflictError
		var fenced *eventstore.FencedError
		switch {
		case err == nil:
			a.staged = a.staged[len(events):]
			return nil
		case errors.As(err, &conflict):
			return a.moveOn(ctx)
		case errors.As(err, &fenced), errors.Is(err, eventstore.ErrInvalid), errors.Is(err, eventstore.ErrClosed):
			return fmt.Errorf("record run %s: %w", a.s.ID, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("record run %s: %w", a.s.ID, err)
		case <-a.t.lease.Done():
			return tools.ErrLeaseLost
		case <-time.After(savePause):
		}
	}
	return fmt.Errorf("record run %s: %w", a.s.ID, err)
}

// epochFor is what guards an append. With the end of the run its claim is gone; what
// is added then changes nothing in it.
func (a *attempt) epochFor(events []event.Event) int64 {
	if a.over > 0 && events[0].Version > a.over {
		return 0
	}
	return a.epoch
}

func (a *attempt) flushOrMoveOn(ctx context.Context) error {
	if err := a.flush(ctx); err != nil && !errors.Is(err, errLost) {
		return err
	}
	return nil
}

// moveOn folds the run anew after somebody else changed it. Of a run that was ended
// while this attempt had it, the results that are not in the log yet are recorded:
// they change nothing more in it.
func (a *attempt) moveOn(ctx context.Context) error {
	results := lateResults(a.staged)
	if err := a.fold(ctx, a.s.ID); err != nil {
		return err
	}
	if len(results) > 0 && a.mine() && a.s.Status.Terminal() && !a.recorded(results) {
		a.stage(results...)
		if err := a.saveAll(ctx); err != nil {
			return fmt.Errorf("record late results: %w", err)
		}
	}
	return errLost
}

// recorded reports whether the log holds the results already: the append that
// seemed to fail had been made durable.
func (a *attempt) recorded(results []event.Payload) bool {
	for _, p := range results {
		d, ok := p.(run.DispatchSettled)
		if !ok {
			continue
		}
		for _, b := range []*run.Batch{a.s.Batch, a.s.Direct} {
			if b == nil {
				continue
			}
			if _, in := b.Settled[d.ToolCallID]; in {
				return true
			}
		}
	}
	return false
}

// lateResults picks what happened in the world, as opposed to what would have
// happened next in a run that has moved on.
func lateResults(staged []event.Event) []event.Payload {
	var out []event.Payload
	for _, e := range staged {
		switch e.Payload.(type) {
		case run.ShellOutput, run.ShellExited, run.ToolCompleted, run.ToolFailed, run.ToolCancelled, run.ToolTimedOut,
			run.FilePatch, run.ArtifactRecorded, run.WorkspaceChanged, run.DispatchSettled, run.ModelCallCompleted, run.ProgressCheckCompleted:
			out = append(out, e.Payload)
		}
	}
	return out
}

// wrapUp records what is left to record here. Of a run that was ended from outside
// these are late results and a last look at the workspace.
func (a *attempt) wrapUp(ctx context.Context) error {
	if err := a.flushOrMoveOn(ctx); err != nil {
		return err
	}
	ended := errors.Is(context.Cause(ctx), tools.ErrRunEnded) || a.s.Status == run.StatusCancelled
	if !ended || !a.mine() || a.root == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := a.fold(ctx, a.s.ID); err != nil {
		return err
	}
	a.windUp(ctx)
	return a.flushOrMoveOn(ctx)
}

func (a *attempt) meta() commands.Meta {
	return commands.Meta{Actor: eventstore.Actor{Kind: "worker", Name: a.NodeID}}
}
