package builtin

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/filepatch"
	"hecate/tools/rootfs"
	"hecate/tools/sandbox"
	"hecate/tools/textedit"
)

// fileEdit lets the model replace an exact text in a file.
var fileEdit = tools.New(tools.Spec[fileEditIn]{
	Name: "file_edit",
	Summary: "Replace an exact text in one file of the workspace. The old text must occur once, or set replace_all. " +
		"With propose nothing is changed: the edit waits as a patch for the operator.",
	Check:   checkFileEdit,
	Propose: func(in fileEditIn) bool { return in.Propose },
	Input: func(in fileEditIn) map[string]any {
		return map[string]any{"path": in.Path, "operation": in.operation()}
	},
	Line: func(in fileEditIn) (string, bool) {
		line := fmt.Sprintf("file_edit %s path=%s old_bytes=%d new_bytes=%d", in.operation(), tools.ShownName(in.Path), len(in.OldText), len(*in.NewText))
		if in.ReplaceAll {
			line += " replace_all=true"
		}
		return line, true
	},
	Facts:  func(at tools.Place, in fileEditIn) permission.Facts { return at.Paths(in.Path) },
	Handle: runFileEdit,
})

type fileEditIn struct {
	Path       string  `json:"path" jsonschema:"file to change, relative or below the workspace root"`
	OldText    string  `json:"old_text" jsonschema:"text to replace, exactly as in the file"`
	NewText    *string `json:"new_text" jsonschema:"text to put there; may be empty"`
	ReplaceAll bool    `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	Propose    bool    `json:"propose,omitempty" jsonschema:"only propose the change"`
}

func (in fileEditIn) operation() string {
	if in.Propose {
		return "propose"
	}
	return "write"
}

func checkFileEdit(in *fileEditIn) error {
	switch {
	case in.Path == "":
		return errors.New("file_edit: path is required")
	case in.OldText == "":
		return errors.New("file_edit: old_text is required")
	case in.NewText == nil: // never cut a text out because a member was forgotten
		return errors.New("file_edit: new_text is required")
	}
	return nil
}

func runFileEdit(ctx context.Context, env *tools.Env, in fileEditIn) tools.Result {
	if env.ReadOnly && !in.Propose {
		return notChanged(ctx, env, sandbox.WriteDenied())
	}
	from, err := target(env, in.Path, editMax)
	if err != nil {
		return notChanged(ctx, env, err)
	}
	after, err := in.edit(from)
	if err != nil {
		return notChanged(ctx, env, err)
	}
	if in.Propose {
		return proposedEdit(env, from, after)
	}
	if err := apply(ctx, env, rootfs.Change{From: from, Data: []byte(after)}); err != nil {
		return notWritten(ctx, env, err)
	}
	r := written(env, directFact(env, "write", from, after, after))
	r.Input = map[string]any{"content_chars": utf8.RuneCountInString(after)}
	return r
}

// edit returns the file's text after the edit.
func (in fileEditIn) edit(from rootfs.File) (string, error) {
	if !from.Exists {
		return "", fmt.Errorf("%q: not found", in.Path)
	}
	before := string(from.Data)
	e := textedit.Find(before, in.OldText, *in.NewText)
	switch {
	case e.Count == 0:
		return "", fmt.Errorf("old_text not found in %q", in.Path)
	case e.Count > 1 && !in.ReplaceAll:
		return "", fmt.Errorf("old_text appears %d times in %q; set replace_all=true or provide a more specific match", e.Count, in.Path)
	}
	after, ok := e.Text(editMax)
	switch {
	case !ok:
		return "", fmt.Errorf("replacement makes %q larger than %d bytes", in.Path, editMax)
	case after == before:
		return "", fmt.Errorf("replacement produced no change in %q", in.Path)
	}
	return after, nil
}

func proposedEdit(env *tools.Env, from rootfs.File, after string) tools.Result {
	f := fact(env, "propose", "proposed", from, filepatch.Text(after))
	r := done("file_edit (proposed)", fmt.Sprintf("status=proposed\npatch_artifact_id=%s\npath=%s", f.ArtifactID, tools.ShownName(from.Path)))
	r.Facts = []event.Payload{f}
	r.Output = map[string]any{"sub_status": "proposed", "last_error": "", "sub_step_count": 0, "artifact_count": 1}
	return r
}
