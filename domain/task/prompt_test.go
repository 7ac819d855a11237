package task_test

import (
	"testing"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
)

// A task says whether the workspace's own guidance is part of the prompt.
func TestWorkspacePrompt(t *testing.T) {
	for policy, out := range map[string]bool{"": false, " exclude ": true} {
		d, err := task.Definition{ExecutionKind: run.KindAgentLoop, Prompt: event.NewText("go"), WorkspacePrompt: policy}.Normalize()
		if err != nil || d.Spec().ExcludeGuidance != out {
			t.Errorf("%q: %+v, %v", policy, d, err)
		}
	}
	if _, err := (task.Definition{ExecutionKind: run.KindAgentLoop, Prompt: event.NewText("go"), WorkspacePrompt: "include"}).Normalize(); err == nil {
		t.Error("an unknown policy is taken")
	}
}
