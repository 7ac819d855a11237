package builtin

import (
	"context"
	"errors"
	"fmt"

	"hecate/domain/permission"
	"hecate/tools"
)

// artifactRead shows the model what an earlier call of the same task has left.
var artifactRead = tools.New(tools.Spec[artifactReadIn]{
	Name:    "artifact_read",
	Summary: "Read an artifact of this task, such as the full output of a command or a proposed patch.",
	Check: func(in *artifactReadIn) error {
		if in.ArtifactID == "" {
			return errors.New("artifact_read: artifact_id is required")
		}
		return nil
	},
	Input: func(in artifactReadIn) map[string]any {
		return map[string]any{"artifact_id": in.ArtifactID, "max_bytes": in.MaxBytes}
	},
	Line: func(in artifactReadIn) (string, bool) {
		return fmt.Sprintf("artifact_read artifact_id=%s max_bytes=%d", tools.ShownName(in.ArtifactID), in.MaxBytes), true
	},
	Facts: func(_ tools.Place, in artifactReadIn) permission.Facts {
		return permission.Facts{Principal: in.ArtifactID}
	},
	Handle: runArtifactRead,
})

type artifactReadIn struct {
	ArtifactID string `json:"artifact_id" jsonschema:"id of the artifact"`
	MaxBytes   int    `json:"max_bytes,omitempty" default:"65536" minimum:"1" maximum:"1048576" jsonschema:"how many bytes to show at most"`
}

func runArtifactRead(ctx context.Context, env *tools.Env, in artifactReadIn) tools.Result {
	a, found, err := env.Artifact(ctx, in.ArtifactID)
	switch {
	case ctx.Err() != nil:
		return tools.Cancelled(ctx, env.ToolName)
	case err != nil:
		r := tools.Failure(env.ToolName, "artifact_read tool internal error: "+err.Error())
		r.ErrorKind = "tool_dispatch_error"
		return r
	case !found:
		return refused(env, "artifact %q not found for task %q", tools.Shown(in.ArtifactID), env.TaskID)
	}
	shown := tools.Cut(a.Content, in.MaxBytes)
	cut := len(shown) < len(a.Content)
	// storage is always inline: the log has the contents of all artifacts.
	head := fmt.Sprintf("artifact_id=%s kind=%s name=%s storage=inline status=%s size=%d truncated=%t",
		a.ID, a.Kind, tools.ShownName(a.Name), a.Status, len(a.Content), cut)
	if a.Path != "" {
		head += " path=" + tools.ShownName(a.Path)
	}
	if a.MIMEType != "" {
		head += " mime=" + a.MIMEType
	}
	r := done("artifact_read", head+"\n--- content ---\n"+tools.Valid(shown))
	r.Input = map[string]any{"kind": a.Kind, "size": len(a.Content), "bytes": len(shown), "truncated": cut}
	return r
}
