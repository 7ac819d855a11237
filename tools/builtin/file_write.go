package builtin

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"hecate/domain/permission"
	"hecate/tools"
)

// fileWrite lets the model write a whole file, or append to one.
var fileWrite = tools.New(tools.Spec[fileWriteIn]{
	Name:    "file_write",
	Summary: "Write a whole file of the workspace, or append to it. Missing directories are made. To change a part of a file use file_edit.",
	Check: func(in *fileWriteIn) error {
		switch {
		case in.Path == "":
			return errors.New("file_write: path is required")
		case in.Content == nil: // never empty a file because a member was forgotten
			return errors.New("file_write: content is required")
		}
		return nil
	},
	Input: func(in fileWriteIn) map[string]any {
		return map[string]any{"path": in.Path, "operation": in.Operation, "content_chars": utf8.RuneCountInString(*in.Content)}
	},
	Line: func(in fileWriteIn) (string, bool) {
		return writeLine("file_write", in.Operation, in.Path, *in.Content), true
	},
	Facts:  func(at tools.Place, in fileWriteIn) permission.Facts { return at.Paths(in.Path) },
	Handle: runFileWrite,
})

type fileWriteIn struct {
	Path      string  `json:"path" jsonschema:"file to write, relative or below the workspace root"`
	Content   *string `json:"content" jsonschema:"text to write"`
	Operation string  `json:"operation,omitempty" enum:"write,append" default:"write" jsonschema:"append keeps what the file has"`
}

func writeLine(tool, operation, path, content string) string {
	return fmt.Sprintf("%s %s path=%s content_bytes=%d", tool, tools.ShownName(operation), tools.ShownName(path), len(content))
}

func runFileWrite(ctx context.Context, env *tools.Env, in fileWriteIn) tools.Result {
	w, err := put(ctx, env, in.Path, in.Operation, *in.Content)
	if err != nil {
		return notWritten(ctx, env, err)
	}
	return written(env, w)
}
