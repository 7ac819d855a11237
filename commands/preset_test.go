package commands_test

import (
	"reflect"
	"strings"
	"testing"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/preset"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// careful asks before every call and has instructions of its own.
func careful() preset.Definition {
	return preset.Definition{
		Name: "Careful", Surface: preset.SurfaceTask, ToolsEnabled: true, Approval: preset.ApprovalRequire, Instructions: "Be careful.",
	}
}

func newPreset(t *testing.T, x *commands.Executor, id string, d preset.Definition) {
	t.Helper()
	if _, err := x.CreatePreset(t.Context(), commands.Meta{}, id, d); err != nil {
		t.Fatal(err)
	}
}

func update(t *testing.T, x *commands.Executor, id string, c preset.Change) {
	t.Helper()
	if _, err := x.UpdatePreset(t.Context(), commands.Meta{}, id, c); err != nil {
		t.Fatal(err)
	}
}

// A policy gets an id, is found under it, changes and goes.
func TestPresetLife(t *testing.T) {
	x := newExecutor(t)
	r, err := x.CreatePreset(t.Context(), commands.Meta{}, " ", careful())
	id := r.State.ID
	if err != nil || !strings.HasPrefix(id, "prof_") || len(id) != len("prof_")+24 || r.Position != 1 || r.State.CreatedAt.IsZero() {
		t.Fatalf("%+v, %v", r, err)
	}
	name := "Other"
	if r, err = x.UpdatePreset(t.Context(), commands.Meta{}, id, preset.Change{Name: &name}); err != nil || r.State.Definition.Name != name || r.Position != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = x.UpdatePreset(t.Context(), commands.Meta{}, id, preset.Change{}); err != nil || r.State.Definition.Name != name || r.Position != 0 {
		t.Errorf("changing nothing: %+v, %v", r, err)
	}
	if s, err := x.LoadPreset(t.Context(), id); err != nil || s.Definition.Name != name {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := x.DeletePreset(t.Context(), commands.Meta{}, id); err != nil {
		t.Error(err)
	}
	for _, missing := range []string{id, "nobody", "no/id"} {
		if _, err := x.LoadPreset(t.Context(), missing); !isKind(err, fault.KindNotFound) {
			t.Errorf("%s is found: %v", missing, err)
		}
		if _, err := x.DeletePreset(t.Context(), commands.Meta{}, missing); !isKind(err, fault.KindNotFound) {
			t.Errorf("%s is deleted: %v", missing, err)
		}
	}
	if s, err := x.LoadPreset(t.Context(), "planning"); err != nil || !s.BuiltIn {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := x.CreatePreset(t.Context(), commands.Meta{}, "no/id", careful()); !isKind(err, fault.KindInvalid) {
		t.Errorf("a strange id gives %v", err)
	}
}

// Of many who want an id at once one gets it.
func TestOneOfManyPresets(t *testing.T) {
	x := newExecutor(t)
	errs := make([]error, 12)
	atOnce(len(errs), func(i int) { _, errs[i] = x.CreatePreset(t.Context(), commands.Meta{}, "mine", careful()) })
	good := 0
	for _, err := range errs {
		if err == nil {
			good++
		} else if !isKind(err, fault.KindConflict) {
			t.Error(err)
		}
	}
	if got := types(t, x, commands.PresetStream("mine")); good != 1 || len(got) != 1 {
		t.Errorf("%d got it: %v", good, got)
	}
}

// A repeated command gets the first one's answer, also after the policy has gone.
func TestPresetCommandsRepeat(t *testing.T) {
	x := newExecutor(t)
	m := commands.Meta{CommandID: "create-1"}
	first, err := x.CreatePreset(t.Context(), m, "", careful())
	if err != nil {
		t.Fatal(err)
	}
	id := first.State.ID
	remove := commands.Meta{CommandID: "delete-1"}
	for range 2 {
		if _, err := x.DeletePreset(t.Context(), remove, id); err != nil {
			t.Fatal(err)
		}
	}
	again, err := x.CreatePreset(t.Context(), m, "", careful())
	if err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("first %+v, again %+v, %v", first, again, err)
	}
	if got := types(t, x, commands.PresetStream(id)); len(got) != 2 {
		t.Errorf("events are %v", got)
	}
}

// created is what a run froze.
func created(t *testing.T, x *commands.Executor, runID string) run.Spec {
	t.Helper()
	s, err := x.LoadRun(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	return s.Spec
}

// Neither a change of its policy nor its end reaches a task, its runs or those that
// come after them.
func TestATaskKeepsItsPolicy(t *testing.T) {
	x := newExecutor(t)
	newPreset(t, x, "mine", careful())
	made, err := x.CreateTaskFrom(t.Context(), commands.Meta{}, "mine", agent())
	if err != nil {
		t.Fatal(err)
	}
	id := made.TaskID
	first, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	want := created(t, x, first.RunID)
	if want.Preset == nil || want.Preset.ID != "mine" || want.Preset.Approval != preset.ApprovalRequire || !want.ReadOnly ||
		want.SystemPrompt.String() != "Be careful." || want.Posture != permission.PostureRuntime {
		t.Fatalf("the run froze %+v with %+v", want, want.Preset)
	}

	yes, allow, text := true, preset.ApprovalAllow, "Do as you like."
	update(t, x, "mine", preset.Change{WritesAllowed: &yes, NetworkAllowed: &yes, Approval: &allow, Instructions: &text})
	last := first.RunID
	same := func(how string, open func() (commands.RunResult, error)) {
		t.Helper()
		if _, err := x.CancelRun(t.Context(), commands.Meta{}, id, last, ""); err != nil {
			t.Fatal(err)
		}
		r, err := open()
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		last = r.RunID
		if got := created(t, x, last); !reflect.DeepEqual(got, want) {
			t.Errorf("%s froze %+v with %+v", how, got, got.Preset)
		}
	}
	retry := func() (commands.RunResult, error) {
		return x.RetryRun(t.Context(), commands.Meta{}, id, last, "", run.Ahead{})
	}
	same("a retry after a change", retry)
	if _, err := x.DeletePreset(t.Context(), commands.Meta{}, "mine"); err != nil {
		t.Fatal(err)
	}
	same("a retry after the end", retry)
	same("a resume", func() (commands.RunResult, error) {
		return x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: id, RunID: last})
	})
	same("a start", func() (commands.RunResult, error) {
		return x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{})
	})
	newPreset(t, x, "mine", preset.Definition{Name: "Another of that name", ToolsEnabled: true, WritesAllowed: true})
	same("a retry beside another policy of the id", retry)
}

// A task cannot be made from a policy that is not there or not for tasks.
func TestTasksOfUnknownPolicies(t *testing.T) {
	x := newExecutor(t)
	shell := shellTask()
	for id, d := range map[string]task.Definition{"nobody": agent(), "no/id": agent(), "safe_external_review": agent(), "planning": shell} {
		_, err := x.CreateTaskFrom(t.Context(), commands.Meta{}, id, d)
		if !isKind(err, fault.KindInvalid) || !strings.Contains(err.Error(), "agent_preset_id") {
			t.Errorf("%s: %v", id, err)
		}
	}
	if head, err := x.Store.Head(t.Context()); head != 0 || err != nil {
		t.Errorf("the log has %d events, %v", head, err)
	}
}

// A repeated request is answered from the log, even if its policy has gone meanwhile.
func TestATaskOfAPolicyRepeats(t *testing.T) {
	x := newExecutor(t)
	newPreset(t, x, "mine", careful())
	m := commands.Meta{CommandID: "task-1"}
	first, err := x.CreateTaskFrom(t.Context(), m, "mine", agent())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.DeletePreset(t.Context(), commands.Meta{}, "mine"); err != nil {
		t.Fatal(err)
	}
	if again, err := x.CreateTaskFrom(t.Context(), m, "mine", agent()); err != nil || again.TaskID != first.TaskID {
		t.Errorf("first %s, again %s, %v", first.TaskID, again.TaskID, err)
	}
}

// A policy without tools has no network that could be approved; one with tools has.
func TestNetworkOfAPolicy(t *testing.T) {
	x := newExecutor(t, permission.PolicyNetwork)
	for tools, want := range map[bool]run.Status{true: run.StatusAwaitingApproval, false: run.StatusQueued} {
		d := careful()
		d.ToolsEnabled, d.NetworkAllowed = tools, true
		r, err := x.CreatePreset(t.Context(), commands.Meta{}, "", d)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x.CreateTaskFrom(t.Context(), commands.Meta{}, r.State.ID, agent())
		if err != nil {
			t.Fatal(err)
		}
		started, err := x.StartRun(t.Context(), commands.Meta{}, made.TaskID, run.Ahead{})
		if err != nil || started.State.Status != want {
			t.Errorf("with tools %t a run starts as %v, %v", tools, started.State, err)
		}
	}
}

// An operator can forbid that calls ask by levels.
func TestLevelsForbidden(t *testing.T) {
	x := newExecutor(t)
	d := agent()
	d.Posture = permission.PostureLevels
	r, err := x.CreateTask(t.Context(), commands.Meta{}, d)
	if err != nil || r.State.Definition.Posture != permission.PostureLevels {
		t.Fatalf("%+v, %v", r, err)
	}
	x.LevelsForbidden = true
	if _, err := x.CreateTask(t.Context(), commands.Meta{}, d); !isKind(err, fault.KindForbidden) || !strings.Contains(err.Error(), "HECATE_TASK_LEVELS_POSTURE") {
		t.Errorf("forbidden levels give %v", err)
	}
	if _, err := x.CreateTaskFrom(t.Context(), commands.Meta{}, "planning", d); !isKind(err, fault.KindForbidden) {
		t.Errorf("forbidden levels of a policy give %v", err)
	}
	newTask(t, x, agent())
}

// A log that holds an approval which no build writes is read as asking.
func TestAnUnknownApprovalAsks(t *testing.T) {
	x := newExecutor(t)
	p := permission.Posture{Preset: "whatever"}
	if v := permission.Decide(permission.Call{Tool: "read_file"}, p); v.Decision != permission.Ask {
		t.Errorf("it decides %s", v.Decision)
	}
	e, err := event.Encode(preset.Created{Definition: preset.Definition{Name: "n", Surface: preset.SurfaceAny, Approval: "whatever"}}, x.NewSalt)
	if err != nil {
		t.Fatal(err)
	}
	_, err = x.Store.Append(t.Context(), eventstore.Batch{Actor: eventstore.Actor{Kind: "system"}, Streams: []eventstore.StreamAppend{{
		Stream: commands.PresetStream("odd"), Expected: eventstore.NoStream,
		Events: []eventstore.Event{{ID: x.NewID(), Type: e.Type, Schema: e.Schema, At: x.Clock.Now(), Data: e.Data, Salt: x.NewSalt()}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := x.CreateTaskFrom(t.Context(), commands.Meta{}, "odd", agent())
	if err != nil || permission.Preset(made.State.Definition.Preset.Approval) != "whatever" {
		t.Errorf("%+v, %v", made, err)
	}
}
