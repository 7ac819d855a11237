package v1

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// fields describes the members of the read models' items, which don't know of the
// document. "*.x" holds for every schema that has no word of its own.
var fields = map[string]string{
	"*.id":                        "Identifies it; opaque.",
	"*.task_id":                   "The task that it belongs to.",
	"*.run_id":                    "The run that it belongs to.",
	"*.step_id":                   "The step that it belongs to.",
	"*.approval_id":               "The approval that it is about.",
	"*.project_id":                "The project that it belongs to.",
	"*.work_item_id":              "The work item that it belongs to.",
	"*.assignment_id":             "The assignment that it belongs to.",
	"*.status":                    "Where it stands.",
	"*.kind":                      "What kind of thing it is.",
	"*.title":                     "One line for people.",
	"*.name":                      "Its name.",
	"*.description":               "What it is, for people.",
	"*.path":                      "The file that it is about, as an absolute path.",
	"*.created_at":                "When it came into being.",
	"*.updated_at":                "When it last changed.",
	"*.started_at":                "When it began.",
	"*.finished_at":               "When it ended.",
	"*.request_id":                "The request that caused it, as in the server's log.",
	"*.trace_id":                  "The trace that it belongs to, 32 hexadecimal digits.",
	"*.span_id":                   "Its span, 16 hexadecimal digits.",
	"*.parent_span_id":            "The span above it.",
	"*.last_error":                "What went wrong, in words.",
	"*.workflow_mode":             "The workflow that it follows.",
	"*.workflow_version":          "Version of that workflow.",
	"*.tool_name":                 "The tool that was used.",
	"Task.prompt":                 "What is wanted.",
	"Task.system_prompt":          "Added to the instructions that every model call begins with.",
	"Task.execution_kind":         "How it is done: agent_loop, shell, git or file.",
	"Task.execution_profile":      "The profile that filled what was left empty.",
	"Task.shell_command":          "The command of a shell task.",
	"Task.git_command":            "The arguments after git of a git task.",
	"Task.file_operation":         "write or append, for a file task.",
	"Task.file_path":              "The file of a file task, relative to the workspace.",
	"Task.file_content":           "What a file task writes.",
	"Task.workspace_mode":         "ephemeral and persistent work on a copy, in_place in working_directory itself.",
	"Task.working_directory":      "What is copied, or the workspace itself.",
	"Task.repo":                   "What is copied instead: a path, or the address of a repository.",
	"Task.base_branch":            "The branch, tag or commit that is checked out in the copy.",
	"Task.sandbox_allowed_root":   "Nothing outside of it is touched.",
	"Task.sandbox_read_only":      "Changes can only be proposed.",
	"Task.sandbox_network":        "Commands may use the network.",
	"Task.timeout_ms":             "Time limit of one command, in milliseconds.",
	"Task.priority":               "As it was given.",
	"Task.requested_model":        "The model that was asked for.",
	"Task.requested_provider":     "The provider that was asked for.",
	"Task.budget_micros_usd":      "The ceiling for cost as it stands now, in millionths of a US dollar.",
	"Task.mcp_servers":            "MCP servers whose tools the runs may use.",
	"Task.origin_kind":            "Where it came from, such as chat.",
	"Task.origin_id":              "Which one of those.",
	"Task.agent_preset_id":        "The preset that it was made from.",
	"Task.status":                 "not_started, then the status of the latest run: queued, running, awaiting_approval, completed, failed or cancelled.",
	"Task.latest_run_id":          "The run with the highest number.",
	"Task.latest_model":           "The model of the latest run.",
	"Task.latest_provider":        "The provider of the latest run.",
	"Task.latest_run_step_count":  "Steps of the latest run.",
	"Task.pending_approval_count": "Approvals of the latest run that wait for an answer.",
	"Task.last_error":             "What went wrong in the last run that ended; a completed one clears it.",
	"Task.root_trace_id":          "The trace of the latest run.",
	"Task.latest_trace_id":        "The trace of the latest run.",
	"Task.latest_request_id":      "The request that started the latest run, or created the task.",
	"Task.started_at":             "When the first run began.",
	"Task.finished_at":            "When the latest run ended; absent while a run is open.",

	"Task.latest_run_artifact_count":            "Artifacts of the latest run.",
	"Task.agent_preset_tools_enabled":           "Whether the preset allowed tools.",
	"Task.agent_preset_browser_allowed":         "Whether the preset allowed the browser.",
	"Task.agent_preset_browser_allowed_origins": "The origins that the preset allowed the browser.",
	"Task.agent_preset_approval_policy":         "What the preset said about questions: inherit, require, block or allow.",
	"Task.workspace_system_prompt_policy":       "exclude if the workspace's own instructions are left out.",
	"Task.permission_posture":                   "levels if what asks depends on the tool's level; absent if the server's policies say it.",

	"Task.agent_preset_browser_interactions_allowed": "Whether the preset allowed to act on pages in the browser.",

	"MCPServer.name":            "Name of the server, unique in the task.",
	"MCPServer.command":         "The program of a server that speaks over its standard streams.",
	"MCPServer.args":            "The program's arguments.",
	"MCPServer.env":             "The program's environment; values that are no $NAME reference are redacted.",
	"MCPServer.url":             "The address of a server that speaks HTTP.",
	"MCPServer.headers":         "Headers sent to it; values that are no $NAME reference are redacted.",
	"MCPServer.approval_policy": "auto, require_approval or block.",

	"Run.number":                 "1, 2, 3 … within the task.",
	"Run.status":                 "queued, running, awaiting_approval, completed, failed or cancelled. The last three are final.",
	"Run.orchestrator":           "What carries it out.",
	"Run.model":                  "The model in use; until one was called, the one that was asked for.",
	"Run.provider":               "The provider in use; until one was called, the one that was asked for.",
	"Run.provider_kind":          "cloud or local.",
	"Run.workspace_id":           "The workspace that it works in.",
	"Run.workspace_path":         "Where that is, as an absolute path.",
	"Run.workspace_removed_at":   "When it was removed to free space; no run can go on in it.",
	"Run.step_count":             "Its steps.",
	"Run.approval_count":         "Its approvals.",
	"Run.artifact_count":         "Its artifacts.",
	"Run.model_call_count":       "Model calls that were answered.",
	"Run.total_cost_micros_usd":  "What it cost so far, as far as that is known, in millionths of a US dollar.",
	"Run.prior_cost_micros_usd":  "What the runs cost that it goes on from, in millionths of a US dollar.",
	"Run.cost_known":             "false if the cost of some call is not in the total.",
	"Run.started_at":             "When it was created.",
	"Run.root_span_id":           "The span of the request that started it, 16 hexadecimal digits.",
	"Run.otel_status_code":       "ok or error, once it has ended.",
	"Run.otel_status_message":    "Why it did not end well, as a word for machines or the last error.",
	"Run.source_ref":             "What asked for it.",
	"Run.schedule_id":            "The schedule that started it.",
	"Run.schedule_occurrence_id": "The occurrence of the schedule that started it.",
	"Run.scheduled_for":          "When the schedule wanted it to start.",
	"SourceRef.kind":             "What asked, such as chat_turn.",
	"SourceRef.chat_session_id":  "The chat.",
	"SourceRef.turn_id":          "The turn of the chat.",
	"SourceRef.message_id":       "The message of the turn.",

	"Step.parent_step_id": "The step above it.",
	"Step.index":          "1, 2, 3 … within the run, without holes.",
	"Step.kind":           "model, tool, approval, control, shell, git or file.",
	"Step.status":         "running, completed, failed, cancelled or awaiting_approval.",
	"Step.phase":          "planning, thinking, execution, approval, policy or recovery.",
	"Step.result":         "success, error or denied.",
	"Step.input":          "What it was asked to do, with sizes in place of contents.",
	"Step.output_summary": "What came of it, with sizes in place of contents.",
	"Step.exit_code":      "Exit status of its command; absent if 0.",
	"Step.error":          "What went wrong, in words.",
	"Step.error_kind":     "What went wrong, as a word for machines.",

	"Artifact.kind":         "stdout, stderr, file, patch, git_summary, agent_conversation, summary …",
	"Artifact.mime_type":    "Media type of the content.",
	"Artifact.storage_kind": "inline: the content is in content_text.",
	"Artifact.content_text": "The content.",
	"Artifact.object_ref":   "Where the content is, if it is not inline.",
	"Artifact.size_bytes":   "Size of the content in bytes.",
	"Artifact.sha256":       "Digest of the content in hexadecimal digits; absent while it grows.",
	"Artifact.status":       "streaming, ready or cancelled; for a patch proposed, applied or reverted.",
	"Patch.artifact":        "The artifact that the patch is.",
	"Patch.diff":            "The change as a unified diff, the whole file in one piece.",
	"Patch.status":          "proposed, applied or reverted.",
	"Patch.before_existed":  "Whether the file was there before.",

	"Approval.kind":                      "shell_command, git_exec, file_write, network_egress or agent_loop_tool_call.",
	"Approval.status":                    "pending, approved, rejected or cancelled.",
	"Approval.reason":                    "Why a person is asked.",
	"Approval.action_summary":            "What would be done, one line per call, with details withheld where they are not harmless.",
	"Approval.action_summary_incomplete": "Something was withheld or cut: look at the calls themselves before saying yes.",
	"Approval.requested_by":              "Who asked, for an approval before execution.",
	"Approval.resolved_by":               "operator, or system if the run was cancelled.",
	"Approval.resolution_note":           "What the person noted.",
	"ApprovalCall.tool_name":             "The tool.",

	"PermissionProblem.layer":   "Whose file.",
	"PermissionProblem.list":    "The list or table that it is about.",
	"PermissionProblem.at":      "File and line.",
	"PermissionProblem.refused": "Whether the entry is not in force; if it is, this is a warning.",
	"PermissionProblem.message": "What is wrong, and what to do about it.",

	"RepetitionLimits.window":     "Completed attempts that are remembered.",
	"RepetitionLimits.reads":      "Unchanged reads before a soft check.",
	"RepetitionLimits.commands":   "Unchanged commands before a soft check.",
	"RepetitionLimits.polls":      "Unchanged polls of a running job before a soft check.",
	"RepetitionLimits.hard":       "Attempts in a row without new evidence before a person must look.",
	"RepetitionLimits.hard_polls": "The same for polls.",
	"RepetitionLimits.exchanges":  "Completed exchanges that a checker sees.",
	"RepetitionLimits.dominant":   "Attempts of one call in the window, whatever came of them, before a soft check.",
	"RepetitionLimits.period":     "The longest cycle, in attempts.",
	"RepetitionLimits.gap":        "Other attempts after which an earlier one of the call no longer counts.",

	"PermissionLock.name":    "Its name.",
	"PermissionInSession.id": "Identifies it, to revoke it.",
	"Approval.created_at":    "When it was asked for.",
	"Approval.resolved_at":   "When it was answered.",
}

// describeFields adds what fields says to members without a description, and leaves
// schemas open without saying so member by member.
func describeFields(doc *huma.OpenAPI) {
	for name, s := range doc.Components.Schemas.Map() {
		if s.AdditionalProperties == true {
			s.AdditionalProperties = nil
		}
		for member, m := range s.Properties {
			if m.Description != "" {
				continue
			}
			m.Description = fields[name+"."+member]
			if m.Description == "" {
				m.Description = fields["*."+member]
			}
			if m.Type == huma.TypeString && strings.HasSuffix(member, "_at") {
				m.Examples = []any{"2026-02-03T09:30:00.000000000Z"}
			}
		}
	}
}
