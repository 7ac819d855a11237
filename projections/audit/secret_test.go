package audit_test

import (
	"slices"
	"testing"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/projections/audit"
	"hecate/projections/projectiontest"
)

// What a secret was withheld from is found by its name, whatever the kind of record, and so is
// a call that names it. What a caller says about secrets is not believed.
func TestSecrets(t *testing.T) {
	log := projectiontest.New(t)
	add := func(stream string, p event.Payload, withheld ...string) {
		enc, err := event.Event{Payload: p, Withheld: withheld}.Encode(func() [16]byte { return [16]byte{1} })
		if err != nil {
			t.Fatal(err)
		}
		log.Raw(stream, log.Event(enc.Type, enc.Data))
	}
	add("run-r", run.ShellOutput{Stream: "stdout", Data: event.NewText("[secret A_KEY]")}, "A_KEY")
	add("run-r", run.ShellOutput{Stream: "stdout", Data: event.NewText("[secret A_KEY]")})
	add("run-r", run.DispatchIntended{ToolName: "exec", SecretsNamed: []string{"A_KEY", "B_KEY"}})
	add("external-r", run.ExternalEvent{RunID: "r", Type: "note", Data: map[string]any{"secrets_withheld": []string{"B_KEY"}, "secrets_named": []string{"B_KEY"}}})
	add("external-r", run.ExternalEvent{RunID: "r", Type: "note", Data: map[string]any{"note": "[secret A_KEY]"}}, "A_KEY", "B_KEY")
	_, v := project(t, log, memory(t))
	for name, want := range map[string][]int64{"A_KEY": {1, 3, 5}, "B_KEY": {3, 5}, "A": nil, "C_KEY": nil} {
		if got := positions(pages(t, v, audit.Filter{Secret: name}, audit.OldestFirst, 10)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := positions(pages(t, v, audit.Filter{Secret: "B_KEY", Tool: "exec"}, audit.OldestFirst, 10)); !slices.Equal(got, []int64{3}) {
		t.Errorf("%v", got)
	}
}
