package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/tools"
	"hecate/tools/process"
)

type sampleIn struct {
	Path string `json:"path" jsonschema:"a path"`
	Mode string `json:"mode,omitempty" enum:"read,write" default:"read"`
	Max  int    `json:"max,omitempty" default:"10" minimum:"1" maximum:"20"`
	Line int    `json:"line,omitempty" minimum:"1"`
	Deep *bool  `json:"deep,omitempty" default:"true"`
}

func sample(got *sampleIn) tools.Tool {
	return tools.New(tools.Spec[sampleIn]{
		Name: "sample", Summary: "Does nothing.",
		Check: func(in *sampleIn) error {
			if in.Path == "" {
				return errors.New("sample: path is required")
			}
			*got = *in
			return nil
		},
		Handle: func(context.Context, *tools.Env, sampleIn) tools.Result { return tools.Result{Text: "ok"} },
	})
}

func TestSchemaComesFromTheType(t *testing.T) {
	var got, want any
	if err := json.Unmarshal(sample(new(sampleIn)).Schema, &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(`{"type":"object","required":["path"],"properties":{
		"path":{"type":"string","description":"a path"},
		"mode":{"type":"string","enum":["read","write"],"default":"read"},
		"max":{"type":"integer","default":10,"minimum":1,"maximum":20},
		"line":{"type":"integer","minimum":1},
		"deep":{"type":"boolean","default":true}}}`), &want)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestArgumentsAreReadStrictly(t *testing.T) {
	for args, want := range map[string]string{
		`{"path":1}`:                     `invalid arguments for sample: "path" must be of another type than number`,
		`{"max":"1"}`:                    `invalid arguments for sample: "max" must be of another type than string`,
		`{"max":1.5}`:                    `invalid arguments for sample: "max" must be of another type than number 1.5`,
		`{"path":"a","path":"b"}`:        `invalid arguments for sample: member "path" comes twice`,
		`{"path":"a","\u0070ath":"b"}`:   `invalid arguments for sample: member "path" comes twice`,
		`{"path":"a","x":{"y":1,"y":2}}`: `invalid arguments for sample: member "y" comes twice`,
		`[]`:                             `invalid arguments for sample: the arguments must be a JSON object`,
		`"x"`:                            `invalid arguments for sample: the arguments must be a JSON object`,
		`{"path":"a"} {}`:                `invalid arguments for sample: more data after the JSON value`,
		`{"path":`:                       `invalid arguments for sample: not valid JSON: the text ends too early`,
		`{"path" 1}`:                     `invalid arguments for sample: not valid JSON: invalid character '1' after object key`,
		"{\"path\":\"a\xff\"}":           `invalid arguments for sample: not valid JSON: the text is no UTF-8`,
		`{"path":"a\ud83d"}`:             `invalid arguments for sample: \ud83d is half of a character; write the character itself`,
		`{"path":"\uDE00a"}`:             `invalid arguments for sample: \uDE00 is half of a character; write the character itself`,
		`{"path":"a","\ud83dx":1}`:       `invalid arguments for sample: \ud83d is half of a character; write the character itself`,
		`{"PATH":"a"}`:                   `sample: path is required`,
		``:                               `sample: path is required`,
		`null`:                           `sample: path is required`,
		strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100): `invalid arguments for sample: nested deeper than 64 levels`,
	} {
		_, err := sample(new(sampleIn)).Prepare(json.RawMessage(args))
		if err == nil || err.Error() != want {
			t.Errorf("%.60s: got %v, want %s", args, err, want)
		}
	}
}

func TestNumbersAreBroughtIntoRange(t *testing.T) {
	for args, want := range map[string]sampleIn{
		`{"path":"a"}`:                                  {Path: "a", Mode: "read", Max: 10},
		`{"path":"a","max":99,"line":-3}`:               {Path: "a", Mode: "read", Max: 20},
		`{"path":"a","max":-1,"line":7,"mode":"other"}`: {Path: "a", Mode: "other", Max: 10, Line: 7},
		`{"path":"a","max":null,"unknown":{"any":[1]}}`: {Path: "a", Mode: "read", Max: 10},
		`{"path":"\ud83d\uDE00\\ud83d"}`:                {Path: `😀\ud83d`, Mode: "read", Max: 10},
	} {
		var got sampleIn
		if _, err := sample(&got).Prepare(json.RawMessage(args)); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", args, d)
		}
	}
}

func TestNothingRunsAfterACancel(t *testing.T) {
	p, err := sample(new(sampleIn)).Prepare(json.RawMessage(`{"path":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(t.Context())
	end(tools.ErrRunEnded)
	if r := p.Run(ctx, &tools.Env{}); r.Outcome != "cancelled" || r.Text != "sample: context canceled" || r.ErrorKind != "run_cancelled" {
		t.Errorf("got %+v", r)
	}
	ctx, lose := context.WithCancelCause(t.Context())
	lose(tools.ErrLeaseLost)
	lost := "sample: the worker lost its lease on the run before the call was done; nothing was changed"
	if r := p.Run(ctx, &tools.Env{}); r.Outcome != "failed" || r.Text != lost || r.ErrorKind != "lease_lost" {
		t.Errorf("got %+v", r)
	}
	over := process.NewLease()
	over.End()
	if r := p.Run(t.Context(), &tools.Env{Settings: tools.Settings{Lease: over}}); r.Outcome != "failed" || r.Text != lost || r.ErrorKind != "lease_lost" {
		t.Errorf("got %+v", r)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if r := p.Run(ctx, &tools.Env{}); r.Outcome != "failed" || r.Text != "sample: the server stopped before the call was done" || r.ErrorKind != "interrupted" {
		t.Errorf("got %+v", r)
	}
}

func TestShownNamesCanBeReadBack(t *testing.T) {
	for name, want := range map[string]string{
		"a b.txt": "a b.txt", "café": "café", "x -> y": "x -> y", "line\nbreak": `"line\nbreak"`, `"q"`: `"\"q\""`,
		"esc\x1b[2K": `"esc\u001b[2K"`, "csi\u009b2K": `"csi\u009b2K"`, " lead": `" lead"`, "cr\r": `"cr\r"`,
	} {
		got := tools.ShownName(name)
		if got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
		var back string
		if got[0] == '"' && (json.Unmarshal([]byte(got), &back) != nil || back != name) {
			t.Errorf("%q reads back as %q", name, back)
		}
	}
}

// FuzzArguments checks that no argument text breaks a tool and that what is
// accepted has no duplicate names.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"path":"a","max":3}`, `{"path":"a","path":"b"}`, `null`, `[{"a":1}]`, `{"path":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		var in sampleIn
		if _, err := sample(&in).Prepare(args); err == nil && (in.Max < 1 || in.Max > 20) {
			t.Errorf("max is %d", in.Max)
		}
	})
}

// However long the arguments and what comes of them, the step of a call can be recorded.
func TestWhatAStepShowsIsBounded(t *testing.T) {
	long := strings.Repeat("é", 5000)
	cut := strings.Repeat("é", 2048) + "…(10000 bytes in all)"
	tool := tools.New(tools.Spec[sampleIn]{
		Name:  "sample",
		Input: func(in sampleIn) map[string]any { return map[string]any{"path": in.Path, "max": in.Max} },
		Line:  func(in sampleIn) (string, bool) { return in.Path, true },
		Handle: func(_ context.Context, _ *tools.Env, in sampleIn) tools.Result {
			r := tools.Failure(in.Path, in.Path)
			r.Title, r.ErrorText = in.Path, in.Path
			r.Input, r.Output = map[string]any{"p": in.Path}, map[string]any{"p": in.Path, "n": 1}
			return r
		},
	})
	for path, want := range map[string]string{long: cut, "a": "a"} {
		p, err := tool.Prepare(json.RawMessage(`{"path":"` + path + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if p.Line != want || p.Complete != (path == want) {
			t.Errorf("line %.20s… of %d bytes, complete: %t", p.Line, len(p.Line), p.Complete)
		}
		if d := cmp.Diff(map[string]any{"path": want, "max": 10}, p.Input); d != "" {
			t.Error(d)
		}
		r := p.Run(t.Context(), &tools.Env{})
		if d := cmp.Diff([]any{map[string]any{"p": want}, map[string]any{"p": want, "n": 1}}, []any{r.Input, r.Output}); d != "" {
			t.Error(d)
		}
		if r.Text != path || len(r.Title) > 256 || len(r.ErrorText) > 1024 || len(path) > 1 && (!strings.HasSuffix(r.Title, "é…") || !strings.HasSuffix(r.ErrorText, "é…")) {
			t.Errorf("text of %d bytes, title %q, error of %d", len(r.Text), r.Title, len(r.ErrorText))
		}
	}
}
