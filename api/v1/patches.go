package v1

import (
	"context"
	"net/http"

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
}

func (a *API) listPatches(ctx context.Context, in *RunPath) (*answer[[]projections.Patch], error) {
	found, err := a.Views.Patches(ctx, in.TaskID, in.RunID)
	return list("task_patches", found), err
}

func (a *API) getPatch(ctx context.Context, in *artifactInput) (*answer[projections.Patch], error) {
	found, err := a.Views.Patch(ctx, in.TaskID, in.RunID, in.ArtifactID)
	return of("task_patch", found), err
}
