package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/client"
)

func TestBadAddress(t *testing.T) {
	for _, base := range []string{"", "localhost:8765", "ftp://h", "http://", "::"} {
		if _, err := client.New(base, "", nil); err == nil {
			t.Errorf("New(%q) takes it", base)
		}
	}
}

func TestRequestsAndAnswers(t *testing.T) {
	var got string
	c, _ := client.New("http://h/", "", roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.RequestURI() + " " + string(body)
		res := answer(200, strings.NewReader(`{"object":"task","data":{"id":"task_1","status":"not_started","new_member":1}}`))
		res.Header.Set("Hecate-Position", "42")
		return res, nil
	}))
	task, position, err := c.CreateTask(t.Context(), client.NewTask{Prompt: "p", ExecutionKind: "agent_loop", WorkspaceMode: "ephemeral", WorkingDirectory: "/w"})
	if err != nil || task.ID != "task_1" || position != 42 {
		t.Fatalf("CreateTask = %+v, %d, %v", task, position, err)
	}
	want := `POST /hecate/v1/tasks {"prompt":"p","execution_kind":"agent_loop","workspace_mode":"ephemeral","working_directory":"/w"}`
	if got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	if _, err := c.Task(t.Context(), "../x y"); err != nil || got != "GET /hecate/v1/tasks/..%2Fx%20y " {
		t.Errorf("an odd id was sent as %s (%v)", got, err)
	}
}

func TestErrorsSayWhatAndWhatNext(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{409, `{"error":{"type":"invalid_request","message":"a run is active","operator_action":"cancel it first"}}`, "a run is active (409 invalid_request); cancel it first"},
		{400, `{"error":{"type":"x","message":"internal words","user_message":"plain words"}}`, "plain words (400 x)"},
		{404, "404 page not found", "the server answered Not Found (404 http_error)"},
		{302, "", "the server answered Found (302 http_error)"},
	} {
		h, _ := client.New("http://h", "", roundTrip(func(*http.Request) (*http.Response, error) {
			return answer(c.status, strings.NewReader(c.body)), nil
		}))
		_, err := h.Task(t.Context(), "task_1")
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Status != c.status || err.Error() != c.want {
			t.Errorf("status %d: %v, want %s", c.status, err, c.want)
		}
	}
}

func TestHealthTellsHecateFromOthers(t *testing.T) {
	for body, ok := range map[string]bool{`{"status":"ok","version":"v1"}`: true, `<html>`: false, `{"status":"starting"}`: false} {
		h, _ := client.New("http://h", "", roundTrip(func(*http.Request) (*http.Response, error) {
			return answer(200, strings.NewReader(body)), nil
		}))
		if _, err := h.Health(t.Context()); (err == nil) != ok {
			t.Errorf("healthz %s: %v", body, err)
		}
	}
}
