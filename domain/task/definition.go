package task

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// Limits of a definition. A request beyond them is refused, never cut.
// BudgetMax is the highest ceiling of a task, in micro-USD: a million dollars.
const BudgetMax = 1_000_000_000_000

const (
	TextMax    = 1 << 20       // bytes of a prompt, command or file content
	FieldMax   = 4096          // bytes of any other string
	titleMax   = 80            // bytes of a title made from the prompt
	timeoutMax = 24 * 3600_000 // ms
)

// PromptExclude keeps the workspace's guidance file out of the system prompt.
// Source: agent runtime text, "Three-layer system prompt".
const PromptExclude = "exclude"

// Definition is what a caller asks for when creating a task.
type Definition struct {
	Title            string     `json:"title"`
	Prompt           event.Text `json:"prompt,omitzero"`
	SystemPrompt     event.Text `json:"system_prompt,omitzero"`
	ExecutionKind    string     `json:"execution_kind"`
	ExecutionProfile string     `json:"execution_profile,omitempty"`
	ShellCommand     event.Text `json:"shell_command,omitzero"`
	GitCommand       event.Text `json:"git_command,omitzero"`
	FileOperation    string     `json:"file_operation,omitempty"`
	FilePath         string     `json:"file_path,omitempty"`
	FileContent      event.Text `json:"file_content,omitzero"`
	WorkspaceMode    string     `json:"workspace_mode,omitempty"` // ephemeral, persistent or in_place
	WorkingDirectory string     `json:"working_directory,omitempty"`
	Repo             string     `json:"repo,omitempty"`
	BaseBranch       string     `json:"base_branch,omitempty"`
	AllowedRoot      string     `json:"sandbox_allowed_root,omitempty"`
	ReadOnly         bool       `json:"sandbox_read_only,omitempty"`
	Network          bool       `json:"sandbox_network,omitempty"`
	TimeoutMS        int64      `json:"timeout_ms,omitempty"`
	RTK              bool       `json:"rtk_enabled,omitempty"` // of the chat that the task belongs to; off without one
	Priority         string     `json:"priority,omitempty"`
	Provider         string     `json:"requested_provider,omitempty"`
	Model            string     `json:"requested_model,omitempty"`
	BudgetMicroUSD   int64      `json:"budget_micros_usd,omitempty"`
	ProjectID        string     `json:"project_id,omitempty"`
	Posture          string     `json:"posture"` // frozen at creation, see package permission; runtime if empty
	// WorkspacePrompt says what becomes of the workspace's CLAUDE.md or AGENTS.md: part of the
	// system prompt if empty, left out if exclude.
	WorkspacePrompt string `json:"workspace_system_prompt_policy,omitempty"`

	// What the work policy said that the task was made from, see Follow. Nothing looks
	// the policy up again.
	Preset             *run.Preset `json:"preset,omitempty"`
	PresetInstructions event.Text  `json:"preset_instructions,omitzero"`

	// Reuse is the workspace that the task goes on in, see Segment. No caller can ask for it.
	Reuse *run.Reuse `json:"workspace_reuse,omitempty"`
}

// Erased reports whether something of what the task wants was erased.
func (d *Definition) Erased() bool {
	return slices.ContainsFunc(d.texts(), func(t *event.Text) bool { return t.Erased() })
}

func (d *Definition) texts() []*event.Text {
	return []*event.Text{&d.Prompt, &d.SystemPrompt, &d.ShellCommand, &d.GitCommand, &d.FileContent, &d.PresetInstructions}
}

// Normalize trims, fills what a profile or a default gives and checks the rest.
// The error is a fault that names the field.
func (d Definition) Normalize() (Definition, error) {
	d.trim()
	d.applyProfile()
	if d.WorkspaceMode == "" {
		d.WorkspaceMode = "ephemeral"
	}
	if d.Priority == "" {
		d.Priority = "normal"
	}
	if d.Posture == "" {
		d.Posture = permission.PostureRuntime
	}
	if err := d.checkKind(); err != nil {
		return d, err
	}
	if err := d.checkPosture(); err != nil {
		return d, err
	}
	if err := d.checkLimits(); err != nil {
		return d, err
	}
	if d.Title == "" {
		d.Title = titleFrom(d.Prompt.String())
	}
	return d, nil
}

func (d *Definition) trim() {
	for _, s := range []*string{
		&d.Title, &d.ExecutionKind, &d.ExecutionProfile, &d.FileOperation, &d.FilePath, &d.WorkspaceMode, &d.WorkingDirectory,
		&d.Repo, &d.BaseBranch, &d.AllowedRoot, &d.Priority, &d.Provider, &d.Model, &d.ProjectID, &d.Posture, &d.WorkspacePrompt,
	} {
		*s = strings.TrimSpace(*s)
	}
	for _, t := range []*event.Text{&d.Prompt, &d.SystemPrompt, &d.ShellCommand, &d.GitCommand} {
		*t = event.NewText(strings.TrimSpace(t.String()))
	}
}

// applyProfile fills what the caller left empty. The coding profile also lifts a
// time limit that is too short for builds and test runs.
func (d *Definition) applyProfile() {
	timeout := int64(0)
	switch d.ExecutionProfile {
	case "repo_local":
		timeout = 120_000
	case "coding_agent":
		timeout = 300_000
	default:
		return
	}
	if d.ExecutionKind == "" {
		d.ExecutionKind = run.KindAgentLoop
	}
	if d.WorkspaceMode == "" {
		d.WorkspaceMode = "persistent"
	}
	if d.WorkingDirectory == "" && d.Repo == "" {
		d.WorkingDirectory = "."
	}
	if d.TimeoutMS == 0 || d.ExecutionProfile == "coding_agent" && d.TimeoutMS <= 120_000 {
		d.TimeoutMS = timeout
	}
	if d.ExecutionProfile == "coding_agent" && d.SystemPrompt.IsZero() {
		d.SystemPrompt = event.NewText("You are a careful software engineer. Read before you change, keep changes small, run the project's own tests, and say plainly what you did and what you could not do.")
	}
}

func (d *Definition) checkKind() error {
	need := func(t event.Text, field string) error {
		if t.String() == "" {
			return fault.Invalid("invalid_request", "%s is required for execution_kind %q", field, d.ExecutionKind)
		}
		return nil
	}
	switch d.ExecutionKind {
	case run.KindAgentLoop:
		return need(d.Prompt, "prompt")
	case run.KindShell:
		return need(d.ShellCommand, "shell_command")
	case run.KindGit:
		return need(d.GitCommand, "git_command")
	case run.KindFile:
		if d.FilePath == "" {
			return fault.Invalid("invalid_request", "file_path is required for execution_kind \"file\"")
		}
		return nil
	case "":
		if d.Prompt.String() == "" {
			return fault.Invalid("invalid_request", "prompt is required, with execution_kind agent_loop, shell, git or file")
		}
		return fault.Invalid("invalid_request", "execution_kind is required: use agent_loop, shell, git or file")
	}
	return fault.Invalid("invalid_request", "unknown execution_kind %q: use agent_loop, shell, git or file", d.ExecutionKind)
}

// checkPosture lets only those kinds ask by levels whose calls have levels.
func (d *Definition) checkPosture() error {
	switch d.Posture {
	case permission.PostureRuntime:
		return nil
	case permission.PostureLevels:
		if d.ExecutionKind != run.KindAgentLoop {
			return fault.Invalid("invalid_request", "permission_posture \"levels\" needs execution_kind \"agent_loop\", not %q", d.ExecutionKind)
		}
		return nil
	}
	return fault.Invalid("invalid_request", "unknown permission_posture %q: use runtime or levels", d.Posture)
}

func (d *Definition) checkLimits() error {
	switch d.WorkspaceMode {
	case "ephemeral", "persistent":
	case "in_place":
		if d.WorkingDirectory != "" && !filepath.IsAbs(d.WorkingDirectory) {
			return fault.Invalid("invalid_request", "working_directory must be an absolute path for workspace_mode \"in_place\"")
		}
	default:
		return fault.Invalid("invalid_request", "unknown workspace_mode %q: use ephemeral, persistent or in_place", d.WorkspaceMode)
	}
	if d.WorkspacePrompt != "" && d.WorkspacePrompt != PromptExclude {
		return fault.Invalid("invalid_request", "unknown workspace_system_prompt_policy %q: use %s, or leave it out", d.WorkspacePrompt, PromptExclude)
	}
	if d.TimeoutMS < 0 || d.TimeoutMS > timeoutMax {
		return fault.Invalid("invalid_request", "timeout_ms must be between 0 and %d", int64(timeoutMax))
	}
	if d.BudgetMicroUSD < 0 || d.BudgetMicroUSD > BudgetMax {
		return fault.Invalid("invalid_request", "budget_micros_usd must be between 0 and %d", int64(BudgetMax))
	}
	for _, t := range d.texts() {
		if t.Len() > TextMax {
			return fault.Invalid("invalid_request", "a text of the task is %d bytes long; the limit is %d", t.Len(), TextMax)
		}
	}
	for _, s := range []string{
		d.Title, d.FilePath, d.WorkingDirectory, d.Repo, d.BaseBranch, d.AllowedRoot, d.Provider, d.Model,
		d.ProjectID, d.Priority, d.ExecutionProfile, d.FileOperation,
	} {
		if len(s) > FieldMax {
			return fault.Invalid("invalid_request", "a field of the task is %d bytes long; the limit is %d", len(s), FieldMax)
		}
		if strings.ContainsRune(s, 0) {
			return fault.Invalid("invalid_request", "a field of the task holds a NUL byte")
		}
	}
	return nil
}

// titleFrom cuts the prompt to a title on a character boundary.
func titleFrom(prompt string) string {
	if prompt == "" {
		return "New task"
	}
	if len(prompt) <= titleMax {
		return prompt
	}
	cut := titleMax
	for cut > 0 && !utf8.RuneStart(prompt[cut]) {
		cut--
	}
	return prompt[:cut] + "..."
}

// Spec is the part of the definition that a run freezes.
func (d Definition) Spec() run.Spec {
	return run.Spec{
		ExecutionKind: d.ExecutionKind, Prompt: d.Prompt, SystemPrompt: d.ownLayer(), ShellCommand: d.ShellCommand,
		GitCommand: d.GitCommand, FileOperation: d.FileOperation, FilePath: d.FilePath, FileContent: d.FileContent,
		WorkspaceMode: d.WorkspaceMode, WorkingDirectory: d.WorkingDirectory, Repo: d.Repo, BaseBranch: d.BaseBranch,
		AllowedRoot: d.AllowedRoot, ReadOnly: d.ReadOnly, Network: d.Network, TimeoutMS: d.TimeoutMS, RTK: d.RTK,
		ExcludeGuidance: d.WorkspacePrompt == PromptExclude, Posture: d.Posture, Preset: d.Preset, Reuse: d.Reuse,
	}
}
