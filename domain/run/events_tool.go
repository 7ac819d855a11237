package run

import (
	"hecate/domain/event"
	"hecate/domain/permission"
)

// Ruling is how the permission system decided about one call. It stands in every
// event that follows from the decision, so that the log alone explains it.
type Ruling struct {
	Decision string `json:"decision"`         // allow, allow_visibly, ask or deny
	Level    int    `json:"level"`            // 0 silent, 1 visible, 2 asks
	Layer    string `json:"layer"`            // hard_limit, deny, gate, answer, default or unattended
	Rule     string `json:"rule"`             // such as runtime-policy
	Posture  string `json:"posture"`          // runtime or levels
	Grant    string `json:"grant,omitempty"`  // id of the entry that opened the gates
	Config   string `json:"config,omitempty"` // digest of the permission files' entries; absent if there are none
}

// DispatchIntended is durable before a call's side effect can happen. Without a
// settlement after it, the outcome is unknown and the call is never run again.
type DispatchIntended struct {
	ModelCallIndex int64          `json:"model_call_index,omitempty"` // 0 for a direct run and for an inherited call
	SourceRunID    string         `json:"source_run_id,omitempty"`    // of an inherited call: the run whose model asked for it,
	SourceIndex    int64          `json:"source_model_call_index,omitempty"`
	ToolCallID     string         `json:"tool_call_id"`
	ToolName       string         `json:"tool_name"`
	CallDigest     string         `json:"tool_call_digest"` // hex SHA-256 of name and exact arguments
	StepID         string         `json:"step_id"`
	StepKind       string         `json:"step_kind"` // tool, shell, git or file
	Title          string         `json:"title"`
	Input          map[string]any `json:"input,omitempty"` // safe to show: sizes instead of contents
	Ruling         Ruling         `json:"ruling"`
	ApprovalID     string         `json:"approval_id,omitempty"` // the approval that authorises it
	Locks          []string       `json:"locks,omitempty"`       // execution locks held meanwhile
	Files          []FileDigest   `json:"files,omitempty"`       // what the call runs, as it stands right before
	// SecretsNamed are the secrets of the server that the call names, such as the variables in
	// its command, whether or not it gets at them.
	SecretsNamed []string `json:"secrets_named,omitempty" erased:"keep"`
}

// FileDigest is what a file held at a moment: a script that a call names is run as it is
// when the call starts, so the log keeps what was there when it was asked about and
// when it was dispatched.
type FileDigest struct {
	Path   string `json:"path"`   // as the call names it
	SHA256 string `json:"sha256"` // hex, of up to the first 16 MiB; "" if there is no such file
}

// EventType names the event on the wire.
func (DispatchIntended) EventType() string { return "tool.dispatch.intended" }

var _ = event.Define(DispatchIntended{
	ModelCallIndex: 1, ToolCallID: "c1", ToolName: "read_file", CallDigest: "ab12", StepID: "step_2", StepKind: "tool",
	Title: "read_file (dispatching)", Ruling: Ruling{Decision: "allow", Layer: "default", Rule: "level-0", Posture: "runtime"},
})

// Outcome is how a call ended.
type Outcome string

// The outcomes of a call.
const (
	OutcomeCompleted Outcome = "completed"
	OutcomeFailed    Outcome = "failed"    // ran and failed, or could not run as asked
	OutcomeBlocked   Outcome = "blocked"   // refused by policy; nothing ran
	OutcomeRefused   Outcome = "refused"   // never dispatched for a reason that is no policy, such as a cut-off response
	OutcomeCancelled Outcome = "cancelled" // ended because the run was
	OutcomeUnknown   Outcome = "unknown"   // an intent without a settlement: the effect may have happened
)

// DispatchSettled is the recorded outcome of one call and what the model is told.
type DispatchSettled struct {
	ModelCallIndex int64          `json:"model_call_index,omitempty"`
	ToolCallID     string         `json:"tool_call_id"`
	ToolName       string         `json:"tool_name"`
	StepID         string         `json:"step_id"`
	Outcome        Outcome        `json:"outcome"`
	Result         event.Text     `json:"result"`               // exact text of the tool message
	ToolError      bool           `json:"tool_error,omitempty"` // the message is an error to the model
	Title          string         `json:"title"`
	Input          map[string]any `json:"input,omitempty"` // added to the intent's input
	Output         map[string]any `json:"output,omitempty"`
	Error          string         `json:"error,omitempty"`
	ErrorKind      string         `json:"error_kind,omitempty"`
	ExitCode       int64          `json:"exit_code,omitempty"`
	Ruling         *Ruling        `json:"ruling,omitempty"`      // for blocked calls, which have no intent
	ApprovalID     string         `json:"approval_id,omitempty"` // of a call that a person refused
	Repeat         *Repeat        `json:"repeat,omitempty"`      // where the repetition guard watches
}

// EventType names the event on the wire.
func (DispatchSettled) EventType() string { return "tool.dispatch.settled" }

// Texts lists what may move out of the log.
func (e *DispatchSettled) Texts() []*event.Text { return []*event.Text{&e.Result} }

var _ = event.Define(DispatchSettled{
	ModelCallIndex: 1, ToolCallID: "c1", ToolName: "read_file", StepID: "step_2", Outcome: OutcomeCompleted,
	Result: event.NewText("path=a size=1 bytes=1\n--- content ---\nx"), Title: "read_file a", Output: map[string]any{"bytes_read": 1},
})

// ToolBlocked tells followers that policy refused a call.
type ToolBlocked struct {
	ToolCallID string `json:"tool_call_id,omitempty"`
	ToolName   string `json:"tool_name"`
	Kind       string `json:"kind"`   // builtin or mcp
	Result     string `json:"result"` // always blocked
	Policy     string `json:"policy"` // such as sandbox_read_only
	Reason     string `json:"reason"`
	Ruling     Ruling `json:"ruling"`
	// Gates are those that asked where nobody could answer; none of a call that nobody
	// could have allowed.
	Gates []permission.Gate `json:"gates,omitempty"`
}

// EventType names the event on the wire.
func (ToolBlocked) EventType() string { return "policy.tool_blocked" }

var _ = event.Define(ToolBlocked{ToolCallID: "c1", ToolName: "file_write", Kind: "builtin", Result: "blocked", Policy: "sandbox_read_only", Reason: "the task is read-only"})

// ShellPosture is what confines a shell command; every tool.* event of the command's start carries it.
type ShellPosture struct {
	ToolCallID       string `json:"tool_call_id"`
	ToolName         string `json:"tool_name"` // shell_exec or exec, or shell for a direct run
	Kind             string `json:"kind"`      // shell
	Wrapper          string `json:"hecate.sandbox.wrapper.kind" erased:"keep"`
	Network          bool   `json:"hecate.sandbox.network.enabled"`
	ReadOnly         bool   `json:"hecate.sandbox.read_only"`
	OutputLimitBytes int64  `json:"hecate.sandbox.output_limit.bytes"`
	RTK              bool   `json:"hecate.sandbox.rtk.enabled,omitempty"` // rtk shortens what it prints
}

// ToolInvoked says that a shell command was asked for.
type ToolInvoked struct{ ShellPosture }

// EventType names the event on the wire.
func (ToolInvoked) EventType() string { return "tool.invoked" }

// ToolStarted says that a shell command is about to start.
type ToolStarted struct{ ShellPosture }

// EventType names the event on the wire.
func (ToolStarted) EventType() string { return "tool.started" }

// ShellCommand is what is started, exactly up to 4 KiB of the command: of a longer
// one Argv has only the beginning and a note of its size. Command always has all of it.
type ShellCommand struct {
	ShellPosture
	Argv             []string   `json:"argv"`
	Command          event.Text `json:"command_string"`
	Dir              string     `json:"cwd"`
	EnvKeys          []string   `json:"env_keys"`
	SandboxLayer     string     `json:"sandbox_layer"`
	TimeoutMS        int64      `json:"timeout_ms"`
	WorkingDirectory string     `json:"hecate.tool.working_directory"`
	ToolTimeoutMS    int64      `json:"hecate.tool.timeout_ms"`
	StepID           string     `json:"step_id"`
	StdoutArtifactID string     `json:"stdout_artifact_id"`
	StderrArtifactID string     `json:"stderr_artifact_id"`
	// The command without and with rtk, and without what look like secrets; empty without it.
	RTKBefore string `json:"hecate.sandbox.rtk.command.before,omitempty"`
	RTKAfter  string `json:"hecate.sandbox.rtk.command.after,omitempty"`
}

// EventType names the event on the wire.
func (ShellCommand) EventType() string { return "tool.shell.command" }

// Texts lists what may move out of the log.
func (e *ShellCommand) Texts() []*event.Text { return []*event.Text{&e.Command} }

// ShellOutput is a piece of a command's output, at most 16 KiB, in the order of its
// stream. Between the streams the order is that of arrival to within a moment.
type ShellOutput struct {
	ToolCallID string     `json:"tool_call_id"`
	Stream     string     `json:"stream"` // stdout or stderr
	Data       event.Text `json:"data"`
	ByteOffset int64      `json:"byte_offset"` // within its stream
	ArtifactID string     `json:"artifact_id"`
}

// EventType names the event on the wire.
func (ShellOutput) EventType() string { return "tool.shell.output_chunk" }

// Texts lists what may move out of the log.
func (e *ShellOutput) Texts() []*event.Text { return []*event.Text{&e.Data} }

// ShellResult is how a command ended, in the members that several events share.
type ShellResult struct {
	ExitCode    int64 `json:"hecate.tool.exit_code"` // -1 if there is none
	StdoutBytes int64 `json:"hecate.tool.stdout.bytes"`
	StderrBytes int64 `json:"hecate.tool.stderr.bytes"`
	TimedOut    bool  `json:"hecate.tool.timed_out"`
	Cancelled   bool  `json:"hecate.tool.cancelled"`
	Truncated   bool  `json:"hecate.tool.output_truncated"`
}

// ShellExited says that the command's process is gone.
type ShellExited struct {
	ToolCallID  string  `json:"tool_call_id"`
	ExitCode    int64   `json:"exit_code"`
	Signal      *string `json:"signal"`
	StdoutBytes int64   `json:"stdout_bytes"`
	StderrBytes int64   `json:"stderr_bytes"`
	Truncated   bool    `json:"truncated"`
	ShellResult
}

// EventType names the event on the wire.
func (ShellExited) EventType() string { return "tool.shell.exited" }

// ToolEnd is the body of the four events that end a shell command.
type ToolEnd struct {
	ToolCallID string `json:"tool_call_id"`
	ToolName   string `json:"tool_name"`
	Kind       string `json:"kind"`
	DurationMS int64  `json:"duration_ms"`
	Summary    string `json:"summary"`
	Error      string `json:"error,omitempty"`
	AfterMS    int64  `json:"after_ms,omitempty"` // timed_out only: the limit
	ShellResult
}

// ToolCompleted ends a command that exited with status 0.
type ToolCompleted struct{ ToolEnd }

// EventType names the event on the wire.
func (ToolCompleted) EventType() string { return "tool.completed" }

// ToolFailed ends a command that failed or was refused.
type ToolFailed struct{ ToolEnd }

// EventType names the event on the wire.
func (ToolFailed) EventType() string { return "tool.failed" }

// ToolCancelled ends a command that was killed because its run was cancelled.
type ToolCancelled struct{ ToolEnd }

// EventType names the event on the wire.
func (ToolCancelled) EventType() string { return "tool.cancelled" }

// ToolTimedOut ends a command that was killed at its time limit.
type ToolTimedOut struct{ ToolEnd }

// EventType names the event on the wire.
func (ToolTimedOut) EventType() string { return "tool.timed_out" }

var (
	samplePosture = ShellPosture{ToolCallID: "c1", ToolName: "shell_exec", Kind: "shell", Wrapper: "none", OutputLimitBytes: 4 << 20}
	sampleEnd     = ToolEnd{ToolCallID: "c1", ToolName: "shell_exec", Kind: "shell", DurationMS: 12, Summary: "exited with status 0", ShellResult: ShellResult{StdoutBytes: 3}}

	_ = event.Define(ToolInvoked{samplePosture})
	_ = event.Define(ToolStarted{samplePosture})
	_ = event.Define(ShellCommand{ShellPosture: samplePosture, Argv: []string{"sh", "-lc", "ls"}, Command: event.NewText("ls"), EnvKeys: []string{"PATH", "HOME"}, SandboxLayer: "none", TimeoutMS: 5000, ToolTimeoutMS: 5000})
	_ = event.Define(ShellOutput{ToolCallID: "c1", Stream: "stdout", Data: event.NewText("a\n"), ArtifactID: "artifact_1"})
	_ = event.Define(ShellExited{ToolCallID: "c1", StdoutBytes: 2, ShellResult: ShellResult{StdoutBytes: 2}})
	_ = event.Define(ToolCompleted{sampleEnd})
	_ = event.Define(ToolFailed{sampleEnd})
	_ = event.Define(ToolCancelled{sampleEnd})
	_ = event.Define(ToolTimedOut{sampleEnd})
)

// FilePatch records one changed, or proposed, file. Diff is the patch artifact's
// text: one whole-file hunk. The feed leaves Diff and Content out.
type FilePatch struct {
	ToolCallID     string     `json:"tool_call_id"`
	ToolName       string     `json:"tool_name"` // file_write, file_edit, apply_patch or file
	Kind           string     `json:"kind"`      // file
	StepID         string     `json:"step_id"`
	Operation      string     `json:"operation"` // write, append, propose, add, update or delete
	Path           string     `json:"path"`      // absolute
	ArtifactID     string     `json:"artifact_id"`
	ArtifactStatus string     `json:"artifact_status"` // applied or proposed
	BytesWritten   int64      `json:"bytes_written"`
	DiffBytes      int64      `json:"diff_bytes"`
	BeforeExisted  bool       `json:"before_existed"`
	BeforeMode     int64      `json:"before_mode,omitempty"` // permissions of a file that is deleted, as in 0o755; whoever puts it back needs them
	Diff           event.Text `json:"diff"`
	FileArtifactID string     `json:"file_artifact_id,omitempty"` // for direct writes: the artifact that holds Content
	Content        event.Text `json:"content,omitzero"`           // for direct writes: the text written
}

// EventType names the event on the wire.
func (FilePatch) EventType() string { return "tool.file.patch" }

// Texts lists what may move out of the log.
func (e *FilePatch) Texts() []*event.Text { return []*event.Text{&e.Diff, &e.Content} }

var _ = event.Define(FilePatch{
	ToolCallID: "c1", ToolName: "file_write", Kind: "file", Operation: "write", Path: "/ws/a", ArtifactID: "artifact_2",
	ArtifactStatus: "applied", BytesWritten: 2, DiffBytes: 40, Diff: event.NewText("--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+x\n"),
})

// ArtifactRecorded keeps a text that a run made and that no other event holds.
type ArtifactRecorded struct {
	ArtifactID  string     `json:"artifact_id"`
	StepID      string     `json:"step_id,omitempty"`
	Kind        string     `json:"kind"` // stdout, stderr, git_summary …
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	MIMEType    string     `json:"mime_type"`
	Path        string     `json:"path,omitempty"`
	Status      string     `json:"status"` // ready
	Content     event.Text `json:"content"`
}

// EventType names the event on the wire.
func (ArtifactRecorded) EventType() string { return "artifact.recorded" }

// Texts lists what may move out of the log.
func (e *ArtifactRecorded) Texts() []*event.Text { return []*event.Text{&e.Content} }

var _ = event.Define(ArtifactRecorded{ArtifactID: "artifact_3", Kind: "git_summary", Name: "git-changes.json", MIMEType: "application/json", Status: "ready", Content: event.NewText("{}")})
