package v1

import (
	"maps"
	"reflect"

	"hecate/api/envelope"
	"hecate/domain/run"
)

var errorType = reflect.TypeFor[envelope.Error]()

// Examples in the document. They belong together: one task, one run.
var exampleEvent = map[string]any{
	"schema_version": "1", "event_id": "evt_01KAVD4S2W7QF3ZB5M8T9XNC6H", "task_id": "task_4f6b1f0c9d2e8a7b3c5d6e7f",
	"run_id": "run_0a1b2c3d4e5f60718293a4b5", "sequence": 128, "occurred_at": "2026-02-03T09:30:00.000000000Z",
	"type": "run.started", "data": map[string]any{"kind": "builtin", "model": "gpt-5", "provider": "openai"},
	"actor": map[string]any{"kind": "worker", "name": "runtime_0123456789abcdef01234567"}, "caused_by": 126,
	"hash": "93084369e982977d889d7844b6098c009077aa05f78260ff04c04dacd8c24434",
}

var exampleTask = map[string]any{
	"id": "task_4f6b1f0c9d2e8a7b3c5d6e7f", "title": "Find out why the build is red and fix it.",
	"prompt": "Find out why the build is red and fix it.", "execution_kind": "agent_loop", "workspace_mode": "ephemeral",
	"working_directory": "/home/ada/project", "priority": "normal", "status": "not_started",
	"created_at": "2026-02-03T09:29:58.000000000Z", "updated_at": "2026-02-03T09:29:58.000000000Z",
}

var examplePreset = map[string]any{
	"id": "docs_only", "name": "Docs only", "instructions": "Change nothing but Markdown files.", "surface": "hecate_task",
	"execution_profile": "repo_local", "tools_enabled": true, "writes_allowed": true, "network_allowed": false,
	"browser_allowed": false, "browser_interactions_allowed": false, "approval_policy": "require",
	"project_memory_policy": "inherit", "context_source_policy": "inherit", "built_in": false,
	"created_at": "2026-02-03T09:29:58.000000000Z", "updated_at": "2026-02-03T09:29:58.000000000Z",
}

var exampleRun = map[string]any{
	"id": "run_0a1b2c3d4e5f60718293a4b5", "task_id": "task_4f6b1f0c9d2e8a7b3c5d6e7f", "number": 1, "status": "queued",
	"orchestrator": "builtin", "model_call_count": 0, "cost_known": true, "started_at": "2026-02-03T09:30:00.000000000Z",
	"request_id": "req_5f0c2c6f2a7b4d1e9a3c8b70", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "root_span_id": "00f067aa0ba902b7",
}

// exampleFollowing is a run that follows exampleRun in one of the ways.
func exampleFollowing(kind run.SourceKind) map[string]any {
	r := maps.Clone(exampleRun)
	r["id"], r["number"], r["resumed_from_run_id"], r["resume_kind"] = "run_6a7b8c9d0e1f2a3b4c5d6e7f", 2, exampleRun["id"], string(kind)
	if kind != run.SourceRetry {
		r["prior_cost_micros_usd"] = 4200
		r["workspace_path"] = "/tmp/hecate-workspaces/task_4f6b1f0c9d2e8a7b3c5d6e7f/run_0a1b2c3d4e5f60718293a4b5"
	}
	return r
}

var exampleStep = map[string]any{
	"id": "step_3e2d1c0b9a8f7e6d5c4b3a29", "task_id": "task_4f6b1f0c9d2e8a7b3c5d6e7f", "run_id": "run_0a1b2c3d4e5f60718293a4b5",
	"index": 1, "kind": "model", "title": "Model call 1", "status": "completed", "phase": "thinking", "result": "success",
	"tool_name": "builtin.agent_loop_llm", "input": map[string]any{"model": "gpt-5", "model_call_index": 1},
	"started_at": "2026-02-03T09:30:00.100000000Z", "finished_at": "2026-02-03T09:30:02.400000000Z",
}

var exampleDoubt = map[string]any{
	"id": "step_7a6b5c4d3e2f1a0b9c8d7e6f", "task_id": "task_4f6b1f0c9d2e8a7b3c5d6e7f", "run_id": "run_0a1b2c3d4e5f60718293a4b5",
	"index": 2, "kind": "tool", "title": "shell_exec (outcome unknown)", "status": "failed", "phase": "recovery", "result": "error",
	"tool_name": "shell_exec", "outcome": "unknown", "error_kind": "tool_dispatch_outcome_unknown",
	"output_summary": map[string]any{"operator_outcome": "done"},
}

var exampleCall = map[string]any{
	"tool_call_id": "call_1", "tool_name": "shell_exec", "model_call_index": 1, "state": "unknown", "outcome": "unknown",
	"step_id": "step_7a6b5c4d3e2f1a0b9c8d7e6f", "operator_outcome": "done",
}

var exampleArtifact = map[string]any{
	"id": "final-answer-run_0a1b2c3d4e5f60718293a4b5", "task_id": "task_4f6b1f0c9d2e8a7b3c5d6e7f", "run_id": "run_0a1b2c3d4e5f60718293a4b5",
	"kind": "summary", "name": "agent-final-answer.txt", "mime_type": "text/plain", "storage_kind": "inline",
	"content_text": "A test relied on the time zone of the machine. It no longer does.", "size_bytes": 66, "status": "ready",
	"created_at": "2026-02-03T09:31:00.000000000Z",
}

var examplePatch = map[string]any{
	"artifact": map[string]any{
		"id": "artifact_1f2e3d4c5b6a79880917263f", "task_id": "task_4f6b1f0c9d2e8a7b3c5d6e7f", "run_id": "run_0a1b2c3d4e5f60718293a4b5",
		"kind": "patch", "name": "clock_test.go.patch", "mime_type": "text/x-diff", "status": "proposed",
	},
	"diff": "--- a/clock_test.go\n+++ b/clock_test.go\n@@ -1,1 +1,1 @@\n-x\n+y\n", "status": "proposed",
	"path": "/home/ada/project/clock_test.go", "before_existed": true,
}

var exampleGrant = map[string]any{
	"id": "grant_0f1e2d3c4b5a69788796a5b4", "list": "permissions.promoted", "layer": "project", "text": "exec(cargo) args(*)",
	"at": "/home/ada/project/.hecate/config.toml:4", "covers": "cargo with any arguments",
}

var examplePermissions = map[string]any{
	"user_file": "/home/ada/.config/hecate/config.toml", "project_file": "/home/ada/project/.hecate/config.toml", "project_exists": true, "project_accepted": true,
	"project_digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	"entries":        []any{exampleGrant}, "waiting": []any{}, "shut_out": []any{}, "locks": []any{}, "problems": []any{},
	"repetition": map[string]any{"limits": map[string]any{"window": 32, "reads": 2, "commands": 3, "polls": 8, "hard": 12, "hard_polls": 32, "exchanges": 6, "dominant": 16, "period": 6, "gap": 8}},
	"session":    []any{map[string]any{"id": "grant_5e4d3c2b1a09f8e7d6c5b4a3", "scope": "exec(make) args(*)", "host": false, "run_id": "run_0a1b2c3d4e5f60718293a4b5"}},
}

// exampleAnswered is exampleApproval after a yes.
var exampleAnswered = with(exampleApproval, map[string]any{
	"status": "approved", "resolved_by": "operator", "resolved_by_name": "ada", "resolved_by_verified": true,
	"resolution_note": "looks right", "resolved_at": "2026-02-03T09:30:20.000000000Z",
	"calls": []any{with(exampleApprovalCall, map[string]any{"answer": "approved", "scope": "once"})},
})

func with(m, more map[string]any) map[string]any {
	m = maps.Clone(m)
	maps.Copy(m, more)
	return m
}

var exampleApprovalCall = map[string]any{
	"tool_call_id": "call_1", "tool_name": "exec", "level": 2, "decision": "ask", "reason": "level 2 asks before exec", "gates": []any{"level-2"},
	"offer":   map[string]any{"scope": "exec(cargo) args(*)", "host": false, "covers": "cargo with any arguments", "list": "permissions.promoted"},
	"answers": []any{"y", "a", "A", "e", "n", "N"},
}

var exampleApproval = map[string]any{
	"id": "approval_9b8a7c6d5e4f3a2b1c0d9e8f", "task_id": "task_4f6b1f0c9d2e8a7b3c5d6e7f", "run_id": "run_0a1b2c3d4e5f60718293a4b5",
	"kind": "agent_loop_tool_call", "status": "pending", "reason": "Agent requested tools that require approval: exec",
	"action_summary": []any{"exec arguments withheld (argument_bytes=28)"}, "action_summary_incomplete": true,
	"digest": "3f8a1c", "calls": []any{exampleApprovalCall}, "remember_in": "/home/ada/project/.hecate/config.toml",
	"created_at": "2026-02-03T09:30:10.000000000Z",
}
