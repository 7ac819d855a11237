package worker

import (
	"strings"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/runtime/workspace"
)

// seed is the conversation before the first model call: where the workspace is,
// the composed prompt if there is one, and what the user wants.
func (a *attempt) seed() []run.Message {
	out := []run.Message{{Role: run.RoleSystem, Content: event.NewText(environment(a.s))}}
	layers := []string{a.SystemPrompt}
	if !a.s.Spec.ExcludeGuidance {
		layers = append(layers, workspace.Guidance(a.root, a.s.WorkspacePath, a.denied()))
	}
	layers = append(layers, a.s.Spec.SystemPrompt.String())
	if text := compose(layers); text != "" {
		out = append(out, run.Message{Role: run.RoleSystem, Content: event.NewText(text)})
	}
	return append(out, run.Message{Role: run.RoleUser, Content: a.s.Spec.Prompt})
}

// compose joins the layers, broadest first; empty ones are left out.
func compose(layers []string) string {
	var kept []string
	for _, l := range layers {
		if l = strings.TrimSpace(l); l != "" {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n\n")
}

// environment tells the model where it works, because paths in the user's prompt
// may name the source that the workspace is a copy of. Without tools no path is of use.
// Source: agent runtime text, "Workspace environment system message" and "Code intelligence providers".
func environment(s *run.State) string {
	if p := s.Spec.Preset; p != nil && !p.ToolsEnabled {
		return "Tools are unavailable in this run: no file can be read or changed and no command can run. Answer from what you are told."
	}
	return "Your workspace is at: " + s.WorkspacePath + "\n\n" +
		"All tools work inside this directory and refuse paths outside it. The reading tools (read_file, list_dir, grep, glob) and git_diff take paths relative to it; " +
		"commands of shell_exec and git_exec start in it. If the request names another directory, it means the original of this one: use the same path below the workspace instead."
}
