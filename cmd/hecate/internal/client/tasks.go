package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"hecate/domain/run"
)

// CreateTask records what is wanted; nothing runs yet. The position is that of the
// log afterwards: every event of a later run stands behind it.
func (c *Client) CreateTask(ctx context.Context, t NewTask) (Task, int64, error) {
	var out Task
	position, err := c.call(ctx, http.MethodPost, "/tasks", t, &out)
	return out, position, err
}

// permissions is the member of bodies that open a run in which it is said what
// becomes of its questions. It is left out if nothing is said.
type permissions struct {
	Permissions *run.Ahead `json:"permissions,omitempty"`
}

func ahead(p run.Ahead) permissions {
	if p.OnAsk == "" && !p.Gives() {
		return permissions{}
	}
	return permissions{&p}
}

// StartTask opens a run. What is decided ahead holds for this run alone.
func (c *Client) StartTask(ctx context.Context, task string, p run.Ahead) (Run, error) {
	return c.open(ctx, "/tasks/"+url.PathEscape(task)+"/start", ahead(p))
}

// Tasks lists tasks, newest first. A limit of 0 lists all; an empty status lists every one.
func (c *Client) Tasks(ctx context.Context, limit int, status string) ([]Task, error) {
	raw, _, err := c.TaskList(ctx, TaskQuery{Limit: limit, Status: status})
	if err != nil {
		return nil, err
	}
	return DecodeTasks(raw)
}

// TaskQuery chooses tasks of the list.
type TaskQuery struct {
	Limit  int    // 0 for all
	Status string // "" for every one
	Search string // words that a task must have; "" for all
	Before int64  // only tasks older than those of the list that named it; 0 for all
}

// taskPage is how many tasks the server gives at once.
const taskPage = 200

// TaskList lists tasks as the server's JSON, newest first, and returns the Before of those
// that follow, 0 if there are none. It asks until it has as many as it may: what the server
// gives of a search at once may be few tasks, or none, without being the end.
func (c *Client) TaskList(ctx context.Context, q TaskQuery) ([]json.RawMessage, int64, error) {
	out := []json.RawMessage{}
	for {
		var page struct {
			Data []json.RawMessage
			Next int64 `json:"next_before"`
		}
		if _, err := c.exchange(ctx, http.MethodGet, "/tasks?"+q.page(len(out)).Encode(), nil, &page); err != nil {
			return nil, 0, err
		}
		out = append(out, page.Data...)
		if page.Next == 0 || q.Limit > 0 && len(out) >= q.Limit {
			return out, page.Next, nil
		}
		q.Before = page.Next
	}
}

// page is the question for what is left when so many are there.
func (q TaskQuery) page(have int) url.Values {
	limit := 0
	if q.Limit > 0 {
		limit = min(q.Limit-have, taskPage)
	}
	out := url.Values{"limit": {strconv.Itoa(limit)}}
	for name, value := range map[string]string{"status": q.Status, "q": q.Search} {
		if value != "" {
			out.Set(name, value)
		}
	}
	if q.Before > 0 {
		out.Set("before", strconv.FormatInt(q.Before, 10))
	}
	return out
}

// DecodeTasks reads tasks as the server gives them.
func DecodeTasks(raw []json.RawMessage) ([]Task, error) {
	out := make([]Task, len(raw))
	for i, r := range raw {
		if err := json.Unmarshal(r, &out[i]); err != nil {
			return nil, fmt.Errorf("read a task: %w", err)
		}
	}
	return out, nil
}

// Task returns one task.
func (c *Client) Task(ctx context.Context, task string) (Task, error) {
	var out Task
	_, err := c.call(ctx, http.MethodGet, "/tasks/"+url.PathEscape(task), nil, &out)
	return out, err
}

// TaskNow returns one task, with a position of the log that is not behind it: what is
// asked for afterwards happens behind that position. 0 if the server does not say.
func (c *Client) TaskNow(ctx context.Context, task string) (Task, int64, error) {
	var out Task
	position, err := c.call(ctx, http.MethodGet, "/tasks/"+url.PathEscape(task), nil, &out)
	return out, position, err
}

// Runs lists a task's runs, newest first.
func (c *Client) Runs(ctx context.Context, task string) ([]Run, error) {
	var out []Run
	_, err := c.call(ctx, http.MethodGet, "/tasks/"+url.PathEscape(task)+"/runs", nil, &out)
	return out, err
}

// Run returns one run.
func (c *Client) Run(ctx context.Context, task, run string) (Run, error) {
	var out Run
	_, err := c.call(ctx, http.MethodGet, RunPath(task, run), nil, &out)
	return out, err
}

// CancelRun stops a run for good. On one that has ended it changes nothing.
func (c *Client) CancelRun(ctx context.Context, task, run, reason string) (Run, error) {
	var out Run
	_, err := c.call(ctx, http.MethodPost, RunPath(task, run)+"/cancel", map[string]string{"reason": reason}, &out)
	return out, err
}

// Patches lists a run's file changes, newest first.
func (c *Client) Patches(ctx context.Context, task, run string) ([]Patch, error) {
	var out []Patch
	_, err := c.call(ctx, http.MethodGet, RunPath(task, run)+"/patches", nil, &out)
	return out, err
}

// Approvals lists all approvals of a task, newest first.
func (c *Client) Approvals(ctx context.Context, task string) ([]Approval, error) {
	var out []Approval
	_, err := c.call(ctx, http.MethodGet, "/tasks/"+url.PathEscape(task)+"/approvals", nil, &out)
	return out, err
}

// Answer is how a person answers an approval.
type Answer struct {
	Decision string `json:"decision"`       // approve or reject
	Note     string `json:"note,omitempty"` // for the record; of a rejection with Continue, also for the model
	// Digest is that of the calls that the person saw; the server refuses the answer
	// if it is not that of the calls that wait. Empty if they could not be shown.
	Digest string `json:"digest,omitempty"`
	// Continue of a rejection lets the run go on, with all that asks refused. Without it
	// a rejection ends the run.
	Continue bool         `json:"continue,omitempty"`
	Calls    []CallAnswer `json:"calls,omitempty"` // answered one by one
}

// CallAnswer is the answer to one call of an approval.
type CallAnswer struct {
	ToolCallID string `json:"tool_call_id"`
	Decision   string `json:"decision"`             // approve or deny
	Note       string `json:"note,omitempty"`       // of a refusal: what the model is told
	Scope      string `json:"scope,omitempty"`      // of a yes: once, session or project
	Pattern    string `json:"pattern,omitempty"`    // for more than once, if it is not the one that was offered
	CoveredBy  string `json:"covered_by,omitempty"` // of a yes: the call of this answer whose grant alone lets this one run
}

// The answers to approvals and to their calls.
const (
	Approve = "approve"
	Reject  = "reject"
	Deny    = "deny"
)

// Resolve answers an approval.
func (c *Client) Resolve(ctx context.Context, task, approval string, a Answer) (Approval, error) {
	var out Approval
	path := "/tasks/" + url.PathEscape(task) + "/approvals/" + url.PathEscape(approval) + "/resolve"
	_, err := c.call(ctx, http.MethodPost, path, a, &out)
	return out, err
}

// RunEvents reads one page of a run's history: events behind after, oldest first.
// The end is an empty page.
func (c *Client) RunEvents(ctx context.Context, task, run string, after int64) ([]Event, error) {
	var out []Event
	_, err := c.call(ctx, http.MethodGet, RunPath(task, run)+"/events?after_sequence="+strconv.FormatInt(after, 10), nil, &out)
	return out, err
}

// Projections lists the read models.
func (c *Client) Projections(ctx context.Context) ([]Projection, error) {
	var out []Projection
	_, err := c.call(ctx, http.MethodGet, "/system/projections", nil, &out)
	return out, err
}

// RebuildProjections folds one read model, or all for an empty name, from the log anew.
func (c *Client) RebuildProjections(ctx context.Context, name string) ([]Projection, error) {
	body := map[string]string{}
	if name != "" {
		body["name"] = name
	}
	var out []Projection
	_, err := c.call(ctx, http.MethodPost, "/system/projections/rebuild", body, &out)
	return out, err
}

// RunPath is where a run stands.
func RunPath(task, run string) string {
	return "/tasks/" + url.PathEscape(task) + "/runs/" + url.PathEscape(run)
}

// Raw reads what stands at a path below /hecate/v1, as it comes.
func (c *Client) Raw(ctx context.Context, path string) (json.RawMessage, error) {
	var out json.RawMessage
	_, err := c.call(ctx, http.MethodGet, path, nil, &out)
	return out, err
}
