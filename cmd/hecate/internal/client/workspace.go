package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// operationPoll is how often it is asked whether an operation has ended.
const operationPoll = time.Second / 2

// Operation is something that is done to a run's workspace from outside of the run.
type Operation struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Status string `json:"status"`
	Result Landed `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Landed says what became, or would become, of each file.
type Landed struct {
	Target         string       `json:"target"`
	Branch         string       `json:"branch"`
	Commit         string       `json:"commit"`
	Digest         string       `json:"digest"`
	Files          []LandedFile `json:"files"` // the first of them
	FilesCount     int64        `json:"files_count"`
	Conflicts      int64        `json:"conflicts"`
	Withheld       int64        `json:"withheld"`
	NotUndone      []string     `json:"not_undone"`
	NotUndoneCount int64        `json:"not_undone_count"`
	LeftBehind     []string     `json:"left_behind"` // what cannot be taken, and why
	Diff           string       `json:"diff"`
	DiffCut        bool         `json:"diff_cut"`
}

// LandedFile is what becomes of one file.
type LandedFile struct {
	Path    string `json:"path"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
	Class   string `json:"class"`
}

// Take is what is to be taken of a run's changes.
type Take struct {
	Paths     []string `json:"paths,omitempty"`
	Branch    string   `json:"branch,omitempty"`
	Sensitive bool     `json:"sensitive,omitempty"`
	Markers   bool     `json:"markers,omitempty"`
}

// Restore is the moment that a workspace is to be put back to.
type Restore struct {
	Before string `json:"before"`
	Force  bool   `json:"force,omitempty"`
}

// reviewed is the part of a request that says whether it is a preview, or which one was seen.
type reviewed struct {
	Preview bool   `json:"preview,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// TakeRun puts what a run has changed into its source, as the preview with the digest
// showed it; without a digest it returns a preview. It waits for the end, and calls waiting
// once if that takes long.
func (c *Client) TakeRun(ctx context.Context, r Run, t Take, digest string, waiting func(Operation)) (Landed, error) {
	return c.operate(ctx, r, "/take", struct {
		reviewed
		Take
	}{reviewed{digest == "", digest}, t}, waiting)
}

// RestoreRun puts a run's workspace back, as the preview with the digest showed it; without
// a digest it returns a preview. It waits like TakeRun.
func (c *Client) RestoreRun(ctx context.Context, r Run, to Restore, digest string, waiting func(Operation)) (Landed, error) {
	return c.operate(ctx, r, "/restore", struct {
		reviewed
		Restore
	}{reviewed{digest == "", digest}, to}, waiting)
}

// RevertPatch takes the change of one patch back. It waits like TakeRun.
func (c *Client) RevertPatch(ctx context.Context, r Run, patch string, waiting func(Operation)) error {
	_, err := c.operate(ctx, r, "/patches/"+url.PathEscape(patch)+"/revert", nil, waiting) // a patch that is answered is no open operation
	return err
}

// operate has something done to a workspace. The server answers before the end of what
// takes long, and whoever leaves then may take the server along.
func (c *Client) operate(ctx context.Context, r Run, path string, body any, waiting func(Operation)) (Landed, error) {
	var o Operation
	if _, err := c.call(ctx, http.MethodPost, RunPath(r.TaskID, r.ID)+path, body, &o); err != nil {
		return Landed{}, err
	}
	if o.open() {
		waiting(o)
	}
	for o.open() {
		select {
		case <-ctx.Done():
			return Landed{}, ctx.Err()
		case <-time.After(operationPoll):
		}
		if _, err := c.call(ctx, http.MethodGet, RunPath(r.TaskID, r.ID)+"/operations/"+url.PathEscape(o.ID), nil, &o); err != nil {
			return Landed{}, fmt.Errorf("ask what became of operation %s: %w", o.ID, err)
		}
	}
	if o.Error != nil {
		return Landed{}, errors.New(o.Error.Message)
	}
	return o.Result, nil
}

func (o Operation) open() bool { return o.Status == "requested" || o.Status == "running" }

// RestorePoint is a moment that a run's workspace can be put back to.
type RestorePoint struct {
	ID             string `json:"id"`
	StepID         string `json:"step_id"`
	ToolCallID     string `json:"tool_call_id"`
	ToolName       string `json:"tool_name"`
	ModelCallIndex int64  `json:"model_call_index"`
	OperationID    string `json:"operation_id"`
	Available      bool   `json:"available"`
	Changed        []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changed"` // the first of them
	ChangedCount int64 `json:"changed_count"`
}

// RestorePoints lists the moments that a run's workspace can be put back to, oldest first.
func (c *Client) RestorePoints(ctx context.Context, r Run) ([]RestorePoint, error) {
	var out []RestorePoint
	_, err := c.call(ctx, http.MethodGet, RunPath(r.TaskID, r.ID)+"/restore-points", nil, &out)
	return out, err
}
