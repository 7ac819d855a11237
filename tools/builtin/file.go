package builtin

import (
	"context"
	"errors"
	"unicode/utf8"

	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/tools"
)

// file carries out a file task: one text, written or appended.
var file = tools.New(tools.Spec[fileIn]{
	Name:    "file",
	Direct:  true,
	Summary: "Write a text to a file of the workspace, or append it.",
	Check: func(in *fileIn) error {
		if in.Content == nil { // never empty a file because a member was forgotten
			return errors.New("file: content is required")
		}
		return nil
	},
	Input: func(in fileIn) map[string]any {
		return map[string]any{"path": in.Path, "operation": in.Operation, "content_chars": utf8.RuneCountInString(*in.Content)}
	},
	Line:   func(in fileIn) (string, bool) { return writeLine("file", in.Operation, in.Path, *in.Content), true },
	Facts:  func(at tools.Place, in fileIn) permission.Facts { return at.Paths(in.Path) },
	Handle: runFile,
})

type fileIn struct {
	Path      string  `json:"path" jsonschema:"file to write, relative or below the workspace root"`
	Content   *string `json:"content" jsonschema:"text to write"`
	Operation string  `json:"operation,omitempty" enum:"write,append" default:"write" jsonschema:"append keeps what the file has"`
}

// runFile names the step alike whether it went well or not: there is only this one.
func runFile(ctx context.Context, env *tools.Env, in fileIn) tools.Result {
	w, err := put(ctx, env, in.Path, in.Operation, *in.Content)
	if err != nil {
		r := notWritten(ctx, env, err)
		if r.Outcome != run.OutcomeCancelled {
			r.Title = "File operation"
		}
		return r
	}
	r := written(env, w)
	r.Title = "File operation"
	r.Output = map[string]any{"path": w.Path, "bytes": w.BytesWritten}
	return r
}
