package worker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
)

// seeded are the messages that a run's conversation began with, by the log.
func seeded(n *node, id string) (out []run.Message) {
	n.t.Helper()
	for _, p := range payloads[run.ConversationSeeded](n, id) {
		out = append(out, p.Messages...)
	}
	return out
}

// What the model is told before the prompt: where it works, then the layers of the
// system prompt, broadest first. The log has it to the letter.
func TestLayersOfThePrompt(t *testing.T) {
	for name, c := range map[string]struct {
		d      task.Definition
		server string
		file   string
		want   string
	}{
		"all":        {task.Definition{SystemPrompt: event("of the task\n")}, " of the server ", "of the workspace", "of the server\n\nof the workspace\n\nof the task"},
		"two":        {task.Definition{SystemPrompt: event("of the task")}, "", "of the workspace", "of the workspace\n\nof the task"},
		"none":       {task.Definition{}, "", "", ""},
		"kept out":   {task.Definition{SystemPrompt: event("of the task"), WorkspacePrompt: task.PromptExclude}, "of the server", "of the workspace", "of the server\n\nof the task"},
		"with rules": {task.Definition{SystemPrompt: event("of the task"), PresetInstructions: event("of the policy")}, "", "", "of the policy\n\nof the task"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, scripted.Script{Replies: []scripted.Reply{text("done")}})
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(n.source, "AGENTS.md"), []byte(c.file), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			defer n.run(n.executor, func(cfg *worker.Config) { cfg.SystemPrompt = c.server })()
			c.d.Prompt = event("go")
			r := n.start(c.d)
			n.end(r.RunID)
			got := seeded(n, r.RunID)
			if !strings.HasPrefix(got[0].Content.String(), "Your workspace is at: "+n.source+"\n") || got[0].Role != run.RoleSystem {
				t.Errorf("first %q", got[0].Content.String())
			}
			if last := got[len(got)-1]; last.Role != run.RoleUser || last.Content.String() != "go" {
				t.Errorf("last %+v", last)
			}
			switch {
			case c.want == "" && len(got) != 2, c.want != "" && len(got) != 3:
				t.Fatalf("%d messages", len(got))
			case c.want != "" && (got[1].Content.String() != c.want || got[1].Role != run.RoleSystem):
				t.Errorf("got %q, want %q", got[1].Content.String(), c.want)
			}
		})
	}
}

// Without tools a path is of no use, and none is given away.
func TestNoPathWithoutTools(t *testing.T) {
	n := newNode(t, scripted.Script{Replies: []scripted.Reply{text("done")}})
	defer n.run(n.executor)()
	r := n.start(task.Definition{Prompt: event("go"), Preset: &run.Preset{ID: "p", Approval: "inherit"}})
	n.end(r.RunID)
	if first := seeded(n, r.RunID)[0].Content.String(); !strings.HasPrefix(first, "Tools are unavailable") || strings.Contains(first, n.source) {
		t.Errorf("first %q", first)
	}
}
