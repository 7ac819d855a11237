package feed_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"hecate/api/apitest"
	"hecate/api/feed"
	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
	"hecate/domain/run"
	"hecate/projections"
)

// What a call sets in the environment stands in the call as the model proposed it, and
// in nothing that is made from it: not in the question, nor in the answer or a check.
func TestEnvironmentStaysInTheCall(t *testing.T) {
	const secret = "hunter2-hunter2"
	call := run.ToolCall{ID: "c1", Name: "exec", Arguments: event.NewText(`{"argv":["cargo","publish"],"env":{"CARGO_REGISTRY_TOKEN":"` + secret + `","LD_PRELOAD":"` + secret + `"}}`)}
	posture := permission.Posture{Name: permission.PostureLevels, Project: true}
	verdict := permission.Decide(permission.Call{Tool: "exec", Facts: permission.Facts{
		Argv: []string{"cargo", "publish"}, Env: map[string]string{"CARGO_REGISTRY_TOKEN": secret, "LD_PRELOAD": secret},
	}}, posture)
	if verdict.Decision != permission.Ask {
		t.Fatalf("%+v", verdict)
	}

	store := apitest.Executor(t).Store
	apitest.Story(t, store)
	apitest.Append(t, store, "run-"+apitest.RunID, run.ModelResponseRecorded{ModelCallIndex: 9, FinishReason: "tool_calls", Message: run.Message{
		Role: run.RoleAssistant, ToolCalls: []run.ToolCall{call}, Thinking: []json.RawMessage{json.RawMessage(`{"type":"redacted_thinking","data":"` + secret + `"}`)},
	}})
	items := all(t, store)
	response := int64(0)
	records, err := store.ReadStream(t.Context(), "run-"+apitest.RunID, 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	response = records[len(records)-1].Version
	s := run.New(apitest.RunID)
	asked := s.RequestApproval(run.Ask{
		Batch: &run.Batch{Index: 9, Message: run.Message{ToolCalls: []run.ToolCall{call}}}, Calls: []run.ToolCall{call},
		Verdicts: []permission.Verdict{verdict}, Locks: [][]string{{"build"}}, Digest: "ab",
	}, run.Question{Lines: []string{"exec arguments withheld (argument_bytes=99)"}, Incomplete: true})
	asked = append(
		asked, run.AssistantThinking{ModelCallIndex: 9, Response: response}, run.ToolCallProposed{ModelCallIndex: 9, ToolCallID: "c1", ToolName: "exec", Response: response},
		run.ProgressCheckStarted{ModelCallIndex: 9, ToolCallID: "c1", ToolName: "exec", Trigger: repetition.Unchanged, Count: 3},
	)
	apitest.Append(t, store, "run-"+apitest.RunID, asked...)
	after := all(t, store)
	proposed := 0
	for _, i := range after[len(items):] {
		if i.Type == (run.ToolCallProposed{}).EventType() {
			proposed++
		} else if bytes.Contains(i.JSON(), []byte(secret)) {
			t.Errorf("%s shows the environment of the call: %s", i.Type, i.JSON())
		}
	}
	if proposed != 1 || len(after) != len(items)+5 {
		t.Errorf("%d events, %d calls", len(after)-len(items), proposed)
	}
	shown, err := json.Marshal(projections.ApprovalOf(asked[0].(run.ApprovalRequested), apitest.T0))
	if err != nil || bytes.Contains(shown, []byte(secret)) {
		t.Errorf("the approval shows the environment of the call: %s, %v", shown, err)
	}
}

func all(t *testing.T, store feed.Log) []*feed.Item {
	t.Helper()
	items, err := feed.NewReader(store).Run(t.Context(), apitest.RunID, 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	return items
}
