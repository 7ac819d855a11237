package runs

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/projections"
)

// filledIn are the members of a step that its run or its row says.
var filledIn = map[string]bool{"TaskID": true, "RunID": true, "Index": true, "RequestID": true, "TraceID": true, "Position": true}

// No member of a step is forgotten when it is written.
func TestStepRoundTrip(t *testing.T) {
	var s projections.Step
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch f := v.Field(i); {
		case filledIn[name]:
		case f.Kind() == reflect.String:
			f.SetString("of " + name)
		case f.CanInt():
			f.SetInt(int64(i + 1))
		default:
			f.Set(reflect.ValueOf(map[string]any{"of": name, "n": 1.5, "list": []any{"a", nil}, "in": map[string]any{"x": true}}))
		}
	}
	doc, err := encodeStep(&s)
	if err != nil {
		t.Fatal(err)
	}
	var back projections.Step
	if err := json.Unmarshal(doc, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Errorf("written and read again:\n%s", diff)
	}
}

func TestMessageRoundTrip(t *testing.T) {
	texts := []string{"", "plain", "a \"b\" \\ \n\t\r\x01 <é> \u2028 😀", "\x00\xff", strings.Repeat("x", 100)}
	for _, text := range texts {
		m := run.Message{
			Role: run.RoleAssistant, Content: event.NewText(text), ToolCallID: "c", ToolError: true,
			ToolCalls: []run.ToolCall{{ID: "c1", Name: "n", Arguments: event.NewText(text)}, {ID: "c2"}},
		}
		var back run.Message
		if err := json.Unmarshal(encodeMessage(&m), &back); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if !reflect.DeepEqual(m, back) {
			t.Errorf("%+v came back as %+v", m, back)
		}
	}
	ref := event.Text{}
	if err := json.Unmarshal([]byte(`{"blob":"ab","size":20000,"media_type":"text/plain"}`), &ref); err != nil {
		t.Fatal(err)
	}
	m, back := run.Message{Role: run.RoleUser, Content: ref}, run.Message{}
	if err := json.Unmarshal(encodeMessage(&m), &back); err != nil || *back.Content.Ref() != *ref.Ref() {
		t.Errorf("the reference came back as %+v, %v", back.Content.Ref(), err)
	}
}

// What is written by hand reads as what encoding/json writes.
func FuzzAppendValue(f *testing.F) {
	f.Add("a\x00\xff<>&\u2029", 1e21, int64(-3))
	f.Add("", math.Copysign(0, -1), int64(1)<<62)
	f.Fuzz(func(t *testing.T, s string, n float64, i int64) {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return
		}
		in := map[string]any{"s": s, s: n, "i": i, "l": []any{s, n}, "m": map[string]any{s: s}, "nil": nil, "b": true}
		got, err := appendValue(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Errorf("%s (-want +got):\n%s", got, diff)
		}
	})
}
