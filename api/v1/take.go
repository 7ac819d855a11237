package v1

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"hecate/api/envelope"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/run"
	"hecate/projections"
)

// pathsBytesMax bounds what a request to take names, so that it fits into one event.
const pathsBytesMax = 128 << 10

type takeInput struct {
	RunPath
	Body struct {
		Preview   bool     `json:"preview,omitempty" doc:"Say what would be done, and do nothing."`
		Digest    string   `json:"digest,omitempty" maxLength:"128" doc:"The preview's digest. Required to take: what is done is what the preview showed."`
		Paths     []string `json:"paths,omitempty" maxItems:"1000" doc:"Files, and directories with all below them, at most 128 KiB of text in all; none: everything."`
		Branch    string   `json:"branch,omitempty" maxLength:"256" doc:"A new git branch for a commit on top of the source's last one, in place of a change of the files themselves."`
		Sensitive bool     `json:"sensitive,omitempty" doc:"Take files that make programs run, or say what agents may do, as well: hooks, build services, editors, permissions, MCP."`
		Markers   bool     `json:"markers,omitempty" doc:"Write texts that conflict with the usual markers in them, in place of writing nothing."`
	}
}

type restoreInput struct {
	RunPath
	Body struct {
		Preview bool   `json:"preview,omitempty" doc:"Say what would be done, and do nothing."`
		Digest  string `json:"digest,omitempty" maxLength:"128" doc:"The preview's digest. Required to restore."`
		Before  string `json:"before" minLength:"1" maxLength:"256" doc:"The step, tool call or operation before which the workspace is to be again."`
		Force   bool   `json:"force,omitempty" doc:"Put back also what was changed since by others than the run and its operations."`
	}
}

// operationResult is what take and restore do to files.
type operationResult struct {
	Target         string       `json:"target" doc:"The directory."`
	Branch         string       `json:"branch,omitempty" doc:"The new branch."`
	Commit         string       `json:"commit,omitempty" doc:"The commit on the branch; of a preview the one that it would stand on."`
	Before         string       `json:"before,omitempty" doc:"The snapshot that the changes count from."`
	After          string       `json:"after,omitempty" doc:"The snapshot that they lead to."`
	Digest         string       `json:"digest" doc:"Of all that matters for what is done."`
	Files          []landedFile `json:"files" doc:"At most 500."`
	FilesCount     int64        `json:"files_count" doc:"All of them."`
	Conflicts      int64        `json:"conflicts" doc:"Files that conflict."`
	Withheld       int64        `json:"withheld" doc:"Files that make programs run, or say what agents may do, and stay as they are unless they are asked for (sensitive)."`
	NotUndone      []string     `json:"not_undone,omitempty" doc:"Of restore: ignored files and what else no snapshot holds, which stay as they are; at most 500. Commits stay as well."`
	NotUndoneCount int64        `json:"not_undone_count,omitempty" doc:"All of these."`
	LeftBehind     []string     `json:"left_behind,omitempty" doc:"Of take: files of the workspace that no snapshot holds, such as very large ones, with the reason; at most 100. Ignored files stay behind, too."`
	Diff           string       `json:"diff,omitempty" doc:"Of a preview: what changes, as a unified diff."`
	DiffCut        bool         `json:"diff_cut,omitempty" doc:"The diff goes on; it is longer than 4 MiB."`
}

type landedFile struct {
	Path    string `json:"path" doc:"Below the directory; quoted as in Go if it is no UTF-8."`
	Outcome string `json:"outcome" doc:"What becomes of it: merged, if it was changed there meanwhile; already, if it is there as it is to be." enum:"written,merged,deleted,already,conflicted,withheld"`
	Reason  string `json:"reason,omitempty" doc:"Of a conflict, to be read after the path."`
	Class   string `json:"class,omitempty" doc:"Of a file that makes programs run, or says what agents may do: permissions, hooks, ci, mcp, editor, packages, shell or leads-out."`
}

// restorePoint is a moment to which a workspace can be put back.
type restorePoint struct {
	ID             string           `json:"id" doc:"The step or operation before which the workspace is then."`
	StepID         string           `json:"step_id,omitempty" doc:"The step of the call; absent for an operation."`
	ToolCallID     string           `json:"tool_call_id,omitempty" doc:"The call's id, as the model gave it."`
	ToolName       string           `json:"tool_name,omitempty" doc:"The tool of the call."`
	ModelCallIndex int64            `json:"model_call_index,omitempty" doc:"The model call that asked for it."`
	OperationID    string           `json:"operation_id,omitempty" doc:"The operation; absent for a call."`
	Available      bool             `json:"available" doc:"There is a snapshot of that moment, and something to put back."`
	Changed        []run.FileChange `json:"changed" doc:"What the call or operation changed; at most 100."`
	ChangedCount   int64            `json:"changed_count" doc:"All files that it changed."`
	CreatedAt      string           `json:"created_at" format:"date-time"`
}

var exampleRestorePoint = map[string]any{
	"id": "step_0a1b2c3d4e5f60718293a4b5", "step_id": "step_0a1b2c3d4e5f60718293a4b5", "tool_call_id": "call_1", "tool_name": "shell_exec", "model_call_index": 2,
	"available": true, "changed": []any{map[string]any{"path": "main.go", "kind": "update"}}, "changed_count": 1, "created_at": "2026-03-01T09:15:00Z",
}

func exampleLanded(kind operation.Kind) map[string]any {
	o := maps.Clone(exampleOperation)
	delete(o, "artifact_id")
	o["kind"], o["status"] = kind, "done"
	o["result"] = map[string]any{
		"target": "/home/me/project", "before": "1f2e", "after": "3d4c", "digest": "9a8b", "files_count": 1, "conflicts": 0, "withheld": 0,
		"files": []any{map[string]any{"path": "main.go", "outcome": "written"}},
	}
	return map[string]any{"object": "workspace_operation", "data": o}
}

func (a *API) registerTake() {
	fails := []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict}
	const twice = "It takes two calls: a preview says what becomes of each file and shows the diff; with its digest the same is done. If the workspace or the directory is another by then, nothing is done (409 `preview_outdated`). "
	register(a, spec{
		id: "takeRun", method: http.MethodPost, path: runRoot + "/take", tag: "Run details", keyed: true, operates: true,
		summary: "Take what a run has changed",
		description: "Puts what was changed in the run's copy since it was made, or since all of it was taken last, into the directory that the copy was made from, or on a new branch there. " + twice +
			"Files that were changed there meanwhile are merged; where that cannot be, nothing is written (409 `conflict`). Like the answer to an approval it may need a verified operator (403).",
		fails: fails, answer: reflect.TypeFor[envelope.Answer[operationItem]](), example: exampleLanded(operation.Take),
	}, a.takeRun)
	register(a, spec{
		id: "restoreRun", method: http.MethodPost, path: runRoot + "/restore", tag: "Run details", keyed: true, operates: true,
		summary: "Put a run's workspace back",
		description: "Makes the files of the workspace what they were before a call of the run, or before an operation. " + twice +
			"The run must have ended. What others than the run and its operations have changed since conflicts (409 `conflict`) unless force is set.",
		fails: fails, answer: reflect.TypeFor[envelope.Answer[operationItem]](), example: exampleLanded(operation.Restore),
	}, a.restoreRun)
	register(a, spec{
		id: "listRestorePoints", method: http.MethodGet, path: runRoot + "/restore-points", tag: "Run details",
		summary: "List restore points of a run", description: "The moments to which the run's workspace can be put back, oldest first: before each call that was dispatched, and before each operation.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "restore_points", "data": []any{exampleRestorePoint}},
	}, a.listRestorePoints)
}

func (a *API) takeRun(ctx context.Context, in *takeInput) (*operated, error) {
	b := in.Body
	if !b.Preview && b.Digest == "" {
		return nil, needsPreview()
	}
	if len(strings.Join(b.Paths, "")) > pathsBytesMax {
		return nil, fault.Invalid("invalid_request", "paths holds more than %d bytes; name directories instead of all their files", pathsBytesMax)
	}
	return a.operate(ctx, operation.Requested{
		TaskID: in.TaskID, RunID: in.RunID, Kind: operation.Take, Preview: b.Preview, Digest: b.Digest,
		Take: &operation.TakePlan{Paths: b.Paths, Branch: b.Branch, Sensitive: b.Sensitive, Markers: b.Markers},
	}, showOperation)
}

func (a *API) restoreRun(ctx context.Context, in *restoreInput) (*operated, error) {
	b := in.Body
	if !b.Preview && b.Digest == "" {
		return nil, needsPreview()
	}
	return a.operate(ctx, operation.Requested{
		TaskID: in.TaskID, RunID: in.RunID, Kind: operation.Restore, Preview: b.Preview, Digest: b.Digest,
		Restore: &operation.RestorePlan{Before: b.Before, Force: b.Force},
	}, showOperation)
}

func needsPreview() error {
	return fault.Invalid("invalid_request", "digest is missing: ask for a preview first, and send its digest")
}

func showOperation(o operation.State) (*operated, error) {
	out := &operated{Status: http.StatusOK, Body: envelope.Answer[operationItem]{Object: "workspace_operation", Data: itemOf(o)}}
	out.at(o.Position)
	return out, nil
}

func resultOf(l *operation.Landed) *operationResult {
	if l == nil {
		return nil
	}
	out := &operationResult{
		Target: l.Target, Branch: l.Branch, Commit: l.Commit, Before: l.Before, After: l.After, Digest: l.Digest, Files: []landedFile{},
		FilesCount: l.FilesCount, Conflicts: l.Conflicts, Withheld: l.Withheld, NotUndone: l.NotUndone, NotUndoneCount: l.NotUndoneCount,
		LeftBehind: l.LeftBehind, Diff: l.Diff.String(), DiffCut: l.DiffCut,
	}
	for _, f := range l.Files {
		out.Files = append(out.Files, landedFile(f))
	}
	return out
}

func (a *API) listRestorePoints(ctx context.Context, in *RunPath) (*answer[[]restorePoint], error) {
	if _, err := a.Views.Run(ctx, in.TaskID, in.RunID); err != nil {
		return nil, err
	}
	var t operation.Timeline
	if _, err := a.Commands.OutlineRun(ctx, in.RunID, func(e event.Event) { t.Apply(e) }); err != nil {
		return nil, err
	}
	points := []restorePoint{}
	for _, m := range t.Moments {
		_, err := t.Find(m.ID())
		points = append(points, restorePoint{
			ID: m.ID(), StepID: m.StepID, ToolCallID: m.ToolCallID, ToolName: m.ToolName, ModelCallIndex: m.CallIndex, OperationID: m.OperationID,
			Available: err == nil, Changed: append([]run.FileChange{}, m.Changed...), ChangedCount: m.Count, CreatedAt: projections.FormatTime(m.At),
		})
	}
	return of("restore_points", points), nil
}
