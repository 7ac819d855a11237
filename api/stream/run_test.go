package stream_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/api/apitest"
	"hecate/api/stream"
	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/projections"
)

// runFrame is a frame of a run's stream.
type runFrame struct {
	sent
	shown
}

type (
	sent  = apitest.Frame
	shown = stream.Frame
)

func nextRun(t testing.TB, frames *apitest.Stream) (runFrame, error) {
	t.Helper()
	f, err := frames.Next()
	if err != nil {
		return runFrame{}, err
	}
	var d struct {
		Object string       `json:"object"`
		Data   stream.Frame `json:"data"`
	}
	if err := json.Unmarshal([]byte(f.Data), &d); err != nil || d.Object != "task_run_stream_event" {
		t.Fatalf("%v in %+v", err, f)
	}
	if f.ID != strconv.FormatInt(d.Data.Sequence, 10) {
		t.Errorf("id %s, sequence %d", f.ID, d.Data.Sequence)
	}
	return runFrame{f, d.Data}, nil
}

// untilEnd reads to the end of the stream.
func untilEnd(t testing.TB, frames *apitest.Stream) (out []runFrame) {
	t.Helper()
	for {
		f, err := nextRun(t, frames)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
}

// check holds of every stream that ended: its ids never go down and are those of
// events, every event has its frame, nothing is terminal too early, and the end is
// what it must be.
func check(t *testing.T, s *apitest.Server, path string, after int64, frames []runFrame) {
	t.Helper()
	known := map[string]bool{strconv.FormatInt(after, 10): true}
	var want []string
	for _, raw := range list(t, s, path+"/events") {
		var i apitest.Item
		if err := json.Unmarshal([]byte(raw), &i); err != nil {
			t.Fatal(err)
		}
		known[strconv.FormatInt(i.Sequence, 10)] = true
		if i.Sequence > after {
			want = append(want, i.Type)
		}
	}
	var got []string
	last, ended := after, false
	for i, f := range frames {
		if !known[f.ID] || f.Sequence < last {
			t.Errorf("frame %d has id %s after %d", i, f.ID, last)
		}
		if f.EventType != "snapshot" && i < len(frames)-2 {
			got = append(got, f.EventType)
		}
		if ended && !f.Terminal || f.Terminal != run.Status(f.Run.Status).Terminal() {
			t.Errorf("frame %d: terminal %v, run %s", i, f.Terminal, f.Run.Status)
		}
		last, ended = f.Sequence, f.Terminal
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-list +stream):\n%s", diff)
	}
	if len(frames) < 2 {
		t.Fatalf("%d frames", len(frames))
	}
	snapshot, done := frames[len(frames)-2], frames[len(frames)-1]
	if snapshot.Event != "snapshot" || done.Event != "done" || snapshot.Data != done.Data || !done.Terminal || done.Sequence == 0 {
		t.Errorf("the end: %s %s", snapshot.Event, done.Event)
	}
	for _, a := range done.Approvals {
		if a.Status == "pending" {
			t.Error("a pending approval at the end")
		}
	}
	for _, st := range done.Steps {
		if st.Status == "running" || st.Status == "awaiting_approval" {
			t.Errorf("step %s is %s at the end", st.ID, st.Status)
		}
	}
	if len(done.Activity) == 0 || done.Activity[len(done.Activity)-1].Type != "run_result" {
		t.Errorf("activity %+v", done.Activity)
	}
}

func TestStreamOfFinishedRun(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	apitest.Story(t, s.Store)
	path := base + "/tasks/" + apitest.TaskID + "/runs/" + apitest.RunID
	resp, frames := s.Subscribe(t.Context(), t, path+"/stream")
	defer resp.Body.Close()
	all := untilEnd(t, frames)
	check(t, s, path, 0, all)
	last := all[len(all)-1]
	if last.EventType != "run.finished" || len(last.Steps) == 0 || len(last.Artifacts) == 0 || len(last.Approvals) != 1 {
		t.Errorf("done: %s with %d steps", last.EventType, len(last.Steps))
	}
	i := slices.IndexFunc(all, func(f runFrame) bool { return f.EventType == "model.call.completed" })
	if m := all[i].ModelCall; m == nil || m.ModelCallIndex != 2 || m.CostMicroUSD != 12 || m.ToolCalls != 3 || all[i].Terminal {
		t.Errorf("model call %+v", m)
	}
	// Coming back at the end: one snapshot and done, both with the cursor.
	resp, frames = s.Subscribe(t.Context(), t, path+"/stream", "Last-Event-ID", last.ID)
	defer resp.Body.Close()
	again := untilEnd(t, frames)
	check(t, s, path, last.Sequence, again)
	if len(again) != 2 || again[0].ID != last.ID || again[1].ID != last.ID {
		t.Errorf("%d frames", len(again))
	}
	// A caller's event after the end has its own frame.
	posted := s.Do(t, "POST", path+"/events", `{"type":"ci.late"}`)
	posted.Data(t, new(apitest.Item))
	resp, frames = s.Subscribe(t.Context(), t, path+"/stream?after_sequence="+last.ID, "Last-Event-ID", "1")
	defer resp.Body.Close()
	late := untilEnd(t, frames)
	check(t, s, path, last.Sequence, late)
	if len(late) != 3 || late[0].EventType != "ci.late" || !late[0].Terminal {
		t.Errorf("%+v", late)
	}
	head, _ := s.Store.Head(t.Context())
	if head != late[0].Sequence {
		t.Error("a stream wrote to the log")
	}
}

// The end of a run reaches its followers in every case, with everything agreeing.
func TestStreamFollowsToTheEnd(t *testing.T) {
	meta := commands.Meta{}
	for name, end := range map[string]func(*testing.T, *apitest.Server, *run.State){
		"completed": func(t *testing.T, s *apitest.Server, st *run.State) {
			advance(t, s, st, run.Started{Kind: run.Orchestrator}, run.Finished{FinalStatus: run.StatusCompleted})
		},
		"failed": func(t *testing.T, s *apitest.Server, st *run.State) {
			advance(t, s, st, run.Started{Kind: run.Orchestrator}, run.Failed{Code: "run_failed", Message: "exit status 7"})
		},
		"cancelled": func(t *testing.T, s *apitest.Server, st *run.State) {
			if _, err := s.X.CancelRun(t.Context(), meta, st.TaskID, st.ID, "enough"); err != nil {
				t.Fatal(err)
			}
		},
		"rejected": func(t *testing.T, s *apitest.Server, st *run.State) {
			_, err := s.X.ResolveApproval(t.Context(), meta, st.TaskID, run.Resolution{ApprovalID: st.Approval.ApprovalID, Decision: "reject"})
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { followToTheEnd(t, name, end) })
		})
	}
}

func followToTheEnd(t *testing.T, name string, end func(*testing.T, *apitest.Server, *run.State)) {
	o := apitest.Options{Pipes: true}
	want := name
	if name == "cancelled" || name == "rejected" {
		o.Policies = []permission.Policy{permission.PolicyShell}
		want = "cancelled"
	}
	s := apitest.Start(t, o)
	id := s.Task(t, map[string]any{"execution_kind": "shell", "shell_command": "true"})
	runID := s.StartRun(t, id)
	path := base + "/tasks/" + id + "/runs/" + runID
	resp, frames := s.Subscribe(t.Context(), t, path+"/stream")
	defer resp.Body.Close()
	var all []runFrame
	for len(all) == 0 || all[len(all)-1].EventType != "snapshot" {
		f, err := nextRun(t, frames)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	time.Sleep(10 * time.Second)
	st, err := s.X.LoadRun(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	end(t, s, st)
	all = append(all, untilEnd(t, frames)...)
	if d := time.Since(began); d > time.Second {
		t.Errorf("the end came after %v", d)
	}
	check(t, s, path, 0, all)
	done := all[len(all)-1]
	if done.Event != "done" || done.Run.Status != want || len(o.Policies) != len(done.Approvals) {
		t.Errorf("done: %+v", done.shown)
	}
	var task, r apitest.Item
	s.Do(t, "GET", base+"/tasks/"+id, nil).Data(t, &task)
	s.Do(t, "GET", path, nil).Data(t, &r)
	if task.Status != want || r.Status != want {
		t.Errorf("afterwards the task is %s, the run %s", task.Status, r.Status)
	}
}

// What was appended together with the end of a run comes before the last frame, however
// much it is.
func TestTheEndComesLast(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	beginRun(t, s, "t", "r")
	resp, frames := s.Subscribe(t.Context(), t, runStream)
	defer resp.Body.Close()
	for {
		if f, err := nextRun(t, frames); err != nil || f.EventType == "snapshot" { // it follows what the hub hands out
			break
		}
	}
	together := []event.Payload{run.Finished{FinalStatus: run.StatusCompleted}}
	for range 400 {
		together = append(together, run.TaskUpdated{})
	}
	apitest.Append(t, s.Store, "run-r", together...)
	check(t, s, base+"/tasks/t/runs/r", 6, untilEnd(t, frames))
}

func advance(t *testing.T, s *apitest.Server, st *run.State, payloads ...event.Payload) {
	t.Helper()
	if _, err := s.X.Advance(t.Context(), commands.Meta{}, st, payloads...); err != nil {
		t.Fatal(err)
	}
}

// typing is progress that a test drives.
type typing struct {
	mu      sync.Mutex
	text    string
	version int64
	changed chan struct{}
}

func (p *typing) Partial(string) (string, int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text, p.version
}

func (p *typing) Changed(string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *typing) add(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text += text
	p.version++
	close(p.changed)
	p.changed = make(chan struct{})
}

// Text shows up in the conversation while it streams, under the newest event's id.
func TestStreamShowsHalfAnAnswer(t *testing.T) {
	p := &typing{changed: make(chan struct{})}
	s := apitest.Start(t, apitest.Options{Progress: p})
	id := s.Task(t, nil)
	runID := s.StartRun(t, id)
	st, err := s.X.LoadRun(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	advance(t, s, st, run.Started{Kind: run.Orchestrator},
		run.ConversationSeeded{Messages: []run.Message{{Role: run.RoleUser, Content: event.NewText("go")}}},
		run.ModelCallStarted{ModelCallIndex: 1, StepID: st.NextStepID(), Model: "m"})
	path := base + "/tasks/" + id + "/runs/" + runID
	resp, frames := s.Subscribe(t.Context(), t, path+"/stream?after_sequence=1")
	defer resp.Body.Close()
	shows := func(want string) {
		t.Helper()
		for {
			f, err := nextRun(t, frames)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(f.Artifacts, func(a projections.Artifact) bool { return a.Kind == "agent_conversation" })
			if i >= 0 && strings.Contains(f.Artifacts[i].ContentText, want) {
				if f.EventType != "snapshot" || f.Artifacts[i].Status != "streaming" {
					t.Errorf("%s %s", f.EventType, f.Artifacts[i].Status)
				}
				return
			}
		}
	}
	p.add("Half an ")
	shows("Half an ")
	p.add("answer")
	shows("Half an answer")
	advance(t, s, st, run.Finished{FinalStatus: run.StatusCompleted})
	if all := untilEnd(t, frames); all[len(all)-1].Event != "done" {
		t.Error("no end")
	}
}
