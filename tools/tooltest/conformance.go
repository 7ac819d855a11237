package tooltest

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/tools"
	"hecate/tools/process"
)

// Case is one tool with arguments that it accepts.
type Case struct {
	Tool tools.Tool
	Args map[string]any
	// Paths names the arguments that hold a path.
	Paths []string
	// Links says that a link is looked at itself, so that one which leads out is no way out.
	Links bool
}

const (
	// resultMax bounds a result text; the longest legitimate one is an artifact or a file of a MiB with its header.
	resultMax = 1<<20 + 64<<10
	// What is recorded of a call, in bytes. An event of a MiB can't be recorded at
	// all; the largest legitimate one has an escaped text that just does not move out.
	titleMax     = 256
	errorTextMax = 1 << 10
	lineMax      = 8 << 10
	recordMax    = 6*event.InlineMax + 16<<10
	// promptly is how long a cancelled call may take to return, generously.
	promptly = 10 * time.Second
)

// Conformance checks what every tool promises: a schema that says what it takes,
// bad arguments refused in the contract's words, unknown members ignored, paths
// kept inside, no more work after a cancel, a result that can be recorded.
func Conformance(t *testing.T, c Case) {
	t.Run("schema", func(t *testing.T) { checkSchema(t, c) })
	t.Run("arguments", func(t *testing.T) { checkArguments(t, c) })
	t.Run("call", func(t *testing.T) { checkCall(t, c) })
	t.Run("cancel", func(t *testing.T) { checkCancel(t, c) })
	t.Run("size", func(t *testing.T) { checkSize(t, c) })
	for _, name := range c.Paths {
		t.Run("path "+name, func(t *testing.T) { checkPath(t, c, name) })
	}
}

func checkSchema(t *testing.T, c Case) {
	var s jsonschema.Schema
	if err := json.Unmarshal(c.Tool.Schema, &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != "object" || s.AdditionalProperties != nil {
		t.Errorf("the schema is no open object: %s", c.Tool.Schema)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(c.Args); err != nil {
		t.Errorf("the arguments %v do not fit the schema: %v", c.Args, err)
	}
	if c.Tool.Summary == "" || !strings.HasSuffix(c.Tool.Summary, ".") {
		t.Errorf("the summary is no sentence: %q", c.Tool.Summary)
	}
}

func checkArguments(t *testing.T, c Case) {
	bad := []string{"[]", `"x"`, "1", "{", `{"a":1,"a":2}`, `{"a":1}{}`}
	for name := range c.Args {
		bad = append(bad, `{"`+name+`":{"is":{"an":"object"}}}`)
	}
	want := "invalid arguments for " + c.Tool.Name + ": "
	for _, args := range bad {
		if _, err := c.Tool.Prepare(json.RawMessage(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s…", args, err, want)
		}
	}
	more := map[string]any{"x_unknown": map[string]any{"deep": []int{1}}}
	maps.Copy(more, c.Args)
	p, err := c.Tool.Prepare(encode(t, more))
	if err != nil {
		t.Fatalf("an unknown member: %v", err)
	}
	if p.Run == nil || !strings.HasPrefix(p.Line, c.Tool.Name) || strings.ContainsAny(p.Line, "\n\r\x1b") {
		t.Errorf("the approval line is %q", p.Line)
	}
}

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func checkCall(t *testing.T, c Case) {
	w := New(t)
	checkResult(t, w.Call(c.Tool, c.Args))
}

func checkResult(t *testing.T, r tools.Result) {
	t.Helper()
	if r.Text == "" || !utf8.ValidString(r.Text) || len(r.Text) > resultMax {
		t.Errorf("the text is %d bytes, %.200q", len(r.Text), r.Text)
	}
	if r.Title == "" || len(r.Title) > titleMax || !utf8.ValidString(r.Title) {
		t.Errorf("the title is %d bytes, %.200q", len(r.Title), r.Title)
	}
	if len(r.ErrorText) > errorTextMax || !utf8.ValidString(r.ErrorText) {
		t.Errorf("the error is %d bytes, %.200q", len(r.ErrorText), r.ErrorText)
	}
	if in, out := len(encode(t, r.Input)), len(encode(t, r.Output)); in > recordMax || out > recordMax {
		t.Errorf("the step has an input of %d bytes and an output of %d", in, out)
	}
	switch r.Outcome {
	case run.OutcomeCompleted:
		if r.Error || r.ErrorText != "" || r.ErrorKind != "" {
			t.Errorf("completed, with an error: %+v", r)
		}
	case run.OutcomeFailed, run.OutcomeCancelled:
		if !r.Error || r.ErrorText == "" || r.ErrorKind == "" {
			t.Errorf("%s, without an error: %+v", r.Outcome, r)
		}
	default:
		t.Errorf("the outcome is %q", r.Outcome)
	}
}

// checkCancel calls the tool with a context that is over, because the run was ended
// or lost or because the server stops, or under a lease that is over: it may do nothing.
func checkCancel(t *testing.T, c Case) {
	w := New(t)
	before := tree(t, w.Dir)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	checkNotRun(t, w.CallContext(stopped, c.Tool, c.Args), tools.KindInterrupted)
	lost, lose := context.WithCancelCause(t.Context())
	lose(tools.ErrLeaseLost)
	checkNotRun(t, w.CallContext(lost, c.Tool, c.Args), tools.KindLeaseLost)
	w.Env.Settings.Lease = process.NewLease()
	w.Env.Settings.Lease.End()
	checkNotRun(t, w.Call(c.Tool, c.Args), tools.KindLeaseLost)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(tools.ErrRunEnded)
	begun := time.Now()
	r := w.CallContext(ctx, c.Tool, c.Args)
	if took := time.Since(begun); took > promptly {
		t.Errorf("took %v", took)
	}
	checkResult(t, r)
	if r.Outcome != run.OutcomeCancelled || len(r.Facts) > 0 {
		t.Errorf("got %s with %d facts", r.Outcome, len(r.Facts))
	}
	if after := tree(t, w.Dir); after != before {
		t.Errorf("the workspace has changed: %s", after)
	}
}

func checkNotRun(t *testing.T, r tools.Result, kind string) {
	t.Helper()
	checkResult(t, r)
	if r.Outcome != run.OutcomeFailed || r.ErrorKind != kind || len(r.Facts) > 0 {
		t.Errorf("got %s, %s with %d facts, want failed, %s", r.Outcome, r.ErrorKind, len(r.Facts), kind)
	}
}

// checkSize gives the tool long arguments, each in turn: what is
// recorded of the call, beside texts, must not grow with them.
func checkSize(t *testing.T, c Case) {
	for name, v := range c.Args {
		if _, ok := v.(string); !ok {
			continue
		}
		for _, long := range []string{strings.Repeat("é/", 25_000), strings.Repeat("\x01", 25_000)} {
			args := maps.Clone(c.Args)
			args[name] = long
			p, err := c.Tool.Prepare(encode(t, args))
			if err != nil {
				continue // refused, and nothing of it is recorded but a text
			}
			w := New(t)
			w.Env.ToolName = c.Tool.Name
			if len(p.Line) > lineMax || len(encode(t, p.Input)) > recordMax {
				t.Errorf("%s: an approval line of %d bytes, an input of %d", name, len(p.Line), len(encode(t, p.Input)))
			}
			if p.Before != nil {
				checkEvents(t, name, p.Before(w.Env))
			}
			r := p.Run(t.Context(), w.Env)
			checkResult(t, r)
			checkEvents(t, name, append(w.Emitted(), r.Facts...))
		}
	}
}

func checkEvents(t *testing.T, name string, payloads []event.Payload) {
	t.Helper()
	for _, p := range payloads {
		e, err := event.Encode(p, func() [16]byte { return [16]byte{} })
		if err != nil || len(e.Data) > recordMax {
			t.Errorf("%s: %s with %d bytes: %v", name, p.EventType(), len(e.Data), err)
		}
	}
}

// checkPath gives the tool paths that lead out of the workspace.
func checkPath(t *testing.T, c Case, name string) {
	w := New(t)
	outside := filepath.Join(filepath.Dir(w.Dir), "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("TOP SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Link(outside, "out")
	w.Link("../outside/secret", "secret")
	w.Link("../outside/new", "dangling")
	w.Link("out", "twice")
	before := tree(t, outside)
	for _, path := range []string{
		"..", "../outside", "../outside/secret", "sub/../../outside/secret", outside, outside + "/secret", "out", "out/secret", "out/new",
		"secret", "dangling", "twice/secret", "/etc/passwd", "C:\\x", "\\\\host\\share", "a\x00b", "..\x00", "out/../out/secret",
	} {
		args := maps.Clone(c.Args)
		args[name] = path
		r := w.Call(c.Tool, args)
		checkResult(t, r)
		if !r.Error && !(c.Links && slices.Contains([]string{"out", "secret", "dangling"}, path)) {
			t.Errorf("%q was accepted: %.200s", path, r.Text)
		}
		if strings.Contains(r.Text, "TOP SECRET") {
			t.Errorf("%q shows the secret", path)
		}
		if after := tree(t, outside); after != before {
			t.Fatalf("%q changed what is outside: %s", path, after)
		}
	}
}

// tree is everything below a directory as one text: names, modes, contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(p + " " + info.Mode().String())
		if d.Type().IsRegular() {
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b.Write(content)
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
