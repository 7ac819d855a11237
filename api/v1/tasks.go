package v1

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hecate/api/request"
	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/task"
	"hecate/projections"
	"hecate/projections/runs"
)

// Limits of a list of tasks.
const (
	tasksPage    = 50
	tasksPageMax = 200
	searchMax    = 400 // bytes of what is looked for
)

// taskRequest is what somebody wants done.
type taskRequest struct {
	Title            string `json:"title,omitempty" doc:"The first 80 bytes of the prompt if empty."`
	Prompt           string `json:"prompt,omitempty" doc:"What is wanted. Needed for execution_kind agent_loop." maxLength:"1048576"`
	SystemPrompt     string `json:"system_prompt,omitempty" doc:"Added to the instructions that every model call begins with."`
	ExecutionKind    string `json:"execution_kind,omitempty" doc:"How it is done; an execution_profile may give it." enum:"agent_loop,shell,git,file"`
	ExecutionProfile string `json:"execution_profile,omitempty" doc:"Fills what is left empty: repo_local for an agent loop in a persistent workspace, coding_agent for the same with more time and a coding prompt."`
	ShellCommand     string `json:"shell_command,omitempty" doc:"For execution_kind shell; run as sh -lc."`
	GitCommand       string `json:"git_command,omitempty" doc:"For execution_kind git: the arguments after git."`
	FileOperation    string `json:"file_operation,omitempty" doc:"For execution_kind file; write if empty." enum:"write,append"`
	FilePath         string `json:"file_path,omitempty" doc:"For execution_kind file; relative to the workspace."`
	FileContent      string `json:"file_content,omitempty" doc:"For execution_kind file."`
	WorkspaceMode    string `json:"workspace_mode,omitempty" doc:"ephemeral and persistent work on a copy, in_place works in working_directory itself. ephemeral if empty." enum:"ephemeral,persistent,in_place"`
	WorkingDirectory string `json:"working_directory,omitempty" doc:"What is copied, or the workspace itself for in_place; then it must be absolute."`
	Repo             string `json:"repo,omitempty" doc:"What is copied instead: a path, or the address of a repository that is cloned."`
	BaseBranch       string `json:"base_branch,omitempty" doc:"A branch, tag or commit that is checked out in the copy; uncommitted work then stays behind."`
	AllowedRoot      string `json:"sandbox_allowed_root,omitempty" doc:"Nothing outside of it is touched."`
	ReadOnly         bool   `json:"sandbox_read_only,omitempty" doc:"Tools that change something are refused; changes can only be proposed."`
	Network          bool   `json:"sandbox_network,omitempty" doc:"Commands may use the network."`
	TimeoutMS        int64  `json:"timeout_ms,omitempty" doc:"Time limit of one command, in milliseconds; 5000 if 0." minimum:"0"`
	Priority         string `json:"priority,omitempty" doc:"Kept as it is; normal if empty."`
	Provider         string `json:"requested_provider,omitempty" doc:"Needs requested_model, too. Both empty: the router chooses."`
	Model            string `json:"requested_model,omitempty" doc:"The model to use. Empty: the router chooses."`
	BudgetMicroUSD   int64  `json:"budget_micros_usd,omitempty" doc:"Ceiling for the cost of a run and the ones that it goes on from, in millionths of a US dollar; 0 for none." minimum:"0"`
	ProjectID        string `json:"project_id,omitempty" doc:"The project that it belongs to."`
	WorkflowMode     string `json:"workflow_mode,omitempty" doc:"Reserved; must be empty."`
	PresetID         string `json:"agent_preset_id,omitempty" doc:"The work policy that it is made from; only for execution_kind agent_loop. The task keeps what the policy says now."`
	Posture          string `json:"permission_posture,omitempty" doc:"What decides which tool calls ask: the server's policies (runtime, also if empty), or the level of each tool (levels, only for execution_kind agent_loop; a server may forbid it)." enum:"runtime,levels"`
	WorkspacePrompt  string `json:"workspace_system_prompt_policy,omitempty" doc:"Whether the workspace's CLAUDE.md or AGENTS.md is part of the system prompt: exclude leaves it out." enum:"exclude"`

	MCPServers []any `json:"mcp_servers,omitempty" doc:"Reserved; must be empty."`
}

// definition checks what this server cannot do; the rest is the domain's to judge.
func (r taskRequest) definition() (task.Definition, error) {
	switch {
	case len(r.MCPServers) > 0:
		return task.Definition{}, fault.Invalid("invalid_request", "mcp_servers: this server does not run MCP servers for tasks")
	case r.WorkflowMode != "":
		return task.Definition{}, fault.Invalid("invalid_request", "workflow_mode %q is not known to this server", r.WorkflowMode)
	case r.ProjectID != "":
		return task.Definition{}, fault.Invalid("invalid_request", "project %q does not exist", r.ProjectID)
	}
	return task.Definition{
		Title: r.Title, Prompt: event.NewText(r.Prompt), SystemPrompt: event.NewText(r.SystemPrompt),
		ExecutionKind: r.ExecutionKind, ExecutionProfile: r.ExecutionProfile,
		ShellCommand: event.NewText(r.ShellCommand), GitCommand: event.NewText(r.GitCommand),
		FileOperation: r.FileOperation, FilePath: r.FilePath, FileContent: event.NewText(r.FileContent),
		WorkspaceMode: r.WorkspaceMode, WorkingDirectory: r.WorkingDirectory, Repo: r.Repo, BaseBranch: r.BaseBranch,
		AllowedRoot: r.AllowedRoot, ReadOnly: r.ReadOnly, Network: r.Network, TimeoutMS: r.TimeoutMS, Priority: r.Priority,
		Provider: r.Provider, Model: r.Model, BudgetMicroUSD: r.BudgetMicroUSD, Posture: r.Posture,
		WorkspacePrompt: r.WorkspacePrompt,
	}, nil
}

// create records a task, under a work policy if the request names one.
func (a *API) create(ctx context.Context, r taskRequest) (commands.TaskResult, error) {
	d, err := r.definition()
	if err != nil {
		return commands.TaskResult{}, err
	}
	m := request.From(ctx).Meta()
	if id := strings.TrimSpace(r.PresetID); id != "" {
		return a.Commands.CreateTaskFrom(ctx, m, id, d)
	}
	return a.Commands.CreateTask(ctx, m, d)
}

type createTaskInput struct {
	Payload required[taskRequest]
}

type listTasksInput struct {
	Limit     count  `query:"limit" doc:"At most this many, 50 if absent, never more than 200; 0 for all."`
	Status    string `query:"status" doc:"Only tasks in this status." enum:"not_started,queued,running,awaiting_approval,completed,failed,cancelled"`
	Search    string `query:"q" maxLength:"400" doc:"Only tasks that have all of these words, or pieces of words, in their title, the beginning of what is wanted, their directory or repository. A whole id is a word as well. Case does not matter."`
	Before    cursor `query:"before" doc:"Only tasks older than those of the page that named this as next_before."`
	ProjectID string `query:"project_id" doc:"Only tasks of this project; present but empty: only tasks without one."`

	project *string
}

type tasksOutput struct {
	Placed
	Body struct {
		Object string             `json:"object" doc:"Names the kind of the answer." enum:"tasks"`
		Data   []projections.Task `json:"data" doc:"The tasks, newest first."`
		Next   int64              `json:"next_before,omitempty" doc:"The before of the next page; absent at the end."`
	}
}

// Resolve tells an empty project_id from an absent one.
func (in *listTasksInput) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	if q, err := url.ParseQuery(u.RawQuery); err == nil && q.Has("project_id") {
		in.project = &in.ProjectID
	}
	return nil
}

func (a *API) registerTasks() {
	register(a, spec{
		id: "createTask", method: http.MethodPost, path: Base + "/tasks", tag: "Tasks", keyed: true,
		summary:     "Create a task",
		description: "Records what is wanted and starts nothing: the task is `not_started` until its first run. Answers 200.",
		fails:       []int{http.StatusBadRequest},
		body:        reflect.TypeFor[taskRequest](),
		bodyExample: map[string]any{"prompt": "Find out why the build is red and fix it.", "execution_kind": "agent_loop", "working_directory": "/home/ada/project"},
		example:     map[string]any{"object": "task", "data": exampleTask},
	}, a.createTask)
	register(a, spec{
		id: "listTasks", method: http.MethodGet, path: Base + "/tasks", tag: "Tasks",
		summary: "List tasks",
		description: "Newest first. Go on with the `next_before` of a page as `before` until there is none. A search (`q`) looks at a bounded number of tasks, " +
			"so a page may hold few, or none, and still have a next one; with `q` a limit of 0 means 200.",
		fails:   []int{http.StatusBadRequest},
		example: map[string]any{"object": "tasks", "data": []any{exampleTask}, "next_before": 42},
	}, a.listTasks)
	register(a, spec{
		id: "getTask", method: http.MethodGet, path: Base + "/tasks/{task_id}", tag: "Tasks",
		summary: "Get a task", description: "The task, with what can be said about its latest run.",
		fails:   []int{http.StatusNotFound},
		example: map[string]any{"object": "task", "data": exampleTask},
	}, a.getTask)
	register(a, spec{
		id: "deleteTask", method: http.MethodDelete, path: Base + "/tasks/{task_id}", tag: "Tasks", status: http.StatusNoContent,
		summary:     "Delete a task",
		description: "Hides the task, its runs and their events. The log keeps them for audits. A task with an open run cannot be deleted.",
		fails:       []int{http.StatusNotFound, http.StatusConflict},
	}, a.deleteTask)
}

func (a *API) createTask(ctx context.Context, in *createTaskInput) (*answer[projections.Task], error) {
	r, err := a.create(ctx, in.Payload.Value)
	if err != nil {
		return nil, err
	}
	return after(ctx, a, "task", r.Position,
		func() (projections.Task, error) { return a.Views.Task(ctx, r.TaskID) },
		func() (projections.Task, error) { return taskItem(ctx, r.TaskID, r.State), nil })
}

func (a *API) listTasks(ctx context.Context, in *listTasksInput) (*tasksOutput, error) {
	limit, err := in.Limit.between(0, tasksPage, tasksPageMax)
	if err != nil {
		return nil, err
	}
	before, err := in.Before.strict("before")
	if err != nil {
		return nil, err
	}
	search := strings.TrimSpace(in.Search)
	if len(search) > searchMax {
		return nil, fault.Invalid("invalid_request", "q must have at most %d bytes", searchMax)
	}
	if search != "" && limit == 0 {
		limit = tasksPageMax
	}
	page, err := a.Views.Tasks(ctx, runs.TaskFilter{Status: in.Status, ProjectID: in.project, Search: search, Before: before, Limit: limit})
	if err != nil {
		return nil, err
	}
	out := &tasksOutput{}
	out.Body.Object, out.Body.Data, out.Body.Next = "tasks", page.Tasks, page.Next
	return out, nil
}

func (a *API) getTask(ctx context.Context, in *TaskPath) (*answer[projections.Task], error) {
	t, err := a.Views.Task(ctx, in.TaskID)
	return of("task", t), err
}

func (a *API) deleteTask(ctx context.Context, in *TaskPath) (*Placed, error) {
	r, err := a.Commands.DeleteTask(ctx, request.From(ctx).Meta(), in.TaskID)
	if err != nil {
		return nil, err
	}
	out := &Placed{}
	out.at(r.Position)
	if !a.ready(ctx, r.Position) {
		out.Stale = "true"
	}
	return out, nil
}
