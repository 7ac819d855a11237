package show

import (
	"encoding/json"

	"hecate/cmd/hecate/internal/client"
)

// StartOf is what a run of a task begins with, as a call: the command or the file of
// a task without a model, else the prompt.
func StartOf(t client.Task) *Call {
	var input any
	switch t.ExecutionKind {
	case "shell":
		input = struct {
			Command   string `json:"command"`
			Directory string `json:"directory,omitempty"`
		}{t.ShellCommand, t.WorkingDirectory}
	case "git":
		input = struct {
			Command   string `json:"git"`
			Directory string `json:"directory,omitempty"`
		}{t.GitCommand, t.WorkingDirectory}
	case "file":
		input = struct {
			Operation string `json:"operation"`
			Path      string `json:"path"`
			Directory string `json:"directory,omitempty"`
			Content   string `json:"content"`
		}{t.FileOperation, t.FilePath, t.WorkingDirectory, t.FileContent}
	default:
		input = struct {
			Prompt    string `json:"prompt"`
			Directory string `json:"directory,omitempty"`
		}{t.Prompt, t.WorkingDirectory}
	}
	raw, _ := json.Marshal(input) // strings always encode
	return &Call{Tool: t.ExecutionKind, Input: raw}
}
