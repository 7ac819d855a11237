package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hecate/api/apitest"
	v1 "hecate/api/v1"
	"hecate/projections/audit"
	"hecate/projections/runs"
)

const erasePath = base + "/audit/erasures"

// written are texts of the story that somebody has written, and that answers show.
var written = []string{"tell it", "be brief", "a long line of output", "I had better look", "{pattern", "command_bytes=10", "/tmp/ws/a"}

// allShown is all that the API says about the story.
func allShown(t *testing.T, s *apitest.Server) string {
	t.Helper()
	head, err := s.Store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Models.WaitFor(t.Context(), head, runs.Name, audit.Name); err != nil {
		t.Fatal(err)
	}
	task, run := base+"/tasks/"+apitest.TaskID, base+"/tasks/"+apitest.TaskID+"/runs/"+apitest.RunID
	var all strings.Builder
	for _, path := range []string{
		task, task + "/runs", run, run + "/steps", run + "/artifacts", run + "/patches", run + "/events?limit=500",
		task + "/approvals", base + "/events?limit=500", auditPath + "?limit=500", auditPath + "?path=/tmp/ws/",
		base + "/audit/tasks/" + apitest.TaskID, base + "/audit/runs/" + apitest.RunID + "?as_of=60", base + "/usage/events",
	} {
		a := s.Do(t, "GET", path, nil)
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		all.Write(a.Body)
		all.WriteString("\n")
	}
	return all.String()
}

// After an erasure no answer says what was erased, and all say that it was there.
func TestErase(t *testing.T) {
	for name, body := range map[string]string{
		"task": fmt.Sprintf(`{"task_id":%q,"reason":"asked by its author"}`, apitest.TaskID),
		"run":  fmt.Sprintf(`{"run_id":%q,"reason":"asked by its author"}`, apitest.RunID),
	} {
		t.Run(name, func(t *testing.T) {
			s := story(t)
			before := allShown(t, s)
			for _, w := range written {
				if !strings.Contains(before, w) {
					t.Fatalf("%q is shown nowhere", w)
				}
			}
			a := s.Do(t, "POST", erasePath, body)
			var done struct {
				Object string
				Data   struct {
					Erasures          []int64
					Records, Contents int
				}
			}
			decodeInto(t, a.Body, &done)
			if a.Status != http.StatusOK || done.Object != "erasure" || len(done.Data.Erasures) != 1 || done.Data.Records < 30 || done.Data.Contents < 1 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			after := allShown(t, s)
			for _, w := range written {
				if name == "run" && w == "tell it" {
					continue // the task says it, too
				}
				if i := strings.Index(after, w); i >= 0 {
					t.Errorf("%q is still shown: …%.200s", w, after[max(0, i-300):])
				}
			}
			for _, want := range []string{
				fmt.Sprintf(`"erased_by":%d`, done.Data.Erasures[0]), `"type":"log.erased"`, "asked by its author", "[erased]", `"decision":"approved"`, "shell_exec",
			} {
				if !strings.Contains(after, want) {
					t.Errorf("%s is shown nowhere", want)
				}
			}
			if a := s.Do(t, "POST", erasePath, body); !strings.Contains(string(a.Body), `"erasures":[]`) {
				t.Errorf("again: %s", a.Body)
			}
		})
	}
}

// A stream that begins after it, beside one that was there before, has nothing of what was erased.
func TestEraseFromStreams(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	first, early := s.Subscribe(t.Context(), t, base+"/events/stream?after_sequence=0")
	defer first.Body.Close()
	apitest.Story(t, s.Store)
	for range 20 {
		if _, err := early.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if a := s.Do(t, "POST", erasePath, fmt.Sprintf(`{"task_id":%q,"reason":"r"}`, apitest.TaskID)); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	second, late := s.Subscribe(t.Context(), t, base+"/events/stream?after_sequence=0")
	defer second.Body.Close()
	for range 40 {
		f, err := late.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range written {
			if strings.Contains(f.Data, w) {
				t.Errorf("%q is in %.300s", w, f.Data)
			}
		}
	}
}

func TestEraseRefusals(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Sandbox: "bwrap", Proof: v1.ProofAuto})
	apitest.Story(t, s.Store)
	if a := s.Do(t, "POST", erasePath, `{"task_id":"task_1","reason":"r"}`); a.Status != http.StatusForbidden {
		t.Errorf("without a token: %d %s", a.Status, a.Body)
	}
	s = story(t)
	for body, want := range map[string]int{
		`{}`: 400, `{"reason":"r"}`: 400, `{"task_id":"a","run_id":"b","reason":"r"}`: 400, fmt.Sprintf(`{"task_id":%q}`, apitest.TaskID): 400,
		`{"task_id":"task_none","reason":"r"}`: 404, `{"run_id":"run_none","reason":"r"}`: 404, `{"sequences":[99999],"reason":"r"}`: 404, `{"sequences":[0],"reason":"r"}`: 404,
		`{"sequences":"all","reason":"r"}`: 400,
	} {
		if a := s.Do(t, "POST", erasePath, body); a.Status != want {
			t.Errorf("%s: %d %s, want %d", body, a.Status, a.Body, want)
		}
	}
}
