package assess_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
	"hecate/runtime/assess"
	"hecate/runtime/model"
)

// saying is a model that gives one answer to everything.
type saying struct{ model.Response }

func says(text string) saying {
	return saying{model.Response{Message: run.Message{Role: run.RoleAssistant, Content: event.NewText(text)}, FinishReason: "stop", Usage: &model.Usage{Input: 7}}}
}

func (saying) Encode(run.Message) (model.Encoded, error)          { return model.Encoded{}, nil }
func (saying) EncodeTools([]model.ToolDefinition) ([]byte, error) { return nil, nil }
func (s saying) Call(context.Context, model.Call) (*model.Response, error) {
	return &s.Response, nil
}

// suspicious is a finding with the exchanges 4, 5 and 6.
func suspicious() repetition.Finding {
	read := repetition.Shown{Tool: "read_file", Arguments: `{"path":"a"}`, Outcome: "completed", Result: "same"}
	return repetition.Finding{
		Level: repetition.Soft, Trigger: repetition.Unchanged, Count: 2,
		Evidence: repetition.Evidence{
			Exchanges: []repetition.Exchange{
				{Round: 4, Calls: []repetition.Shown{read}},
				{Round: 5, Calls: []repetition.Shown{read}},
				{Round: 6, Current: true, Calls: []repetition.Shown{{Tool: "shell_exec", Arguments: `{"command":"x"}`, Outcome: "failed", Result: "cut off", Truncated: true}}},
			},
			Omitted: 3,
			Pending: repetition.Shown{Tool: "read_file", Arguments: `{"path":"a"}`, Outcome: repetition.NotExecuted},
		},
	}
}

// about has a model that gives the answer look at the finding.
func about(t testing.TB, f repetition.Finding, c model.Client) assess.Result {
	t.Helper()
	r := assess.New(assess.Config{Router: &routes{}}).Assess(t.Context(), model.Route{Client: c}, f)
	if !r.Asked || (r.Problem == "") == (r.Assessment == repetition.Invalid) || r.Assessment == repetition.Invalid && len(r.Observations) > 0 {
		t.Errorf("%+v", r)
	}
	return r
}

func TestAnswers(t *testing.T) {
	const good = `{"assessment":"progress","observations":[{"round":5,"text":"the error moved"}]}`
	for _, c := range []struct {
		name, answer string
		want         repetition.Assessment
		seen         string // the observations
	}{
		{"progress", good, repetition.Progress, "round 5: the error moved"},
		{"a loop", `{"assessment":"loop","observations":[{"round":4,"text":"read"},{"round":6,"text":"read again"}]}`, repetition.Loop, "round 4: read|round 6: read again"},
		{"uncertain", `{"assessment":"uncertain","observations":[]}`, repetition.Uncertain, ""},
		{"a loop without observations", `{"assessment":"loop"}`, repetition.Loop, ""},
		{"observations that are null", `{"assessment":"loop","observations":null}`, repetition.Loop, ""},
		{"in a code fence", "```json\n" + good + "\n```", repetition.Progress, "round 5: the error moved"},
		{"with a word before and after", "Here it is: " + good + " Done.", repetition.Progress, "round 5: the error moved"},
		{"a brace in a text", `{"assessment":"loop","observations":[{"round":4,"text":"func() { }"}]}`, repetition.Loop, "round 4: func() { }"},
		{"a round that was not shown", `{"assessment":"loop","observations":[{"round":1,"text":"old"},{"round":4,"text":"read"}]}`, repetition.Loop, "round 4: read"},

		{"nothing", "", repetition.Invalid, ""},
		{"only words", "progress", repetition.Invalid, ""},
		{"two objects", good + good, repetition.Invalid, ""},
		{"an object after another answer", `{"assessment":"loop"} or rather ` + good, repetition.Invalid, ""},
		{"an answer within what is no JSON", `{oops ` + good + `}`, repetition.Invalid, ""},
		{"a broken object after it", good + "{", repetition.Invalid, ""},
		{"a closing brace after it", good + "}", repetition.Invalid, ""},
		{"an object that is cut", good[:len(good)-1], repetition.Invalid, ""},
		{"an object in an object", `{"assessment":` + good + `}`, repetition.Invalid, ""},
		{"another word", `{"assessment":"proceed","observations":[{"round":5,"text":"x"}]}`, repetition.Invalid, ""},
		{"the word in other case", `{"assessment":"Progress","observations":[{"round":5,"text":"x"}]}`, repetition.Invalid, ""},
		{"an assessment of ours", `{"assessment":"unavailable","observations":[]}`, repetition.Invalid, ""},
		{"no assessment", `{"observations":[{"round":5,"text":"x"}]}`, repetition.Invalid, ""},
		{"an assessment that is null", `{"assessment":null}`, repetition.Invalid, ""},
		{"progress for no reason", `{"assessment":"progress","observations":[]}`, repetition.Invalid, ""},
		{"progress in another round", `{"assessment":"progress","observations":[{"round":7,"text":"x"}]}`, repetition.Invalid, ""},
		{"progress in no round", `{"assessment":"progress","observations":[{"text":"x"}]}`, repetition.Invalid, ""},
		{"progress without a word", `{"assessment":"progress","observations":[{"round":5,"text":" \n"}]}`, repetition.Invalid, ""},
		{"a round that is text", `{"assessment":"progress","observations":[{"round":"5","text":"x"}]}`, repetition.Invalid, ""},
		{"half a round", `{"assessment":"progress","observations":[{"round":5.5,"text":"x"}]}`, repetition.Invalid, ""},
		{"observations that are text", `{"assessment":"loop","observations":"x"}`, repetition.Invalid, ""},
		{"more than was asked for", `{"assessment":"progress","allow":true,"observations":[{"round":5,"text":"x"}]}`, repetition.Invalid, ""},
		{"a round in the wrong place", `{"assessment":"progress","round":5,"observations":[{"round":5,"text":"x"}]}`, repetition.Invalid, ""},
		{"two assessments", `{"assessment":"loop","assessment":"progress","observations":[{"round":5,"text":"x"}]}`, repetition.Invalid, ""},
		{"two assessments, one in capitals", `{"assessment":"loop","ASSESSMENT":"progress","observations":[{"round":5,"text":"x"}]}`, repetition.Invalid, ""},
		{"two rounds", `{"assessment":"progress","observations":[{"round":9,"round":5,"text":"x"}]}`, repetition.Invalid, ""},
		{"deep nesting", `{"observations":` + strings.Repeat("[", 20000), repetition.Invalid, ""},
		{"nested as deep as the parser goes", `{"observations":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, repetition.Invalid, ""},
		{"a book", strings.Repeat("x", 70<<10) + good, repetition.Invalid, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := about(t, suspicious(), says(c.answer))
			if seen := strings.Join(r.Observations, "|"); r.Assessment != c.want || seen != c.seen {
				t.Errorf("%+v", r)
			}
			if r.Usage == nil || r.Usage.Input != 7 {
				t.Errorf("usage %+v: what is no use costs the same", r.Usage)
			}
		})
	}
}

// An answer that calls tools, or that is not finished, is none, whatever its text says.
func TestAnswersThatAreMoreOrLessThanText(t *testing.T) {
	good := says(`{"assessment":"progress","observations":[{"round":5,"text":"x"}]}`)
	calling, long, filtered := good, good, good
	calling.Message.ToolCalls = []run.ToolCall{{ID: "c1", Name: "approve", Arguments: event.NewText("{}")}}
	long.FinishReason, filtered.FinishReason = "length", "content_filter"
	for name, c := range map[string]saying{"calling tools": calling, "cut off": long, "filtered": filtered} {
		if r := about(t, suspicious(), c); r.Assessment != repetition.Invalid {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := about(t, suspicious(), good); r.Assessment != repetition.Progress {
		t.Errorf("%+v", r)
	}
}

// What the model says of the exchanges is kept within bounds and fit to be shown.
func TestObservationsAreBounded(t *testing.T) {
	var list []string
	for range 20 {
		text, err := json.Marshal("\x1b[2J\r\n\u202e\u0085" + strings.Repeat("ä\x00", 400))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf(`{"round":4,"text":%s}`, text))
	}
	r := about(t, suspicious(), says(`{"assessment":"loop","observations":[`+strings.Join(list, ",")+`]}`))
	if len(r.Observations) != 8 {
		t.Errorf("%d observations", len(r.Observations))
	}
	for _, o := range r.Observations {
		checkShown(t, o, 300)
		if !strings.HasPrefix(o, `round 4: \x1b[2J\r\n\u202e\u0085ä\x00`) || !strings.HasSuffix(o, "…") || len(o) < 290 {
			t.Errorf("%q", o)
		}
	}
}

func checkShown(t testing.TB, s string, most int) {
	t.Helper()
	if len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%d bytes: %q", len(s), s)
	}
}

// Whatever comes: no assessment but the known ones, progress only with a reason, and
// nothing that is too long or cannot be shown.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"assessment":"progress","observations":[{"round":5,"text":"the error moved"}]}`,
		"```json\n{\"assessment\":\"loop\",\"observations\":[{\"round\":4,\"text\":\"\\u001b[0m\"}]}\n```",
		`{"assessment":"loop","Assessment":"progress"}`, `{"a":{"b":[1,2,{}]}}`, `{}`, `}{`, `{"assessment":"uncertain"}{`, "{\"assessment\":\"\xff\"}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := about(t, suspicious(), says(s))
		checkShown(t, r.Problem, 400)
		for _, o := range r.Observations {
			checkShown(t, o, 300)
			if !slices.ContainsFunc([]string{"round 4: ", "round 5: ", "round 6: "}, func(p string) bool { return strings.HasPrefix(o, p) && o != p }) {
				t.Errorf("tied to nothing: %q", o)
			}
		}
		switch r.Assessment {
		case repetition.Progress:
			if len(r.Observations) == 0 || strings.Count(s, "{") < 2 {
				t.Errorf("progress for no reason: %+v", r)
			}
		case repetition.Loop, repetition.Uncertain, repetition.Invalid:
		default:
			t.Errorf("%+v", r)
		}
		if len(r.Observations) > 8 {
			t.Errorf("%d observations", len(r.Observations))
		}
	})
}
