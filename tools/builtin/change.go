package builtin

import (
	"context"
	"errors"
	"fmt"
	"path"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/filepatch"
	"hecate/tools/process"
	"hecate/tools/rootfs"
	"hecate/tools/sandbox"
)

// Sizes up to which files are changed, in bytes. What is written whole may be
// larger than what is edited, but its diff holds both texts, with a byte more for
// each line, and must fit into the log, where a text has at most 64 MiB.
const (
	editMax  = 2 << 20
	writeMax = 15 << 20
)

// Error kinds of the steps that write.
const (
	kindFile            = "file_operation_failed"
	kindFileUnsupported = "file_operation_unsupported"
)

// unsupported is the refusal of an operation that is neither write nor append.
type unsupported string

func (u unsupported) Error() string {
	return fmt.Sprintf("unsupported file operation %q", tools.Shown(string(u)))
}

// put writes content to a file, or appends it, and returns the fact of it.
func put(ctx context.Context, env *tools.Env, name, operation, content string) (run.FilePatch, error) {
	switch {
	case operation != "write" && operation != "append":
		return run.FilePatch{}, unsupported(operation)
	case env.ReadOnly:
		return run.FilePatch{}, sandbox.WriteDenied()
	case name == "":
		return run.FilePatch{}, errors.New("path is required")
	}
	from, err := target(env, name, writeMax)
	if err != nil {
		return run.FilePatch{}, err
	}
	after := content
	if operation == "append" {
		after = string(from.Data) + content
	}
	if len(after) > writeMax {
		return run.FilePatch{}, errors.New(about(name, rootfs.TooLarge(int64(len(after)), writeMax)))
	}
	if err := apply(ctx, env, rootfs.Change{From: from, Data: []byte(after)}); err != nil {
		return run.FilePatch{}, err
	}
	return directFact(env, operation, from, after, content), nil
}

// apply carries out all changes or none, and none under a lease that is over.
func apply(ctx context.Context, env *tools.Env, changes ...rootfs.Change) error {
	return rootfs.Apply(ctx, env.Root, func() error {
		if !env.Settings.Lease.Valid() {
			return process.ErrLeaseOver
		}
		return nil
	}, changes...)
}

// stopped is the result of a change that was stopped by the end of its context or
// lease, and whether err says that it was. Nothing has changed.
func stopped(ctx context.Context, env *tools.Env, err error) (tools.Result, bool) {
	switch {
	case ctx.Err() != nil:
		return tools.Cancelled(ctx, env.ToolName), true
	case errors.Is(err, process.ErrLeaseOver):
		return tools.Fenced(env.ToolName), true
	}
	return tools.Result{}, false
}

// target loads the file that a change is about, which may be missing.
func target(env *tools.Env, name string, limit int64) (rootfs.File, error) {
	rel, err := rootfs.Writable(env.Root, env.RootPath, name)
	if err != nil {
		return rootfs.File{}, err
	}
	f, err := rootfs.Load(env.Root, rel, limit)
	if err != nil {
		return rootfs.File{}, errors.New(about(name, err))
	}
	return f, nil
}

// fact records a change of one file.
func fact(env *tools.Env, operation, status string, from rootfs.File, after filepatch.File) run.FilePatch {
	before := filepatch.File{Exists: from.Exists, Content: string(from.Data)}
	diff := filepatch.Patch{Path: from.Path, Before: before, After: after}.Diff()
	return run.FilePatch{
		ToolCallID: env.ToolCallID, ToolName: env.ToolName, Kind: "file", StepID: env.StepID,
		Operation: operation, Path: path.Join(env.RootPath, from.Path),
		ArtifactID: env.ArtifactID("patch", from.Path), ArtifactStatus: status,
		DiffBytes: int64(len(diff)), BeforeExisted: from.Exists, Diff: event.NewText(diff),
	}
}

// directFact is the fact of a whole file that was written: after is what it
// holds now, content the part that is new.
func directFact(env *tools.Env, operation string, from rootfs.File, after, content string) run.FilePatch {
	f := fact(env, operation, "applied", from, filepatch.Text(after))
	f.BytesWritten, f.Content = int64(len(content)), event.NewText(content)
	f.FileArtifactID = env.ArtifactID("file", from.Path)
	return f
}

// written is the result of a write that was carried out.
func written(env *tools.Env, f run.FilePatch) tools.Result {
	r := done(env.ToolName+" (completed)", fmt.Sprintf("status=completed\nwrote file: %s (%d bytes)", tools.ShownName(path.Base(f.Path)), f.BytesWritten))
	r.Output = map[string]any{"sub_status": "completed", "last_error": "", "sub_step_count": 1, "artifact_count": 2}
	r.Facts = []event.Payload{f}
	return r
}

// notWritten is the result of a write that did not come about. Nothing has changed.
func notWritten(ctx context.Context, env *tools.Env, err error) tools.Result {
	if r, ok := stopped(ctx, env, err); ok {
		return r
	}
	text := err.Error()
	r := tools.Failure(env.ToolName, text)
	r.Text = "status=failed\nerror=" + text + "\n--- stderr ---\n" + text
	r.ErrorKind = kindFile
	if errors.As(err, new(*sandbox.Denied)) {
		r.ErrorKind = tools.KindPolicy
	} else if errors.As(err, new(unsupported)) {
		r.ErrorKind = kindFileUnsupported
	}
	r.Output = map[string]any{"sub_status": "failed", "last_error": r.ErrorText, "sub_step_count": 1, "artifact_count": 1}
	r.Facts = []event.Payload{run.ArtifactRecorded{
		ArtifactID: env.ArtifactID("error"), StepID: env.StepID, Kind: "stderr", Name: "file-error.txt",
		MIMEType: "text/plain", Status: "ready", Content: event.NewText(text),
	}}
	return r
}

// notChanged is the answer to an edit or a patch that cannot be carried out as asked.
func notChanged(ctx context.Context, env *tools.Env, err error) tools.Result {
	if r, ok := stopped(ctx, env, err); ok {
		return r
	}
	r := refused(env, "%v", err)
	if errors.As(err, new(*sandbox.Denied)) {
		r.ErrorKind = tools.KindPolicy
	}
	return r
}
