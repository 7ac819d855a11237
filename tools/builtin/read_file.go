package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/rootfs"
)

// truncatedMark ends content that was cut.
const truncatedMark = "…(truncated)"

// binaryProbe is how much of a file is searched for NUL bytes.
const binaryProbe = 8 << 10

// bom is the UTF-8 byte-order mark. A model would have to repeat an invisible
// character to edit the first line, so it is neither shown nor asked for.
var bom = []byte("\uFEFF")

// readFile shows the model one text file.
var readFile = tools.New(tools.Spec[readFileIn]{
	Name:    "read_file",
	Summary: "Read one text file of the workspace, whole or some lines of it.",
	Input:   func(in readFileIn) map[string]any { return map[string]any{"path": in.Path} },
	Line: func(in readFileIn) (string, bool) {
		line := fmt.Sprintf("read_file path=%s max_bytes=%d", tools.ShownName(in.Path), in.MaxBytes)
		if in.ranged() {
			line += " lines=" + in.lines()
		}
		return line, true
	},
	Facts:  func(at tools.Place, in readFileIn) permission.Facts { return at.Paths(in.Path) },
	Handle: runReadFile,
})

type readFileIn struct {
	Path      string `json:"path" jsonschema:"file, relative to the workspace"`
	MaxBytes  int    `json:"max_bytes,omitempty" default:"65536" minimum:"1" maximum:"1048576" jsonschema:"how many bytes to show at most"`
	StartLine int    `json:"start_line,omitempty" minimum:"1" jsonschema:"first line to show, counted from 1"`
	EndLine   int    `json:"end_line,omitempty" minimum:"1" jsonschema:"last line to show"`
}

func (in readFileIn) ranged() bool { return in.StartLine > 0 || in.EndLine > 0 }

func (in readFileIn) lines() string {
	if in.EndLine == 0 {
		return fmt.Sprintf("%d-", max(in.StartLine, 1))
	}
	return fmt.Sprintf("%d-%d", max(in.StartLine, 1), in.EndLine)
}

func runReadFile(ctx context.Context, env *tools.Env, in readFileIn) tools.Result {
	rel, err := readable(env, in.Path)
	if err != nil {
		return refused(env, "%v", err)
	}
	f, info, err := rootfs.Open(env.Root, rel)
	if err != nil {
		return refused(env, "%s", about(in.Path, err))
	}
	defer f.Close()
	if info.IsDir() {
		return refused(env, "%q is a directory; use list_dir instead", rel)
	}
	if in.EndLine > 0 && in.EndLine < in.StartLine {
		return refused(env, "end_line (%d) is before start_line (%d)", in.EndLine, in.StartLine)
	}
	src := bufio.NewReaderSize(f, binaryProbe)
	if head, _ := src.Peek(binaryProbe); bytes.IndexByte(head, 0) >= 0 {
		return refused(env, "%q is a binary file (%d bytes); use shell_exec to inspect it", rel, info.Size())
	}
	part, err := cutOut(ctx, src, in)
	if err != nil {
		if ctx.Err() != nil {
			return tools.Cancelled(ctx, env.ToolName)
		}
		return refused(env, "%s", asLineError(rel, err))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "path=%s size=%d bytes=%d", tools.ShownName(rel), info.Size(), len(part.text))
	if part.cut {
		b.WriteString(" truncated=true")
	}
	if in.ranged() {
		fmt.Fprintf(&b, " lines=%d-%d", part.first, part.last)
	}
	b.WriteString("\n--- content ---\n" + tools.Valid(string(part.text)))
	if part.cut {
		b.WriteString("\n" + truncatedMark)
	}
	r := done("read_file "+tools.ShownName(rel), b.String())
	r.Input = map[string]any{"size": info.Size(), "truncated": part.cut}
	r.Output = map[string]any{"bytes_read": len(part.text)}
	return r
}

func asLineError(rel string, err error) string {
	if errors.As(err, new(*os.PathError)) {
		return about(rel, err)
	}
	return err.Error()
}

// excerpt is the part of a file that is shown.
type excerpt struct {
	text        []byte
	cut         bool // there was more than max_bytes
	first, last int  // lines shown
}

// cutOut reads the lines asked for, at most max_bytes of them. It holds no more
// than that in memory, however long the file or a line.
func cutOut(ctx context.Context, src *bufio.Reader, in readFileIn) (excerpt, error) {
	if head, _ := src.Peek(len(bom)); bytes.Equal(head, bom) {
		_, _ = src.Discard(len(bom))
	}
	x := excerpt{first: max(in.StartLine, 1)}
	line, fresh := 0, true // fresh: the next piece begins a line
	for ctx.Err() == nil {
		piece, err := src.ReadSlice('\n')
		if len(piece) > 0 && fresh {
			line++
		}
		if in.EndLine > 0 && line > in.EndLine {
			break
		}
		if len(piece) > 0 && line >= x.first {
			if x.last = line; x.add(piece, in.MaxBytes) {
				return x, nil
			}
		}
		fresh = len(piece) > 0 && piece[len(piece)-1] == '\n'
		if errors.Is(err, io.EOF) {
			if in.StartLine > max(line, 1) {
				return x, fmt.Errorf("start_line (%d) is beyond file line count (%d)", in.StartLine, line)
			}
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return x, err
		}
	}
	x.last = max(x.last, min(line, x.first))
	return x, ctx.Err()
}

// add appends a piece and reports whether that was more than fits.
func (x *excerpt) add(piece []byte, most int) bool {
	room := most - len(x.text)
	if len(piece) <= room {
		x.text = append(x.text, piece...)
		return false
	}
	for room > 0 && !utf8.RuneStart(piece[room]) {
		room--
	}
	x.text, x.cut = append(x.text, piece[:room]...), true
	return true
}
