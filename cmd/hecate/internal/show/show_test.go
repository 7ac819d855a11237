package show_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	time.Local = time.UTC // histories show local times
	os.Exit(m.Run())
}

func eventsOf(t *testing.T, path string) []client.Event {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []client.Event
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		var e client.Event
		switch err := d.Decode(&e); err {
		case nil:
			out = append(out, e)
		case io.EOF:
			return out
		default:
			t.Fatal(err)
		}
	}
}

// render writes everything that is shown of a run: live, its questions, its history.
func render(events []client.Event, style terminal.Style) string {
	var out bytes.Buffer
	live := show.NewLive(&out, style)
	for _, e := range events {
		live.Event(e)
		if e.Type == "approval.requested" {
			q := show.QuestionOf(e)
			q.Bundle = live.Bundles().Of(e.RunID)
			q.Where = show.Where{Place: run.Place{Path: live.Workspace, Source: "/home/you/project"}}
			q.Write(&out, style)
		}
	}
	fmt.Fprintf(&out, "\nanswer %q, cost %s\n\n", live.Answer, show.Cost(live.CostMicroUSD, live.CostKnown))
	log := show.NewLog(&out, style)
	for _, e := range events {
		log.Event(e)
	}
	for _, d := range log.Unknown("run_1") {
		fmt.Fprintf(&out, "unknown: %s, step %s\n", d.Call, terminal.Line(d.StepID))
	}
	return out.String()
}

// The text of a run's events, in a file, on a terminal and on one with colours.
func TestGolden(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, script := range scripts {
		for name, style := range map[string]terminal.Style{
			"file": {}, "terminal": {Columns: 80}, "colour": {Columns: 60, Colour: true},
		} {
			t.Run(filepath.Base(script)+"/"+name, func(t *testing.T) {
				got := render(eventsOf(t, script), style)
				golden := strings.TrimSuffix(script, ".jsonl") + "." + name + ".txt"
				if *update {
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", golden, diff)
				}
			})
		}
	}
}

// Without colours not one control character is printed, whatever the events say.
func TestNothingRawReachesTheScreen(t *testing.T) {
	for _, name := range []string{"deceit", "trouble", "late", "again", "asks"} {
		for _, r := range render(eventsOf(t, "testdata/"+name+".jsonl"), terminal.Style{Columns: 60}) {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) {
				t.Errorf("%s prints %U", name, r)
			}
		}
	}
}

// Any data of any event may be odd; showing it neither fails nor lets controls through.
func FuzzEvents(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*.jsonl")
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			var e client.Event
			if json.Unmarshal(line, &e) == nil {
				f.Add(e.Type, []byte(e.Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, eventType string, data []byte) {
		if !json.Valid(data) {
			t.Skip()
		}
		begin := client.Event{RunID: "run_1", Type: "tool.shell.command", Data: []byte(`{"tool_call_id":"c1","command_string":"ls"}`)}
		e := client.Event{RunID: "run_1", Type: eventType, Data: data}
		asks := client.Event{RunID: "run_1", Type: "approval.requested", Data: data}
		for _, r := range render([]client.Event{begin, e, asks, e}, terminal.Style{Columns: 50}) {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Fatalf("prints %U", r)
			}
		}
	})
}

// The digest that goes with an answer covers the very bytes that were shown.
func TestDigestOfWhatIsShown(t *testing.T) {
	var b show.Bundles
	for i, arguments := range []string{
		`"input":{"command":"ls"}`,
		`"input":{"path":"something else"},"arguments":"{ \"path\": \"a.go\" }"`,
		`"input":{"raw":"x"},"arguments":"\ufffd","arguments_base64":"/w=="`,
	} {
		b.Add(client.Event{RunID: "run_1", Type: "assistant.tool_call_proposed", Data: fmt.Appendf(nil,
			`{"model_call_index":3,"tool_call_id":"c%d","tool_name":"t%d",%s}`, i, i, arguments)})
	}
	want := run.BundleDigest("run_1", 3, []run.ToolCall{
		{ID: "c0", Name: "t0", Arguments: event.NewText(`{"command":"ls"}`)},
		{ID: "c1", Name: "t1", Arguments: event.NewText(`{ "path": "a.go" }`)},
		{ID: "c2", Name: "t2", Arguments: event.NewText("\xff")},
	})
	if got := b.Of("run_1").Digest(); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	var shown bytes.Buffer
	for _, c := range b.Of("run_1").Calls {
		c.Verbatim(&shown, terminal.Style{}, "")
	}
	if want := "command │ ls\npath │ a.go\nraw │ \\xff\n"; shown.String() != want {
		t.Errorf("shown %q, want %q", shown.String(), want)
	}
	if b.Of("run_2") != nil {
		t.Error("an unknown run has a bundle")
	}
}

// While nothing happens it is said what is waited for, and until when.
func TestStatus(t *testing.T) {
	events := eventsOf(t, "testdata/again.jsonl")
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for _, c := range []struct {
		seen   string // the last event that was seen
		times  int    // so often
		now    time.Duration
		want   string
		queued bool
	}{
		{"run.queued", 1, 3 * time.Second, "", true},
		{"run.started", 1, 3 * time.Second, "", false},
		{"model.call.started", 1, 500 * time.Millisecond, "model call 1", false},
		{"model.call.started", 1, 3 * time.Second, "model call 1  2s", false},
		{"model.call.retrying", 1, 1200 * time.Millisecond, "x is overloaded; next attempt in 3s", false},
		{"model.call.retrying", 1, 6200 * time.Millisecond, "model call 1  6s", false},
		{"model.call.retrying", 2, 5204 * time.Millisecond, "model call 1  1s", false},
		{"gap.run_disconnected", 1, 38 * time.Second, "", true},
		{"gap.run_disconnected", 2, 39 * time.Second, "waiting for a worker that reaches the workspace  2s", false},
		{"run.failed", 1, 45 * time.Second, "", false},
	} {
		live, left := show.NewLive(io.Discard, terminal.Style{}), c.times
		for _, e := range events {
			if left > 0 {
				live.Event(e)
			}
			if e.Type == c.seen {
				left--
			}
		}
		if got := live.Doing(at.Add(c.now)); got != c.want || live.Queued.IsZero() == c.queued {
			t.Errorf("%s %d: %q, queued %v; want %q, %v", c.seen, c.times, got, !live.Queued.IsZero(), c.want, c.queued)
		}
	}
}

// What nobody knows is named until somebody has looked, and what the end of a run
// left open is known only once it has ended.
func TestUnknownCalls(t *testing.T) {
	events := eventsOf(t, "testdata/again.jsonl")
	live, log := show.NewLive(io.Discard, terminal.Style{}), show.NewLog(io.Discard, terminal.Style{})
	said := ""
	for _, e := range events {
		live.Event(e)
		log.Event(e)
		now := fmt.Sprint(live.Unknown("run_1"), log.Unknown("run_1"))
		if now != said {
			said = now
			want := map[string]string{
				"run.created":           "[] []",
				"tool.dispatch.settled": "[{step_2 shell_exec make release}] [{step_2 shell_exec make release}]",
				"run.failed":            "[{step_2 shell_exec make release}] [{step_2 shell_exec make release} {step_3 file_write a.txt}]",
				"tool.outcome.stated":   "[] [{step_3 file_write a.txt}]",
			}[e.Type]
			if now != want {
				t.Errorf("after %s: %s, want %s", e.Type, now, want)
			}
		}
	}
}

// A bundle that a run takes over is the same calls under another name.
func TestBundleTakenOver(t *testing.T) {
	var b show.Bundles
	for i := range 2 {
		b.Add(client.Event{RunID: "run_1", Type: "assistant.tool_call_proposed", Data: fmt.Appendf(nil,
			`{"model_call_index":%d,"tool_call_id":"c1","tool_name":"shell_exec","input":{"command":"ls"}}`, i+1)})
	}
	q := show.Question{Digest: "of the event", Bundle: b.At("run_1", 1).TakenOver("run_2")}
	want := run.BundleDigest("run_2", 0, []run.ToolCall{{ID: "c1", Name: "shell_exec", Arguments: event.NewText(`{"command":"ls"}`)}})
	if got := q.Shown("run_2"); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	if b.At("run_1", 3) != nil || b.At("run_2", 1) != nil || b.At("run_1", 1).RunID != "run_1" {
		t.Error("the bundles are mixed up")
	}
	if got := (show.Question{Bundle: b.Of("run_1")}).Shown("run_1"); got != "" {
		t.Errorf("without a digest of the server %q is sent", got)
	}
}

// The digest of a start covers the whole task, as its run froze it.
func TestDigestOfAStart(t *testing.T) {
	task := client.Task{
		ExecutionKind: "shell", Prompt: "p", SystemPrompt: "s", ShellCommand: "make", GitCommand: "g", FileOperation: "o", FilePath: "f", FileContent: "c",
		WorkspaceMode: "ephemeral", WorkingDirectory: "/w", Repo: "r", BaseBranch: "b", AllowedRoot: "/a", ReadOnly: true, Network: true, TimeoutMS: 7,
	}
	want := run.DirectDigest("run_1", run.Spec{
		ExecutionKind: "shell", Prompt: event.NewText("p"), SystemPrompt: event.NewText("s"), ShellCommand: event.NewText("make"), GitCommand: event.NewText("g"),
		FileOperation: "o", FilePath: "f", FileContent: event.NewText("c"), WorkspaceMode: "ephemeral", WorkingDirectory: "/w", Repo: "r",
		BaseBranch: "b", AllowedRoot: "/a", ReadOnly: true, Network: true, TimeoutMS: 7,
	})
	q := show.Question{Digest: "of the event", Start: show.StartOf(task)}
	if got := q.Shown("run_1"); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	var out bytes.Buffer
	q.Write(&out, terminal.Style{})
	if want := "    shell\n\n    │ make\n    directory │ /w\n    network   │ true\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("shown:\n%s", &out)
	}
}

// Of a call that the server's list asks about, the rule is named.
func TestAsksByPolicy(t *testing.T) {
	for gate, says := range map[permission.Gate]bool{permission.GateRuntime: true, permission.GateLevel: false, permission.GateHost: false, permission.GatePreset: true} {
		p := show.Prompt{Call: show.Call{Tool: "shell_exec", Why: "A look."}, Asked: run.ApprovalCall{
			Ruling: run.Ruling{Decision: "ask", Level: 2}, Gates: []permission.Gate{gate}, Reason: "policy shell_exec asks before shell_exec",
		}}
		var text strings.Builder
		for _, r := range show.Rows(p.Lines(false), 80) {
			text.WriteString(r.Text + "\n")
		}
		if got := strings.Contains(text.String(), "  why: A look.\n  asks because: policy shell_exec asks before shell_exec\n"); got != says {
			t.Errorf("%s:\n%s", gate, &text)
		}
	}
}

func TestValues(t *testing.T) {
	for want, got := range map[string]string{
		"$0.0123":                    show.Cost(12_300, true),
		"$0.000042":                  show.Cost(42, true),
		"$0.0042":                    show.Cost(4_200, true),
		"$0.0000":                    show.Cost(0, true),
		"$1.2346":                    show.Cost(1_234_567, true),
		"unknown":                    show.Cost(0, false),
		"unknown (at least $0.0010)": show.Cost(1_000, false),
		"0.3s":                       show.Duration(312 * time.Millisecond),
		"3m04s":                      show.Duration(184 * time.Second),
		"2h00m":                      show.Duration(2 * time.Hour),
		"1 entry":                    show.Count(1, "entry"),
		"1,204 matches":              show.Count(1204, "match"),
		"-1,000 bytes":               show.Count(-1000, "byte"),
		"-100 bytes":                 show.Count(-100, "byte"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
