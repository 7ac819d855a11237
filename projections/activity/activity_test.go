package activity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/projections"
	"hecate/projections/activity"
)

const at = "2026-03-01T12:00:00.000000000Z"

// lines writes what matters of each line.
func lines(items []projections.Activity) (out []string) {
	for _, a := range items {
		out = append(out, fmt.Sprintf("%s %s %s needs=%v terminal=%v", a.ID, a.Type, a.Status, a.NeedsAction, a.Terminal))
	}
	return out
}

func TestOrderAndTypes(t *testing.T) {
	r := projections.Run{ID: "r", Status: "failed", LastError: "exit status 7", FinishedAt: at}
	steps := []projections.Step{
		{ID: "s1", Kind: "model", ToolName: "builtin.agent_loop_llm", Status: "completed", StartedAt: at, Position: 1},
		{ID: "s2", Kind: "approval", ToolName: "builtin.agent_loop_approval", Status: "awaiting_approval", ApprovalID: "a1", StartedAt: at, Position: 2},
		{ID: "s3", Kind: "control", ToolName: "builtin.agent_loop_resume", Status: "completed", StartedAt: at, Position: 4},
		{ID: "s4", Kind: "tool", ToolName: "file_write", Status: "completed", Result: "denied", Error: "read-only", StartedAt: at, Position: 5},
		{ID: "s5", Kind: "shell", ToolName: "shell", Status: "running", StartedAt: at, Position: 6},
	}
	artifacts := []projections.Artifact{
		{ID: "p", Kind: "patch", Status: "proposed", CreatedAt: at, Position: 8},
		{ID: "o", Kind: "stdout", Status: "ready", CreatedAt: at, Position: 7},
		{ID: "g", Kind: "git_summary", Status: "ready", CreatedAt: "2026-03-01T11:59:59.000000000Z", Position: 9},
	}
	approvals := []projections.Approval{{ID: "a1", StepID: "s2", Kind: "agent_loop_tool_call", Status: "pending", Reason: "why", CreatedAt: at, Position: 2}}
	want := []string{
		"artifact:g changed_files ready needs=false terminal=true",
		"step:s1 thinking completed needs=false terminal=true",
		"approval:a1 approval pending needs=true terminal=false",
		"step:s2 approval pending needs=true terminal=false",
		"step:s3 step completed needs=false terminal=true",
		"step:s4 tool_call denied needs=false terminal=true",
		"step:s5 tool_call running needs=false terminal=false",
		"artifact:o artifact ready needs=false terminal=true",
		"artifact:p patch proposed needs=false terminal=false",
		"run:r:terminal run_result failed needs=false terminal=true",
	}
	got := activity.Of(r, steps, artifacts, approvals)
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got[3].Summary["reason"] != "why" || got[5].Summary["reason"] != "read-only" || got[9].Title != "exit status 7" {
		t.Errorf("summaries: %v, %v, title %q", got[3].Summary, got[5].Summary, got[9].Title)
	}
	if steps[1].Output != nil {
		t.Error("the step was changed")
	}
}

func TestPreview(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"short", "a\nb\n", "a\nb"},
		{"full", strings.Repeat("x", 1999) + "\n", strings.Repeat("x", 1999)},
		{"long", strings.Repeat("x", 3000), strings.Repeat("x", 2000) + "\n...[truncated]"},
		{"in a character", strings.Repeat("x", 1999) + "éé", strings.Repeat("x", 1999) + "\n...[truncated]"},
	} {
		a := projections.Artifact{ID: "o", Kind: "stderr", ContentText: c.text}
		got := activity.Of(projections.Run{}, nil, []projections.Artifact{a}, nil)[0].Summary["content_preview"]
		if got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	a := projections.Artifact{ID: "o", Kind: "stdout"}
	if got, ok := activity.Of(projections.Run{}, nil, []projections.Artifact{a}, nil)[0].Summary["content_preview"]; ok {
		t.Errorf("an empty output has the preview %q", got)
	}
	a = projections.Artifact{ID: "x", Kind: "project_assistant_proposal", ContentText: `{"id":"p","title":"t","actions":[1,2]}`}
	if got := activity.Of(projections.Run{}, nil, []projections.Artifact{a}, nil)[0].Summary; got["action_count"] != 2 || got["proposal_id"] != "p" || got["proposal_title"] != "t" {
		t.Errorf("proposal: %v", got)
	}
}
