package runs_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/projections"
	"hecate/projections/projectiontest"
	"hecate/projections/runs"
)

// What is shown of runs that crash, are cancelled, hear of results too late and follow
// each other in all ways is what the domain makes of them.
func TestChainsAreShownAsTheDomainSeesThem(t *testing.T) {
	log := projectiontest.New(t)
	r := newRunner(t, log, memory(t))
	v := runs.NewViews(r, log, nil)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		w := &world{t: rt, story: projectiontest.NewStory(fmt.Sprint("chain", n), run.KindAgentLoop)}
		w.story.Seed("go")
		w.meet()
		w.play()
		for range rapid.IntRange(0, 3).Draw(rt, "runs") {
			w.follow()
			w.play()
		}
		log.AddAll(w.story.Facts)
		if err := r.CatchUp(t.Context()); err != nil {
			rt.Fatal(err)
		}
		for id, s := range w.story.States() {
			compare(rt, v, w.story, id, s)
		}
	})
}

// world plays the runtime, the model, the tools and the operator.
type world struct {
	t     *rapid.T
	story *projectiontest.Story
	s     run.State
	calls int
}

// meet reads the state of the story's run.
func (w *world) meet() { w.s = *w.story.State() }

func (w *world) add(payloads ...event.Payload) {
	for _, p := range payloads {
		w.story.Run(p)
		w.s.Apply(event.Event{Version: w.s.Version + 1, Payload: p})
	}
}

func (w *world) chance(in int, what string) bool { return rapid.IntRange(1, in).Draw(w.t, what) == 1 }

// rules may differ from one moment to the next.
func (w *world) rules() run.Rules {
	policies := rapid.SampledFrom([][]permission.Policy{nil, nil, {permission.PolicyShell}}).Draw(w.t, "policies")
	return run.Rules{
		Posture: permission.Posture{Policies: policies, ReadOnly: w.chance(8, "read_only")},
		Facts:   func(c run.ToolCall) permission.Call { return permission.Call{Tool: c.Name} },
	}
}

// play takes the run further until it ends, in a good way or not.
func (w *world) play() {
	for range rapid.IntRange(0, 25).Draw(w.t, "patience") {
		if w.chance(10, "crash") && w.s.Status == run.StatusRunning {
			w.crash()
		}
		if !w.step() {
			break
		}
		w.find()
	}
	w.add(run.Cancel(&w.s, "enough")...)
	if w.chance(2, "late") {
		w.late()
	}
	w.find()
}

func (w *world) crash() {
	action := rapid.SampledFrom([]string{run.ActionRequeued, run.ActionWaiting}).Draw(w.t, "action")
	w.add(run.Disconnected{Reason: "worker_lease_expired", Action: action, PriorStatus: run.StatusRunning, RecoveredStatus: run.StatusQueued})
}

// step does what is next; false when nothing is.
func (w *world) step() bool {
	r := w.rules()
	switch e := run.Next(&w.s, r).(type) {
	case run.Done:
		return false
	case run.Park:
		p, err := run.Resolve(&w.s, run.Resolution{ApprovalID: w.s.Approval.ApprovalID, Decision: rapid.SampledFrom([]string{"approve", "approve", "reject"}).Draw(w.t, "decision")})
		if err != nil {
			w.t.Fatal(err)
		}
		w.add(p...)
	case run.Begin:
		w.add(run.Claimed{NodeID: "node_a"}, run.Started{Resume: e.Resume, WorkspacePath: "/ws"})
	case run.Abandon:
		w.add(run.ModelCallAbandoned{ModelCallIndex: e.Call.Index, StepID: e.Call.StepID})
	case run.Tell:
		w.add(run.ConversationSeeded(e))
	case run.Warn:
		w.add(run.Warned(e))
	case run.CallModel:
		w.ask(e.Index)
	case run.Ask:
		w.add(w.s.RequestApproval(e, run.Question{})...)
	case run.Refuse:
		w.settle(run.DispatchIntended{ModelCallIndex: e.Index, ToolCallID: e.Call.ID, ToolName: e.Call.Name, StepID: w.s.NextStepID()}, run.OutcomeRefused)
	case run.Block:
		w.settle(run.DispatchIntended{ModelCallIndex: e.Index, ToolCallID: e.Call.ID, ToolName: e.Call.Name, StepID: w.s.NextStepID()}, run.OutcomeBlocked)
	case run.Dispatch:
		w.dispatch(e)
	case run.SettleUnknown:
		if e.Intent.StepID == "" {
			e.Intent.StepID = w.s.NextStepID()
		}
		w.settle(e.Intent, run.OutcomeUnknown)
	case run.Answer:
		w.add(w.s.Conclude(e.Batch)...)
	case run.Fail:
		w.add(w.s.Failing(e)...)
	default:
		w.t.Fatalf("no idea how to do %T", e)
	}
	return true
}

func (w *world) settle(i run.DispatchIntended, o run.Outcome) {
	w.add(run.DispatchSettled{
		ModelCallIndex: i.ModelCallIndex, ToolCallID: i.ToolCallID, ToolName: i.ToolName, StepID: i.StepID, Outcome: o,
		Result: event.NewText(fmt.Sprintf("%s of %s", o, i.ToolCallID)), ToolError: o != run.OutcomeCompleted,
	})
}

// dispatch runs a call, unless the worker is gone before its result is there.
func (w *world) dispatch(e run.Dispatch) {
	i := run.DispatchIntended{ModelCallIndex: e.Index, ToolCallID: e.Call.ID, ToolName: e.Call.Name, StepID: w.s.NextStepID(), StepKind: "tool"}
	if o := w.s.Batch.Origin; o != nil {
		i.SourceRunID, i.SourceIndex = o.RunID, o.Index
	}
	w.add(i)
	switch rapid.IntRange(0, 5).Draw(w.t, "dispatch") {
	case 0:
		w.crash()
	case 1:
		w.add(run.Cancel(&w.s, "")...)
	default:
		w.settle(i, rapid.SampledFrom([]run.Outcome{run.OutcomeCompleted, run.OutcomeFailed}).Draw(w.t, "outcome"))
	}
}

// ask lets the model say something, at the first attempt or a later one, or fail.
func (w *world) ask(index int64) {
	w.add(run.ModelCallStarted{ModelCallIndex: index, StepID: w.s.NextStepID()})
	if w.chance(4, "again") {
		w.add(run.ModelCallRetrying{ModelCallIndex: index, StepID: w.s.InFlight.StepID, Attempt: 1, Provider: "a", NextProvider: "b"})
	}
	switch rapid.IntRange(0, 9).Draw(w.t, "model") {
	case 0:
		partial := event.NewText(rapid.SampledFrom([]string{"", "half"}).Draw(w.t, "partial"))
		w.add(run.ModelCallFailed{ModelCallIndex: index, StepID: w.s.InFlight.StepID, Kind: "overloaded", Message: "busy", Partial: partial, Begun: w.chance(2, "begun")})
		return
	case 1:
		w.crash()
		return
	case 2:
		w.add(run.Cancel(&w.s, "")...)
		return
	}
	m := run.Message{Role: run.RoleAssistant, Content: event.NewText(rapid.SampledFrom([]string{"", "done"}).Draw(w.t, "text"))}
	for range rapid.IntRange(0, 3).Draw(w.t, "calls") {
		w.calls++
		m.ToolCalls = append(m.ToolCalls, run.ToolCall{
			ID: fmt.Sprint("c", w.calls%5), Name: rapid.SampledFrom([]string{"read_file", "shell_exec", "file_edit"}).Draw(w.t, "tool"),
		})
	}
	if len(m.ToolCalls) > 1 && w.chance(8, "twins") {
		m.ToolCalls[1].ID = m.ToolCalls[0].ID
	}
	w.add(w.s.Respond(run.Answered{
		Message: m, FinishReason: rapid.SampledFrom([]string{"stop", "tool_calls", "length"}).Draw(w.t, "finish"),
		CostPicoUSD: 1_300_000, CostKnown: !w.chance(5, "free"),
	})...)
}

// late records what comes to light after the end.
func (w *world) late() {
	if i := w.s.InFlight; i != nil {
		w.add(run.ModelCallCompleted{ModelCallIndex: i.Index, StepID: i.StepID, CostPicoUSD: 700_000, CostKnown: true})
	}
	for _, i := range w.open() {
		w.settle(i, rapid.SampledFrom([]run.Outcome{run.OutcomeCompleted, run.OutcomeCancelled}).Draw(w.t, "late_outcome"))
	}
}

// open are this run's intents without a settlement.
func (w *world) open() (out []run.DispatchIntended) {
	if w.s.Batch == nil {
		return nil
	}
	for _, c := range w.s.Batch.Message.ToolCalls {
		i, begun := w.s.Batch.Intents[c.ID]
		if _, settled := w.s.Batch.Settled[c.ID]; begun && !settled && i.StepID != "" {
			out = append(out, i)
		}
	}
	return out
}

// find lets an operator look into a call.
func (w *world) find() {
	if !w.chance(3, "look") {
		return
	}
	var steps []string
	for _, d := range w.s.Doubtful {
		steps = append(steps, d.Call.StepID)
	}
	for _, i := range w.open() {
		steps = append(steps, i.StepID)
	}
	for _, step := range steps {
		if p, err := run.StateOutcome(&w.s, step, rapid.Bool().Draw(w.t, "done"), "seen"); err == nil {
			w.add(p...)
		}
	}
}

// follow begins a run that goes on from the one before.
func (w *world) follow() {
	kind := rapid.SampledFrom([]run.SourceKind{run.SourceResume, run.SourceResume, run.SourceContinue, run.SourceBranch}).Draw(w.t, "kind")
	inherited, index, err := w.s.Resume(), int64(0), error(nil)
	switch kind {
	case run.SourceContinue:
		inherited, err = w.s.Continue("and now?")
	case run.SourceBranch:
		index = rapid.Int64Range(1, max(1, w.s.CallsDone)).Draw(w.t, "index")
		inherited, err = w.s.Branch(index)
	}
	if err != nil || w.s.Status == run.StatusCompleted && kind == run.SourceResume {
		return
	}
	w.story.Follow(kind, index, "", inherited)
	w.meet()
}

// compare demands that a run reads as its fold says.
func compare(t *rapid.T, v *runs.Views, story *projectiontest.Story, id string, s *run.State) {
	ctx := context.Background()
	got, err := v.Snapshot(ctx, story.TaskID, id, true)
	if err != nil {
		t.Fatal(err)
	}
	steps := s.Steps
	if s.Status == run.StatusFailed {
		steps++ // that it failed
	}
	type account struct {
		Status             run.Status
		Steps, Calls, Cost int64
		Known              bool
		Worker, Waiting    bool
	}
	want := account{s.Status, steps, s.CallsDone, run.MicroUSD(s.SpentPicoUSD), s.CostKnown, s.Claim != nil && !s.Status.Terminal(), s.Waiting && !s.Status.Terminal()}
	r := got.Run
	if diff := cmp.Diff(want, account{run.Status(r.Status), r.StepCount, r.ModelCallCount, r.CostMicroUSD, r.CostKnown, r.WorkerNode != "", r.WaitingReason != ""}); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", id, diff)
	}
	for _, step := range got.Steps {
		if step.ID != s.StepID(step.Index) {
			t.Fatalf("step %d of %s has another id", step.Index, id)
		}
		if step.Status == "running" && s.Status.Terminal() {
			t.Fatalf("step %d of %s runs after its end", step.Index, id)
		}
	}
	messages, err := v.Conversation(ctx, story.TaskID, id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spoken(story, s), shown(messages)); diff != "" {
		t.Fatalf("the conversation of %s (-want +got):\n%s", id, diff)
	}
	calls, err := v.Calls(ctx, story.TaskID, id)
	if err != nil {
		t.Fatal(err)
	}
	compareCalls(t, s, calls)
}

// spoken is the conversation that the domain makes of the log.
func spoken(story *projectiontest.Story, s *run.State) (out []string) {
	byStream := map[string][]event.Payload{}
	for _, f := range story.Facts {
		byStream[f.Stream] = append(byStream[f.Stream], f.Payload)
	}
	var all []run.Message
	for _, seg := range s.Inherited {
		for _, version := range seg.Versions {
			all = append(all, run.MessagesOf(byStream["run-"+seg.RunID][version-1])...)
		}
	}
	for _, m := range append(all, s.Conversation...) {
		line := fmt.Sprint(m.Role, " ", m.Content, " ", m.ToolCallID, " ", m.ToolError)
		for _, c := range m.ToolCalls {
			line += " " + c.ID
		}
		out = append(out, line)
	}
	if s.Failure != nil && s.Failure.Partial.Len() > 0 { // for show
		out = append(out, fmt.Sprint(run.RoleAssistant, " ", s.Failure.Partial, "  false"))
	}
	return out
}

func shown(messages []projections.Message) (out []string) {
	for _, m := range messages {
		line := fmt.Sprint(m.Role, " ", m.Content, " ", m.ToolCallID, " ", m.ToolError)
		for _, c := range m.ToolCalls {
			line += " " + c.ID
		}
		out = append(out, line)
	}
	return out
}

// compareCalls looks at the calls of the last answer, which the fold has in full.
func compareCalls(t *rapid.T, s *run.State, got []projections.Call) {
	b := s.Batch
	if b == nil || run.InvalidBundle(b.Message.ToolCalls) != "" {
		return
	}
	for _, c := range b.Message.ToolCalls {
		want := projections.CallNotStarted
		settled, done := b.Settled[c.ID]
		i, begun := b.Intents[c.ID]
		switch {
		case done && settled.Outcome == run.OutcomeUnknown:
			want = projections.CallUnknown
		case done && settled.Outcome != "":
			want = projections.CallFinished
		case done: // in an earlier run, which says how
			want = ""
		case begun && (s.Status.Terminal() || i.StepID == ""):
			want = projections.CallUnknown
		case begun:
			want = projections.CallRunning
		}
		found := false
		for _, g := range got {
			if g.ToolCallID != c.ID || g.ModelCallIndex != b.Index {
				continue
			}
			found = true
			if want != "" && g.State != want || want == "" && (g.StepRunID == "" || g.Outcome == "") {
				t.Fatalf("call %s of %s is %+v, want %q", c.ID, s.ID, g, want)
			}
			if g.ToolName != c.Name || done && settled.Outcome != "" && g.Outcome != string(settled.Outcome) {
				t.Fatalf("call %s of %s is %+v, settled %+v", c.ID, s.ID, g, settled)
			}
		}
		if !found {
			t.Fatalf("call %s of %s is not shown", c.ID, s.ID)
		}
	}
}
