package v1

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"hecate/domain/permission"
	"hecate/domain/run"
)

// aheadRequest is what whoever opens a run says to its questions before there are any.
type aheadRequest struct {
	OnAsk         string   `json:"on_ask,omitempty" doc:"What becomes of a call that asks: park waits for a person, refuse tells the model that nobody can answer. park if empty." enum:"park,refuse"`
	Attended      bool     `json:"attended,omitempty" doc:"Somebody watches the run who can answer at once: the model may ask for changes of permission files."`
	AllowTools    []string `json:"allow_tools,omitempty" doc:"Patterns of calls that need not ask." example:"[\"exec(go) args(test *)\"]" maxItems:"256"`
	Yes           bool     `json:"yes,omitempty" doc:"What level 2 and the server's policies ask about is approved."`
	YesReally     bool     `json:"yes_really,omitempty" doc:"Hosts that nobody listed are, too, over https."`
	ProjectConfig string   `json:"project_config,omitempty" doc:"Absolute path, on the machine of the workspace, of the permission file that counts instead of the project's."`
}

var exampleAhead = map[string]any{"permissions": map[string]any{"on_ask": "refuse", "allow_tools": []any{"exec(go) args(test *)"}}}

// ahead is r as commands take it. What opens anything that would ask is for those who
// may answer approvals.
func (a *API) ahead(ctx context.Context, taskID string, r *aheadRequest) (run.Ahead, error) {
	if r == nil {
		return run.Ahead{}, nil
	}
	out := run.Ahead{
		OnAsk: permission.OnAsk(r.OnAsk), Attended: r.Attended, AllowTools: r.AllowTools, Yes: r.Yes, YesReally: r.YesReally, ProjectConfig: r.ProjectConfig,
	}
	if err := out.Check(); err != nil || !out.Gives() {
		return out, err
	}
	t, err := a.Commands.LoadTask(ctx, taskID)
	if err != nil {
		return out, err
	}
	return out, a.mustDecide(ctx, t.Definition.Network)
}

// retryBody is a body that may be absent or unreadable, except for its permissions: to
// leave out what somebody meant to be in force is no leniency.
type retryBody struct{ Value retryRequest }

// Resolve reads the body.
func (b *retryBody) Resolve(ctx huma.Context) []error {
	raw, err := readBody(ctx)
	if err != nil {
		return []error{err}
	}
	var all retryRequest
	if decode(raw, &all) == nil {
		b.Value = all
		return nil
	}
	var has struct {
		Permissions json.RawMessage `json:"permissions"`
	}
	if decode(raw, &has) != nil || has.Permissions == nil {
		return nil
	}
	var only struct {
		Permissions *aheadRequest `json:"permissions"`
	}
	if err := decode(raw, &only); err != nil {
		return []error{err}
	}
	b.Value.Permissions = only.Permissions
	return nil
}
