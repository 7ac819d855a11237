package client

import (
	"context"
	"net/http"
	"net/url"
)

// Permissions is what is allowed and forbidden in a directory, and in a task's session.
type Permissions struct {
	UserFile        string              `json:"user_file,omitempty"`
	ProjectFile     string              `json:"project_file,omitempty"`
	ProjectExists   bool                `json:"project_exists"`
	ProjectAccepted bool                `json:"project_accepted"`
	ProjectDigest   string              `json:"project_digest,omitempty"` // "" if it cannot be accepted as it is
	Entries         []PermissionEntry   `json:"entries"`
	Waiting         []PermissionEntry   `json:"waiting"`  // grants that count once the project's file is accepted
	Shut            []PermissionEntry   `json:"shut_out"` // grants of files that are shut out, as far as they can be read
	Locks           []PermissionLock    `json:"locks"`
	Problems        []PermissionProblem `json:"problems"`
	Session         []SessionGrant      `json:"session"`
}

// PermissionEntry is one entry of a permission file.
type PermissionEntry struct {
	ID     string `json:"id"`
	List   string `json:"list"`
	Layer  string `json:"layer"`
	Text   string `json:"text"`
	Reason string `json:"reason,omitempty"`
	At     string `json:"at"`
	Covers string `json:"covers,omitempty"`
}

// PermissionLock is a name that calls take turns by.
type PermissionLock struct {
	Name     string   `json:"name"`
	Patterns []string `json:"patterns"`
	Layer    string   `json:"layer"`
	At       string   `json:"at"`
}

// PermissionProblem is something wrong with a permission file.
type PermissionProblem struct {
	Layer   string `json:"layer"`
	List    string `json:"list"`
	At      string `json:"at,omitempty"`
	Refused bool   `json:"refused"`
	Message string `json:"message"`
}

// SessionGrant is what was given for a session.
type SessionGrant struct {
	ID    string `json:"id"`
	Scope string `json:"scope"`
	Host  bool   `json:"host"`
	RunID string `json:"run_id"`
}

// Permissions returns what holds in a directory of the server's machine, and in the
// session of a task; either may be empty.
func (c *Client) Permissions(ctx context.Context, dir, task string) (Permissions, error) {
	query := url.Values{}
	for name, value := range map[string]string{"dir": dir, "task_id": task} {
		if value != "" {
			query.Set(name, value)
		}
	}
	var out Permissions
	_, err := c.call(ctx, http.MethodGet, "/permissions?"+query.Encode(), nil, &out)
	return out, err
}

// AcceptPermissions puts the grants of a project's file into force, as it was looked at.
func (c *Client) AcceptPermissions(ctx context.Context, dir, digest string) error {
	_, err := c.call(ctx, http.MethodPost, "/permissions/accept", map[string]string{"dir": dir, "digest": digest}, nil)
	return err
}

// RevokeEntry takes an entry out of its permission file.
func (c *Client) RevokeEntry(ctx context.Context, dir, id string) error {
	_, err := c.call(ctx, http.MethodPost, "/permissions/revoke", map[string]string{"dir": dir, "id": id}, nil)
	return err
}

// RevokeGrant ends what was given for the session of a task.
func (c *Client) RevokeGrant(ctx context.Context, task, id string) error {
	_, err := c.call(ctx, http.MethodPost, "/tasks/"+url.PathEscape(task)+"/permissions/revoke", map[string]string{"grant_id": id}, nil)
	return err
}

// AnsweredBy is who answered an approval.
type AnsweredBy struct {
	ID       string `json:"id"`
	By       string `json:"resolved_by"` // operator or system
	Name     string `json:"resolved_by_name"`
	Verified bool   `json:"resolved_by_verified"` // a token proved the name
	Note     string `json:"resolution_note"`
}

// Answers returns who answered the approvals of a task, by their ids.
func (c *Client) Answers(ctx context.Context, task string) (map[string]AnsweredBy, error) {
	var found []AnsweredBy
	_, err := c.call(ctx, http.MethodGet, "/tasks/"+url.PathEscape(task)+"/approvals", nil, &found)
	out := map[string]AnsweredBy{}
	for _, a := range found {
		out[a.ID] = a
	}
	return out, err
}
