package erasure_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hecate/domain/erasure"
	"hecate/domain/event"
	_ "hecate/domain/logkey"
	_ "hecate/domain/operation"
	_ "hecate/domain/preset"
	"hecate/domain/run"
	_ "hecate/domain/task"
)

const planted = "PLANTED-personal-data"

// free are the members that people, models and tools write into. Whoever adds one to an event
// and forgets it here has it erased all the same: what stays is what event.Erase lists.
var free = []string{
	"action_summary", "argv", "comment", "content", "covers", "cwd", "data", "description", "diff", "error", "file_path", "input", "instructions",
	"message", "note", "notes", "output", "partial", "path", "paths", "policy_reason", "prompt", "reason", "ref", "system_prompt", "text", "title",
}

// Of every event the erased form reads well, is its own erased form, and says nothing of what
// somebody has written.
func TestErasedFormOfEveryType(t *testing.T) {
	for _, d := range event.Definitions() {
		v := reflect.New(d.GoType())
		fill(v.Elem())
		data, err := json.Marshal(v.Interface())
		if err != nil {
			t.Fatalf("%s: %v", d.Type, err)
		}
		form, _, err := event.Erase(d.Type, data)
		if err != nil {
			t.Errorf("%s: %v", d.Type, err)
			continue
		}
		var members any
		if err := json.Unmarshal(form, &members); err != nil {
			t.Fatalf("%s: %v", d.Type, err)
		}
		for name, value := range leaves(members, "") {
			if slices.Contains(free, name) && strings.Contains(value, planted) {
				t.Errorf("%s: %s is still %s", d.Type, name, value)
			}
		}
		if p, err := event.Decode(d.Type, d.Schema, form, nil); err != nil {
			t.Errorf("%s: the erased form cannot be read: %v", d.Type, err)
		} else if _, unknown := p.(event.Unknown); unknown {
			t.Errorf("%s: the erased form is unknown", d.Type)
		}
		again, contents, err := event.Erase(d.Type, form)
		if err != nil || string(again) != string(form) || len(contents) > 0 {
			t.Errorf("%s: erased again it is %s (%d contents, %v), before %s", d.Type, again, len(contents), err, form)
		}
	}
}

// fill writes something into every member.
func fill(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[event.Text]():
		v.Set(reflect.ValueOf(event.NewText(planted)))
		return
	case reflect.TypeFor[time.Time]():
		return
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"x":"` + planted + `"}`))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString(planted)
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		value := reflect.New(v.Type().Elem()).Elem()
		if value.Kind() == reflect.Interface {
			value.Set(reflect.ValueOf(planted))
		} else {
			fill(value)
		}
		m.SetMapIndex(reflect.ValueOf(planted).Convert(v.Type().Key()), value)
		v.Set(m)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	}
}

// leaves are the texts of a JSON value by the names of their members.
func leaves(v any, name string) map[string]string {
	out := map[string]string{}
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			for n, s := range leaves(inner, k) {
				out[n] += s
			}
		}
	case []any:
		for _, inner := range v {
			for n, s := range leaves(inner, name) {
				out[n] += s
			}
		}
	case string:
		out[name] = v
	}
	return out
}

// What was erased is as long as it was, and large contents are named for the one who deletes them.
func TestErasedTexts(t *testing.T) {
	large := strings.Repeat("long ", event.InlineMax)
	encoded, err := event.Encode(run.ArtifactRecorded{ArtifactID: "artifact_1", Kind: "stdout", Name: "n", MIMEType: "text/plain", Status: "ready", Content: event.NewText(large)},
		func() [16]byte { return [16]byte{1} })
	if err != nil {
		t.Fatal(err)
	}
	form, contents, err := event.Erase(encoded.Type, encoded.Data)
	if err != nil || len(contents) != 1 || contents[0].Digest != encoded.Blobs[0].Digest {
		t.Fatalf("%v, %v", contents, err)
	}
	p, err := event.Decode(encoded.Type, encoded.Schema, form, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := p.(run.ArtifactRecorded)
	if a.Content.Len() != int64(len(large)) || !a.Content.Erased() || a.Content.String() != event.ErasedMark || a.Name != event.ErasedMark || a.ArtifactID != "artifact_1" || a.Kind != "stdout" {
		t.Errorf("%+v", a)
	}
	// Where only the content is gone, and the event as it was, it reads the same.
	p, err = event.Decode(encoded.Type, encoded.Schema, encoded.Data, func(event.Ref) ([]byte, error) { return nil, event.ErrErased })
	if a, _ = p.(run.ArtifactRecorded); err != nil || !a.Content.Erased() || a.Content.Len() != int64(len(large)) {
		t.Errorf("%+v, %v", a, err)
	}
}

// What this build does not know is erased as a whole.
func TestErasedUnknown(t *testing.T) {
	form, _, err := event.Erase("from.the.future", []byte(`{"secret":1}`))
	if err != nil || string(form) != "{}" {
		t.Errorf("%s, %v", form, err)
	}
	form, _, err = event.Erase("run.queued", []byte(`{"kind":"model","more":"`+planted+`"}`))
	if err != nil || strings.Contains(string(form), planted) {
		t.Errorf("%s, %v", form, err)
	}
}

func TestTypeName(t *testing.T) {
	if erasure.Type != "log.erased" { // a trigger of the PostgreSQL log knows it
		t.Error(erasure.Type)
	}
}
