package v1

import (
	"context"
	"maps"
	"net/http"
	"path"
	"reflect"

	"hecate/api/envelope"
	"hecate/commands"
	"hecate/domain/operation"
	"hecate/projections"
)

func (a *API) registerPatches() {
	register(a, spec{
		id: "listPatches", method: http.MethodGet, path: runRoot + "/patches", tag: "Run details",
		summary: "List patches of a run", description: "The run's artifacts of kind `patch`, newest first: what it changed, or proposes to change, one file each.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_patches", "data": []any{examplePatch}},
	}, a.listPatches)
	register(a, spec{
		id: "getPatch", method: http.MethodGet, path: runRoot + "/patches/{artifact_id}", tag: "Run details",
		summary: "Get a patch", description: "One patch of a run. An artifact of another kind is not found.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_patch", "data": examplePatch},
	}, a.getPatch)
	fails := []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict}
	applied, reverted := maps.Clone(examplePatch), maps.Clone(examplePatch)
	applied["status"], reverted["status"] = operation.Applied, operation.Reverted
	const waits = "The run must have ended or wait for an approval, and nothing else may be at work in its workspace (409 `conflict`). " +
		"A worker that reaches the workspace does it: 503 if there is none, 202 if it takes longer than half a minute; then ask for the operation. A refusal by the worker counts as the answer to the request's name. " +
		"Of a run that works in its source itself (`in_place`) it is a decision like the answer to an approval: where an agent's commands may be able to reach the server, only a verified operator may take it (403)."
	register(a, spec{
		id: "applyPatch", method: http.MethodPost, path: runRoot + "/patches/{artifact_id}/apply", tag: "Run details", keyed: true, operates: true,
		summary: "Apply a proposed patch",
		description: "Writes what a patch proposes. The file must still be exactly what the patch was made from, else nothing is written (409); so it is with a patch that is not `proposed`. " +
			"A path outside of the workspace is refused (400). " + waits,
		fails:   fails,
		answer:  reflect.TypeFor[envelope.Answer[projections.Patch]](),
		example: map[string]any{"object": "task_patch", "data": applied},
	}, a.applyPatch)
	register(a, spec{
		id: "revertPatch", method: http.MethodPost, path: runRoot + "/patches/{artifact_id}/revert", tag: "Run details", keyed: true, operates: true,
		summary: "Take a patch back",
		description: "Puts back what was there before an `applied` patch: the old content, byte for byte, or nothing. The file must still be exactly what the patch left, else nothing is touched (409); " +
			"so it is with a patch that is not `applied`. " + waits,
		fails:   fails,
		answer:  reflect.TypeFor[envelope.Answer[projections.Patch]](),
		example: map[string]any{"object": "task_patch", "data": reverted},
	}, a.revertPatch)
}

func (a *API) applyPatch(ctx context.Context, in *artifactInput) (*operated, error) {
	return a.operateOnPatch(ctx, in, operation.PatchApply)
}

func (a *API) revertPatch(ctx context.Context, in *artifactInput) (*operated, error) {
	return a.operateOnPatch(ctx, in, operation.PatchRevert)
}

func (a *API) operateOnPatch(ctx context.Context, in *artifactInput, kind operation.Kind) (*operated, error) {
	return a.operate(ctx, operation.Requested{TaskID: in.TaskID, RunID: in.RunID, Kind: kind, ArtifactID: in.ArtifactID}, func(o operation.State) (*operated, error) {
		out, err := after(ctx, a, "task_patch", o.Position,
			func() (projections.Patch, error) { return a.Views.Patch(ctx, in.TaskID, in.RunID, in.ArtifactID) },
			func() (projections.Patch, error) { return patchItem(ctx, a.Commands, in) })
		if err != nil {
			return nil, err
		}
		return &operated{Status: http.StatusOK, Placed: out.Placed, Body: out.Body}, nil
	})
}

// patchItem reads a patch from its run's stream.
func patchItem(ctx context.Context, x *commands.Executor, in *artifactInput) (projections.Patch, error) {
	p := operation.Patch{ID: in.ArtifactID}
	if err := x.Load(ctx, commands.RunStream(in.RunID), 0, p.Apply); err != nil {
		return projections.Patch{}, err
	}
	diff := p.Fact.Diff.String()
	return projections.Patch{
		Artifact: projections.Artifact{
			ID: p.ID, TaskID: in.TaskID, RunID: in.RunID, StepID: p.Fact.StepID, Kind: "patch", Name: path.Base(p.Fact.Path) + ".patch",
			MIMEType: "text/x-diff", StorageKind: "inline", Path: p.Fact.Path, Status: p.Status, ContentText: diff, SizeBytes: int64(len(diff)),
		},
		Diff: diff, Status: p.Status, Path: p.Fact.Path, BeforeExisted: p.Fact.BeforeExisted,
	}, nil
}

func (a *API) listPatches(ctx context.Context, in *RunPath) (*answer[[]projections.Patch], error) {
	found, err := a.Views.Patches(ctx, in.TaskID, in.RunID)
	return list("task_patches", found), err
}

func (a *API) getPatch(ctx context.Context, in *artifactInput) (*answer[projections.Patch], error) {
	found, err := a.Views.Patch(ctx, in.TaskID, in.RunID, in.ArtifactID)
	return of("task_patch", found), err
}
