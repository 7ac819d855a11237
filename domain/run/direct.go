package run

import (
	"encoding/json"

	"hecate/domain/event"
)

// DirectCall is the one call of a shell, git or file run. Its id is that of its
// step, the run's first.
func DirectCall(s *State) ToolCall {
	args := map[string]string{}
	switch s.Spec.ExecutionKind {
	case KindShell:
		args["command"] = s.Spec.ShellCommand.String()
	case KindGit:
		args["command"] = s.Spec.GitCommand.String()
	case KindFile:
		args["path"], args["content"], args["operation"] = s.Spec.FilePath, s.Spec.FileContent.String(), s.Spec.FileOperation
	}
	raw, err := json.Marshal(args)
	if err != nil { // a map of strings always encodes
		raw = []byte("{}")
	}
	return ToolCall{ID: s.StepID(1), Name: s.Spec.ExecutionKind, Arguments: event.NewText(string(raw))}
}
