package worker

import (
	"context"
	"strings"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/tools"
)

// findArtifact looks for an artifact in the task's runs, newest first. The worker
// folds the log for it, because read models may lag behind what it just wrote.
func (a *attempt) findArtifact(ctx context.Context, id string) (tools.Artifact, bool, error) {
	var t task.State
	if err := a.Executor.Load(ctx, commands.TaskStream(a.s.TaskID), 0, t.Apply); err != nil {
		return tools.Artifact{}, false, err
	}
	for i := len(t.Runs) - 1; i >= 0; i-- {
		f := finder{id: id}
		if err := a.Executor.Load(ctx, commands.RunStream(t.Runs[i]), 0, f.see); err != nil {
			return tools.Artifact{}, false, err
		}
		if f.found {
			f.artifact.Content = f.content.String()
			return f.artifact, true, nil
		}
	}
	return tools.Artifact{}, false, nil
}

// finder folds one run's events to the artifact with one id.
type finder struct {
	id       string
	found    bool
	artifact tools.Artifact
	content  strings.Builder
}

func (f *finder) see(e event.Event) {
	switch p := e.Payload.(type) {
	case run.ArtifactRecorded:
		f.take(p.ArtifactID, tools.Artifact{Kind: p.Kind, Name: p.Name, Status: p.Status, Path: p.Path, MIMEType: p.MIMEType}, p.Content)
	case run.FilePatch:
		base := p.Path[strings.LastIndexByte(p.Path, '/')+1:]
		f.take(p.ArtifactID, tools.Artifact{Kind: "patch", Name: base + ".patch", Status: p.ArtifactStatus, Path: p.Path, MIMEType: "text/x-diff"}, p.Diff)
		f.take(p.FileArtifactID, tools.Artifact{Kind: "file", Name: base, Status: "ready", Path: p.Path, MIMEType: "text/plain"}, p.Content)
	case run.ShellCommand:
		f.take(p.StdoutArtifactID, tools.Artifact{Kind: "stdout", Name: "stdout.txt", Status: "ready", MIMEType: "text/plain"}, event.Text{})
		f.take(p.StderrArtifactID, tools.Artifact{Kind: "stderr", Name: "stderr.txt", Status: "ready", MIMEType: "text/plain"}, event.Text{})
	case run.ShellOutput:
		if p.ArtifactID == f.id {
			f.content.WriteString(p.Data.String())
		}
	}
}

func (f *finder) take(id string, a tools.Artifact, content event.Text) {
	if id != f.id || id == "" {
		return
	}
	a.ID = id
	f.found, f.artifact = true, a
	f.content.Reset()
	f.content.WriteString(content.String())
}
