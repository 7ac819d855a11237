package task_test

import (
	"reflect"
	"strings"
	"testing"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/preset"
	"hecate/domain/run"
	"hecate/domain/task"
)

func agent() task.Definition {
	return task.Definition{ExecutionKind: run.KindAgentLoop, Prompt: event.NewText("go")}
}

// policy is one of somebody's own.
func policy(t *testing.T, d preset.Definition) preset.State {
	t.Helper()
	if d.Name == "" {
		d.Name = "Mine"
	}
	d, err := d.Normalize()
	if err != nil {
		t.Fatal(err)
	}
	return preset.State{ID: "mine", Exists: true, Definition: d}
}

func invalid(t *testing.T, err error, want string) {
	t.Helper()
	if f, ok := fault.Of(err); !ok || f.Kind != fault.KindInvalid || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want it to name %q", err, want)
	}
}

// A task keeps all that its policy says about its runs.
func TestFollowFreezes(t *testing.T) {
	p := policy(t, preset.Definition{
		Surface: preset.SurfaceTask, ToolsEnabled: true, NetworkAllowed: true, BrowserInteractions: true, BrowserOrigins: []string{"https://a.example:443"},
		Approval: preset.ApprovalBlock, Instructions: "Be careful.", ExecutionProfile: "repo_local", ProviderHint: "acme", ModelHint: "m1",
	})
	d := agent()
	d.SystemPrompt = event.NewText("Be quick.")
	d, err := d.Follow(p)
	if err != nil {
		t.Fatal(err)
	}
	spec := d.Spec()
	want := &run.Preset{
		ID: "mine", ToolsEnabled: true, NetworkAllowed: true, Approval: "block", BrowserInteractions: true, BrowserOrigins: []string{"https://a.example"},
	}
	if !reflect.DeepEqual(spec.Preset, want) || !spec.ReadOnly || !spec.Network || spec.Posture != permission.PostureRuntime {
		t.Errorf("%+v with %+v", spec, spec.Preset)
	}
	if spec.SystemPrompt.String() != "Be careful.\n\nBe quick." || d.SystemPrompt.String() != "Be quick." {
		t.Errorf("the run is told %q, the task shows %q", spec.SystemPrompt.String(), d.SystemPrompt.String())
	}
	if d.Provider != "acme" || d.Model != "m1" || d.ExecutionProfile != "repo_local" || d.TimeoutMS != 120_000 || d.WorkspaceMode != "persistent" {
		t.Errorf("%+v", d)
	}
	p.Definition.BrowserOrigins[0] = "https://b.example"
	if d.Preset.BrowserOrigins[0] != "https://a.example" {
		t.Error("the task changed with its policy")
	}
}

// What a policy forbids stays forbidden, whatever the task asks for.
func TestFollowOnlyNarrows(t *testing.T) {
	d := agent()
	d.Network = true
	d, err := d.Follow(policy(t, preset.Definition{WritesAllowed: true}))
	if err != nil || d.Network || d.ReadOnly || d.Preset.ToolsEnabled {
		t.Errorf("%+v, %v", d, err)
	}
	d = agent()
	d.ReadOnly = true
	if d, err = d.Follow(policy(t, preset.Definition{WritesAllowed: true})); err != nil || !d.ReadOnly {
		t.Errorf("%+v, %v", d, err)
	}
	if spec := d.Spec(); !spec.SystemPrompt.IsZero() {
		t.Errorf("without instructions the run is told %q", spec.SystemPrompt.String())
	}
}

// The task's own route wins, and a model is taken only together with its provider.
func TestFollowRoute(t *testing.T) {
	for _, c := range []struct{ provider, model, hint, hintModel, want string }{
		{"", "", "acme", "m1", "acme/m1"},
		{"", "m2", "acme", "m1", "acme/m2"},
		{"acme", "", "acme", "m1", "acme/m1"},
		{"other", "m2", "acme", "m1", "other/m2"},
		{"other", "", "acme", "m1", "refused"},
		{"", "", "acme", "", "refused"},
		{" ", " ", "acme", "", "refused"},
		{"other", "", "", "", "refused"},
		{"other", "", "", "m1", "other/m1"},
		{"", "", "", "m1", "/m1"},
		{"", "", "", "", "/"},
	} {
		d := agent()
		d.Provider, d.Model = c.provider, c.model
		d, err := d.Follow(policy(t, preset.Definition{ProviderHint: c.hint, ModelHint: c.hintModel}))
		if c.want == "refused" {
			invalid(t, err, "requested_model")
			continue
		}
		if got := d.Provider + "/" + d.Model; err != nil || got != c.want {
			t.Errorf("%+v gives %s, %v", c, got, err)
		}
	}
}

// The profile is the task's own, else the policy's; either may say how it is done.
func TestFollowProfile(t *testing.T) {
	p := policy(t, preset.Definition{ExecutionProfile: "coding_agent"})
	d := task.Definition{Prompt: event.NewText("go")}
	if got, err := d.Follow(p); err != nil || got.ExecutionKind != run.KindAgentLoop || got.TimeoutMS != 300_000 {
		t.Errorf("%+v, %v", got, err)
	}
	d.ExecutionProfile = "repo_local"
	if got, err := d.Follow(p); err != nil || got.ExecutionProfile != "repo_local" || got.TimeoutMS != 120_000 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Policies are for agent loops, and for those whose surface it is.
func TestWhoCannotFollow(t *testing.T) {
	shell := task.Definition{ExecutionKind: run.KindShell, ShellCommand: event.NewText("true")}
	_, err := shell.Follow(policy(t, preset.Definition{}))
	invalid(t, err, "agent_preset_id")
	for _, surface := range []string{preset.SurfaceChat, preset.SurfaceExternal} {
		_, err := agent().Follow(policy(t, preset.Definition{Surface: surface}))
		invalid(t, err, "agent_preset_id")
	}
	_, err = task.Definition{}.Follow(policy(t, preset.Definition{ExecutionProfile: "repo_local"}))
	invalid(t, err, "prompt")
}

// Calls of an agent loop have levels, direct runs have none.
func TestPosture(t *testing.T) {
	for _, c := range []struct{ kind, posture, want string }{
		{run.KindAgentLoop, "", permission.PostureRuntime},
		{run.KindAgentLoop, " levels ", permission.PostureLevels},
		{run.KindAgentLoop, "runtime", permission.PostureRuntime},
		{run.KindShell, "runtime", permission.PostureRuntime},
		{run.KindShell, "levels", ""},
		{run.KindAgentLoop, "LEVELS", ""},
	} {
		d := task.Definition{ExecutionKind: c.kind, Prompt: event.NewText("go"), ShellCommand: event.NewText("true"), Posture: c.posture}
		d, err := d.Normalize()
		if c.want == "" {
			invalid(t, err, "permission_posture")
			continue
		}
		if err != nil || d.Spec().Posture != c.want {
			t.Errorf("%+v gives %q, %v", c, d.Spec().Posture, err)
		}
	}
}
