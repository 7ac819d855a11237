package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Answer is what a request got.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request; headers are name, value pairs. A body that is no string is
// sent as JSON.
func (s *Server) Do(t testing.TB, method, path string, body any, headers ...string) Answer {
	t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, r)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return Answer{resp.StatusCode, resp.Header, raw}
}

// Data reads the data of a successful answer into v and returns its object.
func (a Answer) Data(t testing.TB, v any) (object string) {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	e := struct {
		Object string `json:"object"`
		Data   any    `json:"data"`
	}{Data: v}
	if err := json.Unmarshal(a.Body, &e); err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
	return e.Object
}

// ErrorType returns the type of an error answer, "" if it is none.
func (a Answer) ErrorType() string {
	var e struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(a.Body, &e) != nil || e.Error.Message == "" {
		return ""
	}
	return e.Error.Type
}

// Item is the members that tests look at, of any resource.
type Item struct {
	ID        string `json:"id"`
	TaskID    string `json:"task_id"`
	RunID     string `json:"run_id"`
	Status    string `json:"status"`
	Number    int64  `json:"number"`
	LastError string `json:"last_error"`
	RequestID string `json:"request_id"`
	TraceID   string `json:"trace_id"`
	Sequence  int64  `json:"sequence"`
	Type      string `json:"type"`
}

// Task creates a task of an agent loop, or what body says.
func (s *Server) Task(t testing.TB, body any) string {
	t.Helper()
	if body == nil {
		body = map[string]any{"prompt": "do it", "execution_kind": "agent_loop"}
	}
	var task Item
	s.Do(t, "POST", "/hecate/v1/tasks", body).Data(t, &task)
	return task.ID
}

// StartRun starts a run of the task.
func (s *Server) StartRun(t testing.TB, taskID string) string {
	t.Helper()
	var r Item
	s.Do(t, "POST", "/hecate/v1/tasks/"+taskID+"/start", nil).Data(t, &r)
	return r.ID
}
