package history_test

import (
	"fmt"
	"strings"
	"testing"

	"hecate/cmd/hecate/blackbox/history"
)

// sound is a log in which all is well: stream, actor, type, data. Two runs of a task
// follow each other, with an approval, a crash, a takeover and late results.
const sound = `
task-1 operator task.created {}
task-1 operator task.run.opened {"run_id":"1","number":1}
run-1 operator run.created {"task_id":"1","number":1,"status":"queued","budget_micros_usd":100}
run-1 operator run.queued {}
run-1 w1 run.claimed {"node_id":"w1","epoch":5}
run-1 w1 run.started {}
run-1 w1 model.call.started {"model_call_index":1}
run-1 w1 model.response.recorded {"model_call_index":1,"message":{"tool_calls":[$C1,$C2]}}
run-1 w1 model.call.completed {"model_call_index":1,"cost_pico_usd":60000000,"run_cumulative_cost_micros_usd":60,"task_cumulative_cost_micros_usd":60}
run-1 w1 approval.requested {"approval_id":"a1","model_call_index":1,"digest":"$D1","calls":[{"tool_call_id":"c1","ruling":$ASK},{"tool_call_id":"c2","ruling":$ASK}]}
run-1 w1 run.awaiting_approval {}
run-1 operator approval.resolved {"approval_id":"a1","decision":"approved","digest":"$D1"}
run-1 operator run.queued {"resume":true}
run-1 w1 run.claimed {"node_id":"w1","epoch":6}
run-1 w1 run.started {}
run-1 w1 tool.dispatch.intended {"model_call_index":1,"tool_call_id":"c1","tool_call_digest":"$S1","approval_id":"a1","ruling":$ASK}
run-1 w2 gap.run_disconnected {"action":"requeued"}
run-1 w2 run.claimed {"node_id":"w2","epoch":8}
run-1 w2 run.started {}
run-1 w2 tool.dispatch.settled {"model_call_index":1,"tool_call_id":"c1","outcome":"unknown"}
run-1 w2 tool.dispatch.intended {"model_call_index":1,"tool_call_id":"c2","tool_call_digest":"$S2","approval_id":"a1","ruling":$ASK}
run-1 operator run.cancelled {}
task-1 operator task.run.closed {"run_id":"1","status":"cancelled"}
run-1 operator task.updated {}
task-1 operator task.budget.raised {"budget_micros_usd":200}
task-1 operator task.run.opened {"run_id":"2","number":2}
run-2 operator run.created {"task_id":"1","number":2,"status":"queued","budget_micros_usd":200,"prior_cost_pico_usd":60000000,"source":{"kind":"resume","run_id":"1"}}
run-2 operator conversation.inherited {"pending":{"begun":["c2"]}}
run-2 operator run.queued {}
run-1 w2 workspace.changed {"before":"s1","after":"s2","tool_call_id":"c2"}
run-1 w2 tool.dispatch.settled {"model_call_index":1,"tool_call_id":"c2","outcome":"cancelled"}
run-1 w2 workspace.changed {"before":"mine","after":"s1","operation_id":"o1"}
run-1 w2 workspace.changed {"before":"s1","after":"s3"}
external-1 operator external.event {}
run-2 w2 run.claimed {"node_id":"w2","epoch":9}
run-2 w2 run.started {}
run-2 w2 tool.dispatch.settled {"tool_call_id":"c2","outcome":"unknown"}
run-2 w2 model.call.started {"model_call_index":1}
run-2 w2 model.response.recorded {"model_call_index":1,"message":{"tool_calls":[$C1]}}
run-2 w2 model.call.completed {"model_call_index":1,"cost_pico_usd":400000,"run_cumulative_cost_micros_usd":0,"task_cumulative_cost_micros_usd":60}
run-2 w2 tool.dispatch.intended {"model_call_index":1,"tool_call_id":"c1","tool_call_digest":"$S1","ruling":$ALLOW}
run-2 w2 tool.dispatch.settled {"model_call_index":1,"tool_call_id":"c1","outcome":"completed"}
run-2 w2 tool.dispatch.settled {"model_call_index":1,"tool_call_id":"c3","outcome":"blocked"}
run-2 w2 run.finished {}
task-1 w2 task.run.closed {"run_id":"2","status":"completed"}
`

// macros stand for what is long in logs: calls, the digests of single ones (S), of all
// calls of an answer (D), and rulings.
var macros = strings.NewReplacer(
	"$C1", `{"id":"c1","name":"exec","arguments":"{\"program\":\"c1\"}"}`,
	"$C2", `{"id":"c2","name":"exec","arguments":"{\"program\":\"c2\"}"}`,
	"$S1", "c7dd8f6d9df60d25b5f4cfad8c9855b1bace637f0bcd0f372204eb2de3498b8c",
	"$S2", "0d10a871b192c4e8827f5a51c46eba099af814372f1e26067292dbdfdb871c42",
	"$D1", "b2aba83f1a00806f9c3ecc2e6d9915bdc4c1bbe09ea279b95c3cd0495c2ec679", // run 1, call 1
	"$D2", "8ba7de3603ae9bd73928ddea91da24a4bcb8b06943ca0a303120502ab71c563b", // inherited by run 2
	"$ASK", `{"decision":"ask","level":2,"layer":"gate","rule":"runtime-policy","posture":"runtime"}`,
	"$ALLOW", `{"decision":"allow","level":0,"layer":"default","rule":"level-0","posture":"runtime"}`,
	"$DENY", `{"decision":"deny","level":2,"layer":"deny","rule":"exec(c2)","posture":"levels"}`,
)

func read(text string) (events []history.Event, records []history.Record) {
	versions := map[string]int64{}
	for i, line := range strings.Split(strings.TrimSpace(macros.Replace(text)), "\n") {
		f := strings.SplitN(line, " ", 4)
		versions[f[0]]++
		r := history.Record{Position: int64(i) + 1, Stream: f[0], Version: versions[f[0]], Type: f[2], ActorKind: "worker", ActorName: f[1], Data: []byte(f[3])}
		if f[1] == "operator" {
			r.ActorKind = "operator"
		}
		records = append(records, r)
		if kind, id, _ := strings.Cut(f[0], "-"); kind != "task" {
			events = append(events, history.Event{Sequence: r.Position, ID: fmt.Sprint("e", r.Position), Type: r.Type, TaskID: owner(id), RunID: id})
		}
	}
	return events, records
}

// owner is the task of a run: the second has run 3.
func owner(run string) string {
	if run == "3" {
		return "2"
	}
	return "1"
}

func TestSoundLog(t *testing.T) {
	if found := history.Check(read(sound)); len(found) > 0 {
		t.Error(strings.Join(found, "\n"))
	}
}

// Each change of the sound log is found, by a finding that has these words.
func TestFindings(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"two open runs":             {`task-1 operator task.run.closed {"run_id":"1","status":"cancelled"}` + "\n", "", "run 1 is open still"},
		"a number is left out":      {`"run_id":"2","number":2`, `"run_id":"2","number":3`, "number 3 after 1"},
		"another number":            {`{"task_id":"1","number":2`, `{"task_id":"1","number":7`, "it has number 7, and 2 in its task"},
		"not closed":                {"task-1 w2 task.run.closed {\"run_id\":\"2\",\"status\":\"completed\"}\n", "", `it ended as "completed", and as "" in its task`},
		"a lower ceiling":           {`task.budget.raised {"budget_micros_usd":200}`, `task.budget.raised {"budget_micros_usd":0}`, "the ceiling goes from 0 to 0"},
		"two ends":                  {"run-2 w2 run.finished {}\n", "run-2 w2 run.finished {}\nrun-2 w2 run.failed {}\n", "second end"},
		"on after the end":          {"run-1 operator task.updated {}\n", "run-1 operator task.updated {}\nrun-1 w2 model.call.started {\"model_call_index\":2}\n", "the run has ended as cancelled"},
		"a lower epoch":             {`"w2","epoch":8`, `"w2","epoch":4`, "claim 4 follows claim 6"},
		"an epoch twice":            {`"w2","epoch":9`, `"w2","epoch":8`, "run 1 has the same epoch"},
		"a fenced worker writes":    {"run-1 w2 tool.dispatch.settled {\"model_call_index\":1,\"tool_call_id\":\"c1\"", "run-1 w1 tool.dispatch.settled {\"model_call_index\":1,\"tool_call_id\":\"c1\"", "worker w1 wrote it"},
		"nobody had the run":        {"run-2 w2 run.claimed {\"node_id\":\"w2\",\"epoch\":9}\n", "", `the run is with ""`},
		"a change is left out":      {`{"before":"s1","after":"s3"}`, `{"before":"s2","after":"s3"}`, `the last one is "s1"`},
		"a change by no call":       {`"after":"s2","tool_call_id":"c2"`, `"after":"s2","tool_call_id":"c1"`, "call c1 is not under way"},
		"a gap and no claim":        {"run-1 w2 run.claimed {\"node_id\":\"w2\",\"epoch\":8}\n", "", "did not claim"},
		"started twice":             {"run-2 w2 run.started {}\n", "run-2 w2 run.started {}\nrun-2 w2 run.started {}\n", "the run is running"},
		"without a yes":             {`"decision":"approved","digest":"$D1"`, `"decision":"rejected","digest":"$D1"`, "was not approved"},
		"another yes":               {`"decision":"approved","digest":"$D1"`, `"decision":"approved","digest":"x"`, "something else was approved"},
		"a call that was not in it": {`{"tool_call_id":"c1","ruling":$ASK},{"tool_call_id":"c2","ruling":$ASK}`, `{"tool_call_id":"c1","ruling":$ASK}`, "call c2 was not approved"},
		"dispatched without asking": {`"ruling":$ALLOW`, `"ruling":$ASK`, "was not approved"},
		"two answers": {
			"run-1 operator run.queued {\"resume\":true}\n",
			"run-1 operator approval.resolved {\"approval_id\":\"a1\",\"decision\":\"rejected\"}\nrun-1 operator run.queued {\"resume\":true}\n", `pending is ""`,
		},
		"dispatched twice": {
			"run-2 w2 run.finished {}\n",
			"run-2 w2 tool.dispatch.intended {\"model_call_index\":1,\"tool_call_id\":\"c1\"}\nrun-2 w2 run.finished {}\n", "was dispatched before, in run 2",
		},
		"an inherited call again": {
			"run-2 w2 tool.dispatch.settled {\"tool_call_id\":\"c2\"",
			"run-2 w2 tool.dispatch.intended {\"tool_call_id\":\"c2\",\"source_run_id\":\"1\",\"source_model_call_index\":1}\nrun-2 w2 tool.dispatch.settled {\"tool_call_id\":\"c2\"", "was dispatched before, in run 1",
		},
		"settled twice": {
			"run-2 w2 run.finished {}\n",
			"run-2 w2 tool.dispatch.settled {\"model_call_index\":1,\"tool_call_id\":\"c1\",\"outcome\":\"failed\"}\nrun-2 w2 run.finished {}\n", "was settled before",
		},
		"settled, never begun":     {`"tool_call_id":"c3","outcome":"blocked"`, `"tool_call_id":"c3","outcome":"completed"`, "was never begun"},
		"blocked after all":        {`"tool_call_id":"c1","outcome":"completed"`, `"tool_call_id":"c1","outcome":"blocked"`, "was begun and is settled as blocked"},
		"ended without an outcome": {"run-2 w2 tool.dispatch.settled {\"model_call_index\":1,\"tool_call_id\":\"c1\",\"outcome\":\"completed\"}\n", "", "call c1 has no outcome"},
		"two calls at a time":      {"run-2 w2 model.response.recorded {\"model_call_index\":1,\"message\":{\"tool_calls\":[$C1]}}\n", "run-2 w2 model.call.started {\"model_call_index\":1}\n", "call 1 is open"},
		"a forgotten account":      {`"prior_cost_pico_usd":60000000`, `"prior_cost_pico_usd":0`, "taken over from a bill of 60000000"},
		"a wrong sum":              {`"run_cumulative_cost_micros_usd":0,`, `"run_cumulative_cost_micros_usd":1,`, "said to be 1 and 60"},
		"past the ceiling":         {`"status":"queued","budget_micros_usd":200`, `"status":"queued","budget_micros_usd":60`, "of 60 micro-USD are spent"},
		"a run of nobody":          {"run-2 operator run.created", "run-3 operator run.created", "run 2 does not exist"},
		"deleted while open":       {"run-1 operator task.updated {}\n", "run-1 operator task.updated {}\ntask-1 operator task.deleted {}\n", "the task was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Count(sound, c.old) != 1 {
				t.Fatalf("%q occurs %d times", c.old, strings.Count(sound, c.old))
			}
			_, records := read(strings.Replace(sound, c.old, c.new, 1))
			found := strings.Join(history.Check(nil, records), "\n")
			if !strings.Contains(found, c.want) {
				t.Errorf("want %q in\n%s", c.want, found)
			}
		})
	}
}

// Holes and repetitions are found in the log and in the feed.
func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e []history.Event, r []history.Record) ([]history.Event, []history.Record)
		want   string
	}{
		"a hole": {func(e []history.Event, r []history.Record) ([]history.Event, []history.Record) {
			return nil, append(r[:5], r[6:]...)
		}, "position 6 was to be expected"},
		"a version twice": {func(e []history.Event, r []history.Record) ([]history.Event, []history.Record) {
			r[9].Version--
			return e, r
		}, "was to be expected"},
		"not shown": {func(e []history.Event, r []history.Record) ([]history.Event, []history.Record) {
			return append(e[:3], e[4:]...), r
		}, "shown in the feed: false"},
		"shown twice": {func(e []history.Event, r []history.Record) ([]history.Event, []history.Record) {
			return append(e[:4], e[3:]...), r
		}, "out of order or repeated"},
		"shown as another": {func(e []history.Event, r []history.Record) ([]history.Event, []history.Record) {
			e[3].Type = "run.finished"
			return e, r
		}, "the feed shows it as run.finished"},
		"made up": {func(e []history.Event, r []history.Record) ([]history.Event, []history.Record) {
			return append(e, history.Event{Sequence: 1000, ID: "e1000"}), r
		}, "no such event: e1000"},
	} {
		t.Run(name, func(t *testing.T) {
			if found := strings.Join(history.Check(c.change(read(sound))), "\n"); !strings.Contains(found, c.want) {
				t.Errorf("want %q in\n%s", c.want, found)
			}
		})
	}
}

func TestTwice(t *testing.T) {
	if got := fmt.Sprint(history.Twice([]string{"a", "b", "a", "c", "a", "c"})); got != "[a c]" {
		t.Error(got)
	}
}
