package show

import (
	"encoding/json"

	"hecate/cmd/hecate/internal/client"
	"hecate/domain/event"
	"hecate/domain/run"
)

// Start is what a run of a task begins with, as a call: the command or the file of a
// task without a model, else the prompt.
type Start struct {
	Call
	spec run.Spec
}

// Digest names what a run was created to do, see run.DirectDigest.
func (s *Start) Digest(runID string) string { return run.DirectDigest(runID, s.spec) }

// place is where and how a run works; what is usual is left out.
type place struct {
	Directory string `json:"directory,omitempty"`
	Network   bool   `json:"network,omitempty"`
}

// StartOf reads what a run of the task begins with.
func StartOf(t client.Task) *Start {
	var input any
	at := place{t.WorkingDirectory, t.Network}
	switch t.ExecutionKind {
	case run.KindShell:
		input = struct {
			Command string `json:"command"`
			place
		}{t.ShellCommand, at}
	case run.KindGit:
		input = struct {
			Command string `json:"git"`
			place
		}{t.GitCommand, at}
	case run.KindFile:
		input = struct {
			Operation string `json:"operation"`
			Path      string `json:"path"`
			place
			Content string `json:"content"`
		}{t.FileOperation, t.FilePath, at, t.FileContent}
	default:
		input = struct {
			Prompt string `json:"prompt"`
			place
		}{t.Prompt, at}
	}
	raw, _ := json.Marshal(input) // strings always encode
	return &Start{Call: Call{Tool: t.ExecutionKind, Input: raw}, spec: specOf(t)}
}

// specOf is the task as its runs work on it.
func specOf(t client.Task) run.Spec {
	return run.Spec{
		ExecutionKind: t.ExecutionKind, Prompt: event.NewText(t.Prompt), SystemPrompt: event.NewText(t.SystemPrompt),
		ShellCommand: event.NewText(t.ShellCommand), GitCommand: event.NewText(t.GitCommand),
		FileOperation: t.FileOperation, FilePath: t.FilePath, FileContent: event.NewText(t.FileContent),
		WorkspaceMode: t.WorkspaceMode, WorkingDirectory: t.WorkingDirectory, Repo: t.Repo, BaseBranch: t.BaseBranch,
		AllowedRoot: t.AllowedRoot, ReadOnly: t.ReadOnly, Network: t.Network, TimeoutMS: t.TimeoutMS,
	}
}
