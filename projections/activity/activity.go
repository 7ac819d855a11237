// Package activity composes the time line of a run from what the run made. It keeps
// nothing: the line follows from the items.
package activity

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hecate/domain/run"
	"hecate/projections"
)

// previewBytesMax is how much of a command's output a line shows.
const previewBytesMax = 2000

// entry is a line with its place in time.
type entry struct {
	projections.Activity
	position int64
}

// Of returns the lines of a run in order of time and, within the same time, of the
// log. An approval inside the loop has two lines: its own and that of its step. A call
// that waits for a lock has not begun, so it has no step: its note is its line.
func Of(r projections.Run, steps []projections.Step, artifacts []projections.Artifact, approvals []projections.Approval, notes ...projections.Note) []projections.Activity {
	byID := make(map[string]*projections.Approval, len(approvals))
	entries := make([]entry, 0, len(steps)+len(artifacts)+len(approvals)+len(notes))
	for i := range approvals {
		byID[approvals[i].ID] = &approvals[i]
		entries = append(entries, entry{ofApproval(&approvals[i]), approvals[i].Position})
	}
	for i := range steps {
		entries = append(entries, entry{ofStep(&steps[i], byID[steps[i].ApprovalID]), steps[i].Position})
	}
	for i := range artifacts {
		entries = append(entries, entry{ofArtifact(&artifacts[i]), artifacts[i].Position})
	}
	for i := range notes {
		entries = append(entries, entry{ofNote(&notes[i]), notes[i].Position})
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.OccurredAt, b.OccurredAt), cmp.Compare(a.position, b.position), cmp.Compare(a.ID, b.ID))
	})
	out := make([]projections.Activity, 0, len(entries)+1)
	for _, e := range entries {
		out = append(out, e.Activity)
	}
	if run.Status(r.Status).Terminal() {
		out = append(out, ofEnd(r))
	}
	return out
}

func ofStep(s *projections.Step, a *projections.Approval) projections.Activity {
	out := projections.Activity{
		ID: "step:" + s.ID, Type: stepType(s), Status: s.Status, Title: s.Title, StepID: s.ID, ApprovalID: s.ApprovalID,
		ToolName: s.ToolName, Kind: s.Kind, Summary: map[string]any{}, OccurredAt: cmp.Or(s.StartedAt, s.FinishedAt),
		Terminal: s.Status == "completed" || s.Status == "failed" || s.Status == "cancelled",
	}
	for k, v := range s.Output {
		out.Summary[k] = v
	}
	if argv, ok := s.Input["argv"]; ok {
		out.Summary["argv"] = argv
	}
	if s.Result == "denied" {
		out.Status = "denied"
		if _, ok := out.Summary["reason"]; !ok && s.Error != "" {
			out.Summary["reason"] = s.Error
		}
	}
	if a != nil {
		out.Status, out.NeedsAction, out.Terminal = a.Status, a.Status == "pending", a.Status != "pending"
		approvalSummary(out.Summary, a)
	}
	if len(out.Summary) == 0 {
		out.Summary = nil
	}
	return out
}

func stepType(s *projections.Step) string {
	switch {
	case s.ApprovalID != "" || s.Kind == "approval":
		return "approval"
	case s.ToolName == "builtin.agent_loop_llm":
		return "thinking"
	case strings.HasPrefix(s.ToolName, "builtin.agent_loop"):
		return "step"
	case s.ToolName != "" || s.Kind == "tool" || s.Kind == "shell" || s.Kind == "git" || s.Kind == "file":
		return "tool_call"
	}
	return "step"
}

func ofApproval(a *projections.Approval) projections.Activity {
	pending := a.Status == "pending"
	out := projections.Activity{
		ID: "approval:" + a.ID, Type: "approval", Status: a.Status, Title: a.Kind, StepID: a.StepID, ApprovalID: a.ID,
		Kind: a.Kind, Summary: map[string]any{}, OccurredAt: a.CreatedAt, NeedsAction: pending, Terminal: !pending,
	}
	approvalSummary(out.Summary, a)
	if len(out.Summary) == 0 {
		out.Summary = nil
	}
	return out
}

func approvalSummary(to map[string]any, a *projections.Approval) {
	if a.Reason != "" {
		to["reason"] = a.Reason
	}
	if len(a.Summary) > 0 {
		to["action_summary"] = a.Summary
	}
	if a.SummaryIncomplete {
		to["action_summary_incomplete"] = true
	}
}

// noteTypes are the types of lines that are no kind of note.
var noteTypes = map[string]string{projections.NoteLock: "tool_call"}

func ofNote(n *projections.Note) projections.Activity {
	return projections.Activity{
		ID: n.Kind + ":" + strconv.FormatInt(n.Position, 10), Type: cmp.Or(noteTypes[n.Kind], n.Kind), Status: n.Status, Title: n.Title,
		ToolName: n.ToolName, Kind: n.Kind, Path: n.Path, Summary: n.Summary, OccurredAt: n.OccurredAt, Terminal: n.Terminal,
	}
}

var artifactTypes = map[string]string{
	"patch": "patch", "git_summary": "changed_files", "summary": "final_answer", "project_assistant_proposal": "project_assistant_proposal",
}

func ofArtifact(a *projections.Artifact) projections.Activity {
	out := projections.Activity{
		ID: "artifact:" + a.ID, Type: cmp.Or(artifactTypes[a.Kind], "artifact"), Status: a.Status, Title: a.Name,
		StepID: a.StepID, ArtifactID: a.ID, Kind: a.Kind, Path: a.Path, Summary: map[string]any{}, OccurredAt: a.CreatedAt,
		Terminal: a.Status == "ready" || a.Status == "applied" || a.Status == "reverted",
	}
	if a.SizeBytes > 0 {
		out.Summary["size_bytes"] = a.SizeBytes
	}
	if a.MIMEType != "" {
		out.Summary["mime_type"] = a.MIMEType
	}
	switch a.Kind {
	case "stdout", "stderr":
		if p := preview(cmp.Or(a.Preview, a.ContentText)); p != "" {
			out.Summary["content_preview"] = p
		}
	case "project_assistant_proposal":
		proposalSummary(out.Summary, a.ContentText)
	}
	return out
}

// preview cuts text on a character boundary.
func preview(text string) string {
	if len(text) <= previewBytesMax {
		return strings.TrimSuffix(text, "\n")
	}
	cut := previewBytesMax
	for cut > 0 && cut > previewBytesMax-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "\n...[truncated]"
}

func proposalSummary(to map[string]any, content string) {
	var p struct {
		ID      string            `json:"id"`
		Title   string            `json:"title"`
		Actions []json.RawMessage `json:"actions"`
	}
	if json.Unmarshal([]byte(content), &p) != nil {
		return // no proposal to tell about
	}
	to["proposal_id"], to["proposal_title"], to["action_count"] = p.ID, p.Title, len(p.Actions)
}

func ofEnd(r projections.Run) projections.Activity {
	return projections.Activity{
		ID: "run:" + r.ID + ":terminal", Type: "run_result", Status: r.Status,
		Title: cmp.Or(r.LastError, "Run "+r.Status), OccurredAt: r.FinishedAt, Terminal: true,
	}
}
