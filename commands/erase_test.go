package commands_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hecate/commands"
	"hecate/domain/erasure"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/eventstore"
)

// personal is what somebody wants to have erased.
const personal = "PERSONAL DATA"

// long is too long to stand in an event.
var long = strings.Repeat(personal, 5000)

// ended makes a task about personal data, with a run that was cancelled.
func ended(t *testing.T, x *commands.Executor, prompt string) (taskID, runID string) {
	t.Helper()
	d := agent()
	d.Title, d.Prompt = personal, event.NewText(prompt)
	taskID = newTask(t, x, d)
	r, err := x.StartRun(t.Context(), commands.Meta{}, taskID, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.PostEvent(t.Context(), commands.Meta{}, commands.PostEvent{TaskID: taskID, RunID: r.RunID, Type: "ci.done", Data: map[string]any{"who": personal}}); err != nil {
		t.Fatal(err)
	}
	if _, err := x.CancelRun(t.Context(), commands.Meta{}, taskID, r.RunID, personal); err != nil {
		t.Fatal(err)
	}
	return taskID, r.RunID
}

// all reads the log with its contents and says what of it is about personal data.
func all(t *testing.T, x *commands.Executor) (records []eventstore.Record, personalIn []int64) {
	t.Helper()
	records, err := x.Store.ReadAll(t.Context(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		found := bytes.Contains(r.Data, []byte(personal))
		_, err := event.Decode(r.Type, r.Schema, r.Data, func(ref event.Ref) ([]byte, error) {
			b, err := x.Store.Blob(t.Context(), ref.Digest)
			found = found || bytes.Contains(b, []byte(personal))
			return b, err
		})
		if err != nil {
			t.Errorf("record %d: %v", r.Position, err)
		}
		if err := eventstore.Verify(r); err != nil {
			t.Error(err)
		}
		if found {
			personalIn = append(personalIn, r.Position)
		}
	}
	return records, personalIn
}

func TestErase(t *testing.T) {
	for name, ask := range map[string]func(taskID, runID string, positions []int64) commands.EraseRequest{
		"task": func(taskID, _ string, _ []int64) commands.EraseRequest { return commands.EraseRequest{TaskID: taskID} },
		"records": func(_, _ string, positions []int64) commands.EraseRequest {
			return commands.EraseRequest{Positions: positions}
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newExecutor(t)
			taskID, runID := ended(t, x, long)
			other, _ := ended(t, x, long)
			_, found := all(t, x)
			if len(found) != 8 {
				t.Fatalf("personal data in %v", found)
			}
			q := ask(taskID, runID, found[:4])
			q.Reason = "asked by its author"
			actor := eventstore.Actor{Kind: "operator", Name: "ada"}
			done, err := x.Erase(t.Context(), commands.Meta{Actor: actor}, q)
			if err != nil || len(done.Erasures) != 1 || done.Records < 4 || done.Contents != 1 {
				t.Fatalf("%+v, %v", done, err)
			}
			records, left := all(t, x)
			if len(left) != 4 || left[0] != found[4] {
				t.Errorf("personal data in %v, before in %v", left, found)
			}
			last := records[len(records)-1]
			p, err := event.Decode(last.Type, last.Schema, last.Data, nil)
			if e, ok := p.(erasure.Erased); err != nil || !ok || e.Rule != "request" || e.Reason != q.Reason || len(e.Records) != done.Records || e.TaskIDs[0] != taskID || last.Actor != actor {
				t.Errorf("%+v, %v", p, err)
			}
			if again, err := x.Erase(t.Context(), commands.Meta{}, q); err != nil || len(again.Erasures) != 0 {
				t.Errorf("again: %+v, %v", again, err)
			}
			s, err := x.LoadRun(t.Context(), runID)
			if err != nil || s.Status != run.StatusCancelled {
				t.Errorf("the run folds to %+v, %v", s, err)
			}
			if _, err := x.StartRun(t.Context(), commands.Meta{}, taskID, run.Ahead{}); !isKind(err, fault.KindConflict) {
				t.Errorf("a new run of it: %v", err)
			}
			if _, err := x.StartRun(t.Context(), commands.Meta{}, other, run.Ahead{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// One run is erased, and the task can still be gone on with.
func TestEraseRun(t *testing.T) {
	x := newExecutor(t)
	taskID, runID := ended(t, x, personal)
	if _, err := x.Erase(t.Context(), commands.Meta{}, commands.EraseRequest{RunID: runID, Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	if _, left := all(t, x); len(left) != 1 {
		t.Errorf("personal data in %v, want the task's text only", left)
	}
	if _, err := x.ResumeRun(t.Context(), commands.Meta{}, commands.ResumeRun{TaskID: taskID, RunID: runID}); err != nil {
		t.Errorf("resume: %v", err)
	}
}

func TestEraseRefusals(t *testing.T) {
	x := newExecutor(t)
	taskID, runID := ended(t, x, long)
	open := newTask(t, x, agent())
	started, err := x.StartRun(t.Context(), commands.Meta{}, open, run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Erase(t.Context(), commands.Meta{}, commands.EraseRequest{RunID: runID, Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	first, err := x.Store.ReadStream(t.Context(), commands.RunStream(started.RunID), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	head, err := x.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		q    commands.EraseRequest
		kind fault.Kind
	}{
		"no reason":               {commands.EraseRequest{TaskID: taskID, Reason: " "}, fault.KindInvalid},
		"a long reason":           {commands.EraseRequest{TaskID: taskID, Reason: strings.Repeat("r", erasure.ReasonMax+1)}, fault.KindInvalid},
		"no such task":            {commands.EraseRequest{TaskID: "task_none", Reason: "r"}, fault.KindNotFound},
		"no such run":             {commands.EraseRequest{RunID: "run_none", Reason: "r"}, fault.KindNotFound},
		"no such record":          {commands.EraseRequest{Positions: []int64{head + 1}, Reason: "r"}, fault.KindNotFound},
		"an erasure":              {commands.EraseRequest{Positions: []int64{head}, Reason: "r"}, fault.KindInvalid},
		"an open task":            {commands.EraseRequest{TaskID: open, Reason: "r"}, fault.KindConflict},
		"an open run":             {commands.EraseRequest{RunID: started.RunID, Reason: "r"}, fault.KindConflict},
		"no such operation":       {commands.EraseRequest{TaskID: taskID, Operations: []string{"op_none"}, Reason: "r"}, fault.KindNotFound},
		"a record of an open run": {commands.EraseRequest{Positions: []int64{first[0].Position}, Reason: "r"}, fault.KindConflict},
	} {
		if _, err := x.Erase(t.Context(), commands.Meta{}, c.q); !isKind(err, c.kind) {
			t.Errorf("%s: %v, want a fault of the kind %s", name, err, c.kind)
		}
	}
}

// Much is erased in several pieces, each with an event of its own, and by several at once
// only once.
func TestEraseMuch(t *testing.T) {
	x := newExecutor(t)
	taskID, runID := ended(t, x, long)
	for i := range erasure.RecordsMax + 200 {
		if _, err := x.PostEvent(t.Context(), commands.Meta{}, commands.PostEvent{TaskID: taskID, RunID: runID, Type: "ci.step", Data: map[string]any{"n": fmt.Sprint(personal, i)}}); err != nil {
			t.Fatal(err)
		}
	}
	results := make([]commands.EraseResult, 3)
	errs := make([]error, len(results))
	atOnce(len(results), func(i int) {
		results[i], errs[i] = x.Erase(t.Context(), commands.Meta{}, commands.EraseRequest{TaskID: taskID, Reason: "r"})
	})
	records, left := all(t, x)
	erased, events := 0, 0
	for _, r := range records {
		if r.Erased != 0 {
			erased++
		}
		if r.Type == erasure.Type {
			events++
		}
	}
	said, pieces := 0, 0
	for i, r := range results {
		if errs[i] != nil && !isKind(errs[i], fault.KindConflict) {
			t.Error(errs[i])
		}
		said, pieces = said+r.Records, pieces+len(r.Erasures)
	}
	if len(left) > 0 || erased != said || events != pieces || events < 2 {
		t.Errorf("%d records are erased, the answers say %d; %d events, the answers say %d; left: %v", erased, said, events, pieces, left)
	}
}
