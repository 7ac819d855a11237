package commands_test

import (
	"slices"
	"strings"
	"testing"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/domain/task"
)

// Whether a run can be followed depends on where it stands and on what it is.
func TestWhichRunsCanBeFollowed(t *testing.T) {
	const (
		ok       = fault.Kind("")
		conflict = fault.KindConflict
		invalid  = fault.KindInvalid
	)
	shell := run.KindShell
	for _, c := range []struct {
		name, kind                      string
		lead                            func(t *testing.T, x *commands.Executor, taskID, runID string) // to where the run stands
		retry, resume, goOn, branchKind fault.Kind
	}{
		{"queued", "", nil, conflict, conflict, conflict, invalid},
		{"running", "", func(t *testing.T, x *commands.Executor, _, runID string) {
			begin(t, x, runID)
			ask(t, x, runID, 0, "a")
		}, conflict, conflict, conflict, invalid},
		{"waiting for a person", "", func(t *testing.T, x *commands.Executor, _, runID string) {
			begin(t, x, runID)
			ask(t, x, runID, 0, "a")
			advance(t, x, runID, run.AwaitingApproval{})
		}, conflict, conflict, conflict, invalid},
		{"completed", "", func(t *testing.T, x *commands.Executor, _, runID string) {
			begin(t, x, runID)
			ask(t, x, runID, 0)
			advance(t, x, runID, run.Finished{FinalStatus: run.StatusCompleted})
		}, ok, conflict, ok, ok},
		{"failed", "", func(t *testing.T, x *commands.Executor, _, runID string) {
			begin(t, x, runID)
			ask(t, x, runID, 0)
			fail(t, x, runID)
		}, ok, ok, ok, ok},
		{"cancelled", "", func(t *testing.T, x *commands.Executor, taskID, runID string) {
			begin(t, x, runID)
			ask(t, x, runID, 0, "a", "b")
			cancel(t, x, taskID, runID)
		}, ok, ok, ok, ok},
		{"failed before the first answer", "", func(t *testing.T, x *commands.Executor, _, runID string) {
			begin(t, x, runID)
			fail(t, x, runID)
		}, ok, ok, ok, invalid},
		{"cancelled before it began", "", cancel, ok, ok, invalid, invalid},
		{"shell, queued", shell, nil, conflict, conflict, invalid, invalid},
		{"shell, failed", shell, func(t *testing.T, x *commands.Executor, _, runID string) {
			begin(t, x, runID)
			fail(t, x, runID)
		}, ok, ok, invalid, invalid},
		{"shell, completed", shell, func(t *testing.T, x *commands.Executor, _, runID string) {
			begin(t, x, runID)
			advance(t, x, runID, run.Finished{FinalStatus: run.StatusCompleted})
		}, ok, conflict, invalid, invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, want := range map[string]fault.Kind{"retry": c.retry, "resume": c.resume, "continue": c.goOn, "branch": c.branchKind} {
				x := newExecutor(t)
				d := agent()
				if c.kind == shell {
					d = shellTask()
				}
				taskID, runID := start(t, x, d)
				if c.lead != nil {
					c.lead(t, x, taskID, runID)
				}
				head, _ := x.Store.Head(t.Context())
				r, err := actions[name](x, t, commands.Meta{}, taskID, runID)
				if want == ok && (err != nil || r.RunID == runID || r.State.Number != 2 || r.State.Status != run.StatusQueued) {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
				if want == ok {
					continue
				}
				if f, is := fault.Of(err); !is || f.Kind != want || f.Code != "invalid_request" {
					t.Errorf("%s gives %v, want %s", name, err, want)
				}
				if now, _ := x.Store.Head(t.Context()); now != head {
					t.Errorf("%s was refused and wrote %d events", name, now-head)
				}
			}
		})
	}
}

func cancel(t *testing.T, x *commands.Executor, taskID, runID string) {
	t.Helper()
	if _, err := x.CancelRun(t.Context(), commands.Meta{}, taskID, runID, ""); err != nil {
		t.Fatal(err)
	}
}

// Another run of the task that is open stands in the way of all, whatever the source.
func TestAnOpenRunStandsInTheWay(t *testing.T) {
	x := newExecutor(t)
	taskID, first := failed(t, x, agent(), 0)
	if _, err := x.StartRun(t.Context(), commands.Meta{}, taskID, run.Ahead{}); err != nil {
		t.Fatal(err)
	}
	for name, do := range actions {
		if _, err := do(x, t, commands.Meta{}, taskID, first); !isKind(err, fault.KindConflict) || !strings.Contains(err.Error(), "active run") {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

func TestFollowingWhatIsNotThere(t *testing.T) {
	x := newExecutor(t)
	taskID, _ := failed(t, x, agent(), 0)
	_, foreign := failed(t, x, agent(), 0)
	gone, goneRun := failed(t, x, agent(), 0)
	if _, err := x.DeleteTask(t.Context(), commands.Meta{}, gone); err != nil {
		t.Fatal(err)
	}
	for name, do := range actions {
		for what, ids := range map[string][2]string{
			"a run of another task": {taskID, foreign}, "no run": {taskID, "run_none"}, "no task": {"task_none", foreign}, "a deleted task": {gone, goneRun},
		} {
			if _, err := do(x, t, commands.Meta{}, ids[0], ids[1]); !isKind(err, fault.KindNotFound) {
				t.Errorf("%s of %s gives %v", name, what, err)
			}
		}
	}
}

func TestBadRequestsToFollow(t *testing.T) {
	x := newExecutor(t)
	d := agent()
	d.BudgetMicroUSD = 1000
	taskID, runID := failed(t, x, d, 1)
	head, _ := x.Store.Head(t.Context())
	resume := func(budget int64) error {
		_, err := x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: runID, BudgetMicro: budget})
		return err
	}
	branch := func(index int64) error {
		_, err := x.RetryFromModelCall(t.Context(), commands.Meta{}, commands.RetryFromModelCall{TaskID: taskID, RunID: runID, ModelCallIndex: index})
		return err
	}
	prompt := func(text string) error {
		_, err := x.ContinueRun(t.Context(), commands.Meta{}, taskID, runID, text, run.Ahead{})
		return err
	}
	for name, err := range map[string]error{
		"a negative ceiling":         resume(-1),
		"a lower ceiling":            resume(999),
		"more than a ceiling can be": resume(task.BudgetMax + 1),
		"call 0":                     branch(0),
		"call -1":                    branch(-1),
		"a call after the last":      branch(2),
		"no prompt":                  prompt(""),
		"a blank prompt":             prompt(" \n\t"),
	} {
		if f, is := fault.Of(err); !is || f.Kind != fault.KindInvalid || f.Code != "invalid_request" {
			t.Errorf("%s gives %v", name, err)
		}
	}
	if now, _ := x.Store.Head(t.Context()); now != head {
		t.Errorf("refused requests wrote %d events", now-head)
	}
}

// What a run takes over depends on how it follows its source.
func TestWhatAFollowerTakesOver(t *testing.T) {
	for name, want := range map[string]struct {
		kind                 run.SourceKind
		reason               string
		index                int64
		workspace, inherited bool
	}{
		"retry":    {run.SourceRetry, "again", 0, false, false},
		"resume":   {run.SourceResume, "the network is back", 0, true, true},
		"continue": {run.SourceContinue, "session_prompt", 0, true, true},
		"branch":   {run.SourceBranch, "", 1, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newExecutor(t)
			taskID, runID := failed(t, x, agent(), 7)
			source := advance(t, x, runID)
			r, err := actions[name](x, t, commands.Meta{}, taskID, runID)
			if err != nil {
				t.Fatal(err)
			}
			s := advance(t, x, r.RunID)
			src := s.Source
			if src.Kind != want.kind || src.RunID != runID || src.Reason != want.reason || src.ModelCallIndex != want.index ||
				src.Sequence != source.Position || src.StepID != source.StepID(source.Steps) {
				t.Errorf("source %+v", src)
			}
			if (s.WorkspacePath == source.WorkspacePath) != want.workspace || (len(s.Conversation) > 0) != want.inherited || s.Seeded != want.inherited {
				t.Errorf("workspace %q, %d messages", s.WorkspacePath, len(s.Conversation))
			}
			if s.CallsDone != 0 || s.Steps != 0 || s.Status != run.StatusQueued {
				t.Errorf("it begins with %d calls and %d steps as %s", s.CallsDone, s.Steps, s.Status)
			}
			if told := count(types(t, x, commands.RunStream(r.RunID)), "run.resumed_from_event"); (told == 1) != want.workspace {
				t.Errorf("told %d times", told)
			}
		})
	}
}

// A branch has what was said before the answer that is asked for again, also when the
// source had resumed another run.
func TestABranchIsCutBeforeItsAnswer(t *testing.T) {
	x := newExecutor(t)
	taskID, first := start(t, x, agent())
	begin(t, x, first)
	ask(t, x, first, 0, "a")
	settle(t, x, first, "a", run.OutcomeCompleted)
	ask(t, x, first, 0, "b", "c")
	settle(t, x, first, "b", run.OutcomeCompleted)
	cancel(t, x, taskID, first)

	r, err := x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: first})
	if err != nil {
		t.Fatal(err)
	}
	second := r.RunID
	begin(t, x, second)
	settle(t, x, second, "c", run.OutcomeCompleted)
	ask(t, x, second, 0, "d")
	settle(t, x, second, "d", run.OutcomeCompleted)
	ask(t, x, second, 0)
	fail(t, x, second)

	for _, c := range []struct {
		runID string
		index int64
		want  string
	}{
		{first, 1, "user"},
		{first, 2, "user a< a>"},
		{second, 1, "user a< a> b,c< b> c>"},
		{second, 2, "user a< a> b,c< b> c> d< d>"},
	} {
		r, err := x.RetryFromModelCall(t.Context(), commands.Meta{}, commands.RetryFromModelCall{TaskID: taskID, RunID: c.runID, ModelCallIndex: c.index})
		if err != nil {
			t.Fatal(err)
		}
		s := advance(t, x, r.RunID)
		if got := talk(s.Conversation); got != c.want || s.Batch != nil {
			t.Errorf("call %d: %q, want %q; batch %+v", c.index, got, c.want, s.Batch)
		}
		cancel(t, x, taskID, r.RunID)
	}
	_, err = x.RetryFromModelCall(t.Context(), commands.Meta{}, commands.RetryFromModelCall{TaskID: taskID, RunID: second, ModelCallIndex: 3})
	if !isKind(err, fault.KindInvalid) {
		t.Errorf("an answer of the run before gives %v", err)
	}
}

// talk writes a conversation down: who speaks, calls as id<, results as id>.
func talk(conversation []run.Message) string {
	var out []string
	for _, m := range conversation {
		switch {
		case m.Role == run.RoleTool:
			out = append(out, m.ToolCallID+">")
		case len(m.ToolCalls) > 0:
			var ids []string
			for _, c := range m.ToolCalls {
				ids = append(ids, c.ID)
			}
			out = append(out, strings.Join(ids, ",")+"<")
		default:
			out = append(out, string(m.Role))
		}
	}
	return strings.Join(out, " ")
}

// A long chain keeps every message once, in order, and forgets none.
func TestALongChainKeepsItsConversation(t *testing.T) {
	x := newExecutor(t)
	taskID, runID := start(t, x, agent())
	want := []string{"user"}
	for i := range 12 {
		begin(t, x, runID)
		ask(t, x, runID, 1)
		fail(t, x, runID)
		want = append(want, "assistant")
		var r commands.RunResult
		var err error
		if i%2 == 0 {
			r, err = x.ContinueRun(t.Context(), commands.Meta{}, taskID, runID, "more", run.Ahead{})
			want = append(want, "user")
		} else {
			r, err = x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: runID})
			want = append(want, "user") // an answer that ended nothing is asked to go on
		}
		if err != nil {
			t.Fatal(err)
		}
		runID = r.RunID
	}
	s := advance(t, x, runID)
	if got := strings.Split(talk(s.Conversation), " "); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if s.PriorPicoUSD != 12_000_000 || s.Number != 13 {
		t.Errorf("prior %d, number %d", s.PriorPicoUSD, s.Number)
	}
}

// A run that a gate stands before asks anew each time that it is followed; what was
// approved once is worth nothing.
func TestFollowersStandBeforeTheGateAgain(t *testing.T) {
	x := newExecutor(t, permission.Default...)
	taskID, runID := start(t, x, shellTask())
	asked := advance(t, x, runID).Approval
	if _, err := x.ResolveApproval(t.Context(), commands.Meta{}, taskID, run.Resolution{ApprovalID: asked.ApprovalID, Decision: "approve"}); err != nil {
		t.Fatal(err)
	}
	begin(t, x, runID)
	fail(t, x, runID)
	digests := map[string]bool{asked.Digest: true}
	for _, name := range []string{"resume", "retry"} {
		r, err := actions[name](x, t, commands.Meta{}, taskID, runID)
		if err != nil {
			t.Fatal(err)
		}
		s := advance(t, x, r.RunID)
		if s.Status != run.StatusAwaitingApproval || s.Granted != nil || s.Approval == nil || digests[s.Approval.Digest] || s.Approval.ApprovalID == asked.ApprovalID {
			t.Fatalf("%s: the run is %s with %+v, %+v", name, s.Status, s.Approval, s.Granted)
		}
		digests[s.Approval.Digest] = true
		cancel(t, x, taskID, r.RunID)
	}
}

// A text that stands outside the log comes along.
func TestLongMessagesAreInherited(t *testing.T) {
	x := newExecutor(t)
	d := agent()
	long := strings.Repeat("long ", 8<<10)
	d.Prompt = event.NewText(long + "prompt")
	taskID, runID := failed(t, x, d, 0)
	r, err := x.ContinueRun(t.Context(), commands.Meta{}, taskID, runID, long+"more", run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	s := advance(t, x, r.RunID)
	if got := s.Conversation[0].Content.String(); got != strings.TrimSpace(long+"prompt") {
		t.Errorf("the prompt has %d bytes", len(got))
	}
	if got := s.Conversation[2].Content.String(); got != long+"more" {
		t.Errorf("the new prompt has %d bytes", len(got))
	}
}

// What an operator finds out about a call of an earlier run reaches the next run of
// the chain that is opened after it, and no other.
func TestAFindingAboutAnEarlierRunIsToldOnce(t *testing.T) {
	x := newExecutor(t)
	taskID, first := start(t, x, agent())
	begin(t, x, first)
	ask(t, x, first, 0, "a")
	step := advance(t, x, first).NextStepID()
	advance(t, x, first, run.DispatchIntended{ModelCallIndex: 1, ToolCallID: "a", ToolName: "shell_exec", StepID: step})
	cancel(t, x, taskID, first)
	var told []int
	resume := func(from string) string {
		t.Helper()
		r, err := x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: from})
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, len(r.State.Notes))
		begin(t, x, r.RunID)
		if len(r.State.Notes) > 0 {
			advance(t, x, r.RunID, run.ConversationSeeded{Messages: r.State.Notes}) // the model is told
		}
		cancel(t, x, taskID, r.RunID)
		return r.RunID
	}
	second := resume(first)
	if _, err := x.StateOutcome(t.Context(), commands.Meta{}, commands.StateOutcome{TaskID: taskID, RunID: first, StepID: step, Outcome: "done"}); err != nil {
		t.Fatal(err)
	}
	third := resume(second)
	resume(third)
	if !slices.Equal(told, []int{0, 1, 0}) {
		t.Errorf("notes of the runs: %v", told)
	}
}
