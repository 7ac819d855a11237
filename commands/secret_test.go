package commands_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/permission"
	"hecate/domain/preset"
	"hecate/domain/run"
	"hecate/domain/secret"
	"hecate/domain/task"
	"hecate/eventstore"
)

const planted = "sk-planted-4fQ8xZ2mV6bN1c"

func withSecret(t *testing.T, x *commands.Executor) *commands.Executor {
	t.Helper()
	x.Secrets = &secret.Set{}
	if !x.Secrets.Add("OPENAI_API_KEY", planted) {
		t.Fatal("not held")
	}
	return x
}

// Whatever kind of event comes to an append, and wherever in it a secret stands, the log
// does not get it, and says so.
func TestNoEventBringsASecretIntoTheLog(t *testing.T) {
	x := withSecret(t, newExecutor(t))
	s := run.New("run_1")
	for _, d := range event.Definitions() {
		p := reflect.New(reflect.TypeOf(d.Sample)).Elem()
		places := plant(t, d.Type, p, 0)
		if places == 0 {
			continue // it holds no text at all
		}
		e := event.Event{Version: s.Version + 1, At: time.Unix(1, 0).UTC(), Payload: p.Interface().(event.Payload)}
		meta := commands.Meta{Actor: eventstore.Actor{Kind: "client", Name: planted}}
		if _, err := x.Record(t.Context(), meta, &s, 0, []event.Event{e}); err != nil {
			t.Fatalf("%s: %v", d.Type, err)
		}
		s.Version++
	}
	recorded := 0
	for _, r := range everything(t, x) {
		if r.Stream != commands.RunStream(s.ID) {
			continue // the task's side of the end of a run
		}
		recorded++
		_, names := event.SplitWithheld(r.Data)
		if !slices.Equal(names, []string{"OPENAI_API_KEY"}) || !json.Valid(r.Data) {
			t.Errorf("%s names %q: %.300s", r.Type, names, r.Data)
		}
		if _, err := event.Decode(r.Type, r.Schema, r.Data, nil); err != nil {
			t.Error(err)
		}
	}
	if recorded < 50 {
		t.Errorf("only %d events were looked at", recorded)
	}
}

// An id that somebody chooses is where records are found: it is refused, not changed.
func TestAnIDIsNoSecret(t *testing.T) {
	x := withSecret(t, newExecutor(t))
	_, err := x.CreatePreset(t.Context(), commands.Meta{}, planted, preset.Definition{Name: "p"})
	if f, ok := fault.Of(err); !ok || f.Kind != fault.KindInvalid || strings.Contains(f.Message, planted) || !strings.Contains(f.Message, "OPENAI_API_KEY") {
		t.Errorf("%v", err)
	}
	everything(t, x)
}

// What would write the marker into a file instead of the secret is refused.
func TestAPatchWithoutItsSecretIsNotTakenBack(t *testing.T) {
	x := withSecret(t, newExecutor(t))
	id := newTask(t, x, agent())
	started, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	for artifact, diff := range map[string]string{"a1": "-" + planted, "a2": "-x"} {
		patch := run.FilePatch{ArtifactID: artifact, ArtifactStatus: operation.Applied, Diff: event.NewText(diff)}
		if _, err := x.Advance(t.Context(), commands.Meta{}, started.State, patch); err != nil {
			t.Fatal(err)
		}
		p := operation.Patch{ID: artifact}
		if _, err := x.OutlineRun(t.Context(), started.RunID, p.Apply); err != nil {
			t.Fatal(err)
		}
		err = p.May(operation.PatchRevert)
		if f, refused := fault.Of(err); refused != (artifact == "a1") || refused && !strings.Contains(f.Message, "OPENAI_API_KEY") {
			t.Errorf("%s: %v", artifact, err)
		}
	}
}

// everything returns all records, after looking for the secret in them and their texts.
func everything(t *testing.T, x *commands.Executor) []eventstore.Record {
	t.Helper()
	records, err := x.Store.ReadAll(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		all, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		fetch := func(ref event.Ref) ([]byte, error) {
			blob, err := x.Store.Blob(context.Background(), ref.Digest)
			all = append(all, blob...)
			return blob, err
		}
		if _, err := event.Decode(r.Type, r.Schema, r.Data, fetch); err != nil {
			t.Error(err)
		}
		all = append(all, r.Data...)
		encoded := base64.StdEncoding.EncodeToString([]byte(planted))
		if bytes.Contains(all, []byte(planted)) || bytes.Contains(all, []byte(encoded)) {
			t.Errorf("%s holds the secret: %.300s", r.Type, r.Data)
		}
	}
	return records
}

// plant puts the secret into every text of a payload and returns how many there are.
func plant(t *testing.T, typ string, v reflect.Value, depth int) int {
	t.Helper()
	if depth > 12 {
		return 0
	}
	switch v.Interface().(type) {
	case event.Text:
		text := "a text with " + planted + strings.Repeat(" and more", depth*1000) // large ones stand elsewhere
		v.Set(reflect.ValueOf(event.NewText(text)))
		return 1
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"k":["` + planted + `"]}`)))
		return 1
	case time.Time:
		return 0
	}
	n := 0
	switch v.Kind() {
	case reflect.String:
		v.SetString(planted)
		n = 1
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{planted: []any{"x" + planted, 1, nil, true}}))
		n = 1
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		n = plant(t, typ, v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			n += plant(t, typ, v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		n = plant(t, typ, key, depth+1) + plant(t, typ, value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				t.Errorf("%s: %s.%s cannot be looked into from outside of its package", typ, v.Type(), f.Name)
				continue
			}
			if f.Tag.Get("json") == "secrets_withheld" {
				t.Errorf("%s has a member of the name that records use", typ)
			}
			n += plant(t, typ, v.Field(i), depth+1)
		}
	}
	return n
}

// What a command answers with is what the log says.
func TestAnswersAreAsTheLogSays(t *testing.T) {
	x := withSecret(t, newExecutor(t, permission.PolicyShell))
	d := shellTask()
	d.Title, d.ShellCommand = "use "+planted, event.NewText("curl -H 'x: "+planted+"'")
	id := newTask(t, x, d)
	created, err := x.CreateTask(t.Context(), commands.Meta{CommandID: "c1"}, d)
	if err != nil || strings.Contains(created.State.Definition.ShellCommand.String()+created.State.Definition.Title, planted) {
		t.Fatalf("%+v, %v", created, err)
	}
	started, err := x.StartRun(t.Context(), commands.Meta{}, id, run.Ahead{})
	if err != nil || started.State.Approval == nil || strings.Contains(started.State.Spec.ShellCommand.String(), planted) {
		t.Fatalf("%+v, %v", started.State, err)
	}
	answer := run.Resolution{ApprovalID: started.State.Approval.ApprovalID, Decision: "approve", Note: "the key is " + planted}
	if _, err = x.ResolveApproval(t.Context(), commands.Meta{}, id, answer); err != nil {
		t.Fatal(err)
	}
	_, err = x.PostEvent(t.Context(), commands.Meta{}, commands.PostEvent{
		TaskID: id, RunID: started.RunID, Type: "note." + planted, Note: planted, Data: map[string]any{"secrets_withheld": []any{"FORGED"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	x.Secrets = nil
	withheld := map[string]bool{}
	for _, r := range everything(t, x) {
		if _, names := event.SplitWithheld(r.Data); names != nil {
			withheld[r.Type] = true
			if !slices.Equal(names, []string{"OPENAI_API_KEY"}) {
				t.Errorf("%s names %q", r.Type, names)
			}
		}
	}
	for _, p := range []event.Payload{task.Created{}, run.ApprovalResolved{}, run.ExternalEvent{}} {
		if !withheld[p.EventType()] {
			t.Errorf("%s does not say that something was withheld", p.EventType())
		}
	}
}

// BenchmarkWithhold is what an append costs for its search for secrets, of a round of a
// run: an answer, its call and 4 KiB that came of it.
func BenchmarkWithhold(b *testing.B) {
	x := &commands.Executor{Secrets: &secret.Set{}}
	for i := range 20 {
		x.Secrets.Add("KEY", planted+strings.Repeat(string(rune('a'+i)), 12))
	}
	call := run.ToolCall{ID: "c1", Name: "read_file", Arguments: event.NewText(`{"path":"internal/server/handler.go"}`)}
	round := []event.Payload{
		run.ModelCallStarted{StepID: "step_1", Model: "model", Provider: "provider"},
		run.ModelResponseRecorded{Message: run.Message{Role: run.RoleAssistant, Content: event.NewText("Let me look at the handler."), ToolCalls: []run.ToolCall{call}}},
		run.ModelCallCompleted{StepID: "step_1", Usage: &run.Usage{Input: 1, Raw: json.RawMessage(`{"input_tokens":1}`)}},
		run.ToolCallProposed{ToolCallID: "c1", ToolName: "read_file"},
		run.DispatchIntended{ToolCallID: "c1", ToolName: "read_file", Input: map[string]any{"path": "internal/server/handler.go", "tool": "read_file"}},
		run.DispatchSettled{ToolCallID: "c1", Result: event.NewText(strings.Repeat("func handle(w http.ResponseWriter, r *http.Request) {\n", 76))},
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range round {
			if e := x.Withhold(event.Event{Payload: p}); e.Withheld != nil {
				b.Fatal(e.Withheld)
			}
		}
	}
}
