package v1

import (
	"context"
	"net/http"
	"time"

	"hecate/api/envelope"
	"hecate/api/request"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/projections"
)

// operationMax is how long an answer waits for a worker to do an operation.
const operationMax = 30 * time.Second

type operationInput struct {
	RunPath
	OperationID string `path:"operation_id" doc:"Id of the operation; it must be about the run." example:"op_7c6b5a4938271605f4e3d2c1"`
}

// operationItem is an operation as clients see it.
type operationItem struct {
	ID         string           `json:"id"`
	TaskID     string           `json:"task_id"`
	RunID      string           `json:"run_id"`
	Kind       operation.Kind   `json:"kind" doc:"patch_apply, patch_revert, take or restore."`
	Preview    bool             `json:"preview,omitempty" doc:"It only says what would be done."`
	Status     string           `json:"status" doc:"requested; running; done; refused: nothing was changed, and error says why; unknown: its worker vanished in the midst." enum:"requested,running,done,refused,unknown"`
	ArtifactID string           `json:"artifact_id,omitempty" doc:"The patch that it is about."`
	Result     *operationResult `json:"result,omitempty" doc:"Of take and restore that are done: what became, or would become, of each file."`
	Error      *operationFailed `json:"error,omitempty" doc:"Why it was not done."`
	CreatedAt  string           `json:"created_at" format:"date-time"`
}

type operationFailed struct {
	Type    string `json:"type" doc:"Stable name of the error, such as conflict."`
	Message string `json:"message" doc:"What happened, in one sentence."`
}

var exampleOperation = map[string]any{
	"id": "op_7c6b5a4938271605f4e3d2c1", "task_id": "task_4f6b1f0c9d2e8a7b3c5d6e7f", "run_id": "run_0a1b2c3d4e5f60718293a4b5",
	"kind": "patch_apply", "status": "running", "artifact_id": "artifact_1f2e3d4c5b6a79880917263f", "created_at": "2026-03-01T09:15:00Z",
}

func (a *API) registerOperations() {
	register(a, spec{
		id: "getOperation", method: http.MethodGet, path: runRoot + "/operations/{operation_id}", tag: "Run details",
		summary: "Get an operation on a workspace",
		description: "What became of something that was to be done to the run's workspace, such as to apply a patch. " +
			"One that no worker has begun after ten minutes is given up.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "workspace_operation", "data": exampleOperation},
	}, a.getOperation)
}

func (a *API) getOperation(ctx context.Context, in *operationInput) (*answer[operationItem], error) {
	o, err := a.Commands.LoadOperation(ctx, in.OperationID)
	if err != nil {
		return nil, err
	}
	if _, err := a.Views.Run(ctx, in.TaskID, in.RunID); err != nil { // not of a deleted task
		return nil, err
	}
	if o.Requested.TaskID != in.TaskID || o.Requested.RunID != in.RunID {
		return nil, fault.NotFound("not_found", "operation not found")
	}
	return of("workspace_operation", itemOf(o)), nil
}

func itemOf(o operation.State) operationItem {
	r := o.Requested
	out := operationItem{
		ID: o.ID, TaskID: r.TaskID, RunID: r.RunID, Kind: r.Kind, Preview: r.Preview, Status: "requested", ArtifactID: r.ArtifactID, CreatedAt: projections.FormatTime(o.At),
	}
	switch c := o.Completed; {
	case c != nil:
		out.Status = string(c.Outcome)
		out.Result = resultOf(c.Landed)
		if c.Outcome != operation.Done {
			out.Error = &operationFailed{c.Code, c.Message}
		}
	case o.Begun != nil:
		out.Status = "running"
	}
	return out
}

// operated is the answer to a request that a worker carries out: what came of it, or,
// with 202, the operation.
type operated struct {
	Status int
	Placed
	Body any
}

// operate has a worker do something to a workspace, and waits for it.
func (a *API) operate(ctx context.Context, r operation.Requested, done func(operation.State) (*operated, error)) (*operated, error) {
	s, err := a.Commands.OutlineRun(ctx, r.RunID)
	if err != nil {
		return nil, err
	}
	own := s.Spec.WorkspaceMode == "in_place" || r.Kind == operation.Take
	if own && !r.Preview { // the files are the operator's own
		if err := a.mustDecide(ctx, s.Spec.Network); err != nil {
			return nil, err
		}
	}
	o, err := a.Commands.RequestOperation(ctx, request.From(ctx).Meta(), r)
	if err != nil {
		return nil, err
	}
	waiting, stop := context.WithTimeout(ctx, operationMax)
	defer stop()
	if err := a.Commands.AwaitOperation(waiting, &o); err != nil {
		return nil, err
	}
	if o.Completed == nil {
		out := &operated{Status: http.StatusAccepted, Body: envelope.Answer[operationItem]{Object: "workspace_operation", Data: itemOf(o)}}
		out.at(o.Position)
		return out, nil
	}
	if err := o.Completed.Err(); err != nil {
		return nil, err
	}
	return done(o)
}
