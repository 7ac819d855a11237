package clienttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "generate the client anew")

// serve builds the program, starts it on the data of a directory and returns its address.
func serve(t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "hecate")
	build := exec.Command("go", "build", "-o", binary, "./cmd/hecate")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.Command(binary, "serve")
	server.Dir = dir
	server.Env = append(os.Environ(), "HECATE_ADDRESS=127.0.0.1:0", "HECATE_BACKEND=memory", "HECATE_DATA_DIR="+dir, "HECATE_TASK_APPROVAL_POLICIES=")
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil || t.Failed() {
			t.Logf("the server ended: %v\n%s", err, &log)
		}
	})
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var at struct {
			BaseURL string `json:"base_url"`
		}
		raw, err := os.ReadFile(filepath.Join(dir, "hecate.runtime.json"))
		if err == nil && json.Unmarshal(raw, &at) == nil && at.BaseURL != "" {
			return at.BaseURL
		}
	}
	t.Fatal("the server did not start")
	return ""
}

func TestGeneratedClient(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir)
	t.Run("is fresh", func(t *testing.T) { isFresh(t, url) })
	t.Run("creates, starts and follows a task", func(t *testing.T) { followsATask(t, url) })
	t.Run("proves who it is", func(t *testing.T) { provesWhoItIs(t, url, filepath.Join(dir, "operator.token")) })
}

// provesWhoItIs sends an operator's token, which the document declares beside the runtime's.
func provesWhoItIs(t *testing.T, url, file string) {
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		header, value, want string
	}{
		"nobody":      {"X-Request-Id", "mine", `"actor":{"kind":"client","verified":false}`},
		"a claim":     {"X-Hecate-Actor", "ci", `"actor":{"kind":"client","name":"ci","verified":false}`},
		"an operator": {"X-Hecate-Operator-Token", strings.TrimSpace(string(token)), `"actor":{"kind":"operator","name":`},
	} {
		client, err := NewClientWithResponses(url, WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set(c.header, c.value)
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		who, err := client.WhoAmIWithResponse(t.Context(), nil)
		if err != nil || who.StatusCode() != http.StatusOK || !strings.Contains(string(who.Body), c.want) {
			t.Errorf("%s: %v %s, want %s", name, err, who.Body, c.want)
		}
	}
}

// isFresh generates the client anew and compares.
func isFresh(t *testing.T, url string) {
	resp, err := http.Get(url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	document, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	spec, made := filepath.Join(dir, "openapi.json"), filepath.Join(dir, "client.gen.go")
	if err := os.WriteFile(spec, document, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "tool", "oapi-codegen", "-config", "config.yaml", "-o", made, spec).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("client.gen.go", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile("client.gen.go"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("client.gen.go is not what the document gives (%v); run go test -update", err)
	}
}

// followsATask runs a command through the generated client, from task to output.
func followsATask(t *testing.T, url string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c, err := NewClientWithResponses(url)
	if err != nil {
		t.Fatal(err)
	}
	kind, command := Shell, "echo it works"
	created, err := c.CreateTaskWithResponse(ctx, nil, CreateTaskRequest{ExecutionKind: &kind, ShellCommand: &command})
	if err != nil || created.JSON200 == nil {
		t.Fatalf("%v %s", err, created.Body)
	}
	task := created.JSON200.Data.Id
	key := "start it once"
	started, err := c.StartTaskWithResponse(ctx, task, &StartTaskParams{IdempotencyKey: &key}, StartTaskJSONRequestBody{})
	if err != nil || started.JSON200 == nil {
		t.Fatalf("%v %s", err, started.Body)
	}
	run := started.JSON200.Data.Id
	if again, err := c.StartTaskWithResponse(ctx, task, &StartTaskParams{IdempotencyKey: &key}, StartTaskJSONRequestBody{}); err != nil || again.JSON200 == nil || again.JSON200.Data.Id != run {
		t.Fatalf("started again: %v %s", err, again.Body)
	}
	stream, err := c.StreamRun(ctx, task, run, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	events, done := bufio.NewScanner(stream.Body), false
	events.Buffer(nil, 1<<20)
	for events.Scan() {
		done = done || events.Text() == "event: done"
	}
	if err := events.Err(); err != nil || !done {
		t.Fatalf("the stream ended without the end of the run: %v", err)
	}
	ended, err := c.GetRunWithResponse(ctx, task, run, nil)
	if err != nil || ended.JSON200 == nil || ended.JSON200.Data.Status != "completed" {
		t.Fatalf("%v %s", err, ended.Body)
	}
	made, err := c.ListRunArtifactsWithResponse(ctx, task, run, nil)
	if err != nil || made.JSON200 == nil {
		t.Fatalf("%v %s", err, made.Body)
	}
	var output strings.Builder
	for _, a := range made.JSON200.Data {
		if a.Kind == "stdout" && a.ContentText != nil {
			output.WriteString(*a.ContentText)
		}
	}
	if output.String() != "it works\n" {
		t.Errorf("output %q", output.String())
	}
	missing, err := c.GetTaskWithResponse(ctx, "nope", nil)
	if err != nil || missing.JSON404 == nil || missing.JSON404.Error.Type != "not_found" {
		t.Errorf("%v %s", err, missing.Body)
	}
	page, err := c.ListEventsWithResponse(ctx, &ListEventsParams{TaskId: &task})
	if err != nil || page.JSON200 == nil || len(page.JSON200.Data) == 0 || page.JSON200.NextAfterSequence == nil {
		t.Errorf("%v %s", err, page.Body)
	}
}
