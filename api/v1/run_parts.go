package v1

import (
	"context"
	"net/http"

	"hecate/projections"
)

// StepPath names a step of a run.
type StepPath struct {
	RunPath
	StepID string `path:"step_id" doc:"Id of the step; it must be one of the run's." example:"step_3e2d1c0b9a8f7e6d5c4b3a29"`
}

type artifactInput struct {
	RunPath
	ArtifactID string `path:"artifact_id" doc:"Id of the artifact; it must be one of the run's." example:"final-answer-run_0a1b2c3d4e5f60718293a4b5"`
}

const runRoot = Base + "/tasks/{task_id}/runs/{run_id}"

func (a *API) registerRunParts() {
	register(a, spec{
		id: "listSteps", method: http.MethodGet, path: runRoot + "/steps", tag: "Run details",
		summary: "List steps of a run", description: "What the run did or waits for, in order of `index`.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_steps", "data": []any{exampleStep}},
	}, a.listSteps)
	register(a, spec{
		id: "getStep", method: http.MethodGet, path: runRoot + "/steps/{step_id}", tag: "Run details",
		summary: "Get a step", description: "One step of a run.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_step", "data": exampleStep},
	}, a.getStep)
	register(a, spec{
		id: "listRunArtifacts", method: http.MethodGet, path: runRoot + "/artifacts", tag: "Run details",
		summary: "List artifacts of a run", description: "The texts that the run made, with their content, newest first.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_artifacts", "data": []any{exampleArtifact}},
	}, a.listRunArtifacts)
	register(a, spec{
		id: "getArtifact", method: http.MethodGet, path: runRoot + "/artifacts/{artifact_id}", tag: "Run details",
		summary: "Get an artifact", description: "One text that the run made. An artifact of another run is not found.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_artifact", "data": exampleArtifact},
	}, a.getArtifact)
	register(a, spec{
		id: "listTaskArtifacts", method: http.MethodGet, path: Base + "/tasks/{task_id}/artifacts", tag: "Run details",
		summary: "List artifacts of a task", description: "The artifacts of all runs of the task, newest first.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task_artifacts", "data": []any{exampleArtifact}},
	}, a.listTaskArtifacts)
}

func (a *API) listSteps(ctx context.Context, in *RunPath) (*answer[[]projections.Step], error) {
	found, err := a.Views.Steps(ctx, in.TaskID, in.RunID)
	return list("task_steps", found), err
}

func (a *API) getStep(ctx context.Context, in *StepPath) (*answer[projections.Step], error) {
	s, err := a.Views.Step(ctx, in.TaskID, in.RunID, in.StepID)
	return of("task_step", s), err
}

func (a *API) listRunArtifacts(ctx context.Context, in *RunPath) (*answer[[]projections.Artifact], error) {
	found, err := a.Views.Artifacts(ctx, in.TaskID, in.RunID)
	return list("task_artifacts", found), err
}

func (a *API) getArtifact(ctx context.Context, in *artifactInput) (*answer[projections.Artifact], error) {
	found, err := a.Views.Artifact(ctx, in.TaskID, in.RunID, in.ArtifactID)
	return of("task_artifact", found), err
}

func (a *API) listTaskArtifacts(ctx context.Context, in *TaskPath) (*answer[[]projections.Artifact], error) {
	found, err := a.Views.TaskArtifacts(ctx, in.TaskID)
	return list("task_artifacts", found), err
}
