package event_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hecate/domain/event"
)

type told struct {
	Text  event.Text         `json:"text"`
	Words []string           `json:"words,omitempty"`
	Raw   json.RawMessage    `json:"raw,omitempty"`
	Any   map[string]any     `json:"any,omitempty"`
	Next  *told              `json:"next,omitempty"`
	Named map[string][2]word `json:"named,omitempty"`
}

type word string

func (told) EventType() string       { return "test.told" }
func (n *told) Texts() []*event.Text { return []*event.Text{&n.Text} }

var _ = event.Define(told{})

// hush withholds one word.
func hush(text string) (string, []string) {
	if !strings.Contains(text, "hunter2") {
		return text, nil
	}
	return strings.ReplaceAll(text, "hunter2", "[secret X]"), []string{"X"}
}

func TestNothingOfAnEventThatIsWithheldIsEncoded(t *testing.T) {
	for _, p := range []told{
		{Text: event.NewText("is hunter2")},
		{Text: event.NewText("\xff hunter2 \x00")},
		{Text: event.NewText(strings.Repeat("large hunter2 ", event.InlineMax/10))},
		{Words: []string{"a", "hunter2", "b"}},
		{Raw: json.RawMessage(`{"a":["hunter2",1.50]}`)},
		{Raw: json.RawMessage(`"hunte\u00722"`)},
		{Raw: json.RawMessage(`[{"hunter2":null}]`)},
		{Raw: json.RawMessage("[1,\"a\\\"hunter2\"]")},
		{Any: map[string]any{"hunter2": 1, "n": json.Number("5"), "deep": []any{map[string]any{"x": "hunter2"}}}},
		{Any: map[string]any{"n": json.Number("hunter2")}},
		{Next: &told{Next: &told{Words: []string{"hunter2"}}}},
		{Named: map[string][2]word{"k": {"", "hunter2"}}},
	} {
		before, err := json.Marshal(p)
		if err != nil && p.Any == nil {
			t.Fatal(err)
		}
		e := event.Event{Version: 7, Payload: p}.Without(hush)
		enc, err := e.Encode(salt)
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		whole := string(enc.Data)
		for _, b := range enc.Blobs {
			whole += string(b.Content)
		}
		payload, names := event.SplitWithheld(enc.Data)
		if strings.Contains(whole, "hunter2") || !json.Valid(enc.Data) || !strings.Contains(whole, "[secret X]") && !strings.Contains(string(enc.Data), "base64") {
			t.Errorf("%s", whole)
		}
		if plain, _ := event.Encode(e.Payload, salt); string(plain.Data) != string(payload) || !slices.Equal(names, []string{"X"}) {
			t.Errorf("%s splits into %s and %q", enc.Data, payload, names)
		}
		if after, _ := json.Marshal(p); string(after) != string(before) {
			t.Errorf("the payload that was handed in became %s", after)
		}
		if _, err := event.Decode(enc.Type, enc.Schema, enc.Data, nil); err != nil {
			t.Error(err)
		}
		form, _, err := event.Erase(enc.Type, enc.Data)
		if _, names := event.SplitWithheld(form); err != nil || !json.Valid(form) || len(names) != 1 {
			t.Errorf("erased it is %s, %v", form, err)
		}
	}
}

func TestAnEventWithoutSecretsIsEncodedAsItIs(t *testing.T) {
	p := told{Text: event.NewText("x"), Words: []string{"y"}, Raw: json.RawMessage(`{"a":1.50}`), Any: map[string]any{"k": "v"}}
	e := event.Event{Payload: p}.Without(hush)
	got, err := e.Encode(salt)
	want, _ := event.Encode(p, salt)
	if err != nil || string(got.Data) != string(want.Data) || e.Withheld != nil {
		t.Fatalf("%s, %v", got.Data, err)
	}
	if payload, names := event.SplitWithheld(got.Data); string(payload) != string(got.Data) || names != nil {
		t.Fatalf("%s, %q", payload, names)
	}
}

// What an event tells of cannot look as if something of it had been withheld.
func FuzzSplitWithheld(f *testing.F) {
	for _, s := range []string{`{}`, `{"secrets_withheld":["X"]}`, `{"a":[{"secrets_withheld":["X"]}]}`, `{"a":"\"secrets_withheld\":[\"X\"]}`, `]}`, `{"a":{"secrets_withheld":["X"]}}`} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, text, key string) {
		event.SplitWithheld([]byte(text))
		var said any
		if json.Unmarshal([]byte(text), &said) != nil {
			said = text
		}
		p := told{Text: event.NewText(text), Words: []string{text, "secrets_withheld", key}, Any: map[string]any{key: said}}
		enc, err := event.Encode(p, salt)
		if err != nil {
			t.Fatal(err)
		}
		if payload, names := event.SplitWithheld(enc.Data); names != nil || string(payload) != string(enc.Data) {
			t.Fatalf("%s names %q", enc.Data, names)
		}
	})
}
