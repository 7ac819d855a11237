//go:build linux

package blackbox_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// collected keeps what is sent to it.
type collected struct {
	mu   sync.Mutex
	all  bytes.Buffer
	gone map[string]bool // paths that were called
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		if z, err := gzip.NewReader(r.Body); err == nil {
			body = z
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.Copy(&c.all, body) // what is cut off is looked at as far as it came
	c.gone[r.URL.Path] = true
	w.WriteHeader(http.StatusOK)
}

func (c *collected) text() string { c.mu.Lock(); defer c.mu.Unlock(); return c.all.String() }

// The secrets that the server holds are planted wherever an agent, a program, a website, a
// caller or an operator could bring them up. Nothing that is recorded, shown or handed on has
// one, but says that it was there.
func TestSecretsAreRecordedNowhere(t *testing.T) {
	t.Parallel()
	planted := map[string]string{
		"PROVIDER_FAKE_API_KEY": "sk-planted-Aa1Bb2Cc3Dd4Ee5", "HECATE_RUNTIME_TOKEN": "rt-planted-0123456789abcdefXY", "HECATE_WEBHOOK_SECRET": "wh-planted-secret-9876543210qwerty",
		"MY_DB_PASSWORD": "pa\"ss/planted+77",
	}
	telemetry := &collected{gone: map[string]bool{}}
	collector := httptest.NewServer(telemetry)
	t.Cleanup(collector.Close)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"echo":%q,"other":"%s"}`, planted["MY_DB_PASSWORD"], planted["PROVIDER_FAKE_API_KEY"])
	}))
	t.Cleanup(site.Close)
	env := []string{
		"HECATE_TASK_APPROVAL_POLICIES=shell_exec", "HECATE_TASK_HTTP_ALLOW_PRIVATE_IPS=true", "HECATE_WEBHOOK_URL=" + collector.URL + "/hook", "HECATE_OTEL_ENDPOINT=" + collector.URL,
		"HECATE_OTEL_TRACES_ENABLED=true", "HECATE_OTEL_LOGS_ENABLED=true", "HECATE_OTEL_METRICS_ENABLED=true", "LOG_LEVEL=DEBUG",
	}
	for name, value := range planted {
		env = append(env, name+"="+value)
	}
	s := serveWithToken(t, planted["HECATE_RUNTIME_TOKEN"], env...)
	planted["operator"] = s.header.Get("X-Hecate-Operator-Token")
	all := strings.Join([]string{planted["PROVIDER_FAKE_API_KEY"], planted["HECATE_RUNTIME_TOKEN"], planted["HECATE_WEBHOOK_SECRET"], planted["MY_DB_PASSWORD"], planted["operator"]}, " ")

	dir := t.TempDir()
	dotenv := "KEY=" + all + "\n"
	write(t, filepath.Join(dir, ".env"), dotenv)
	write(t, filepath.Join(dir, "large"), strings.Repeat(strings.Repeat("x", 90)+" "+all+"\n", 400))
	feed := followAll(t, s)
	key := planted["PROVIDER_FAKE_API_KEY"]
	r, c := s.agentRun(t, []reply{
		{Text: "I use " + key + " for this.", Calls: asks(
			call("c1", "read_file", args{"path": ".env"}), call("c2", "grep", args{"pattern": "KEY"}),
			shell("c3", "cat .env large; base64 -w0 .env; printf "+key[:9]+"; sleep 0.2; printf "+key[9:]+"; echo $MY_DB_PASSWORD >&2; cat .env >&2; cp .env copy"),
			call("c4", "http_request", args{"url": site.URL}), call("c5", "file_write", args{"path": "out.txt", "content": "a " + all + " b"}),
			call("c6", "git_exec", args{"command": "diff --no-index .env out.txt"}), call("c7", key, args{}),
		).Calls},
		{Text: "It was " + all + " all along."},
	}, in(dir), args{"sandbox_network": true, "title": "With " + all, "system_prompt": "Use " + all})
	direct := s.begin(t, sh("cat .env"), in(dir), args{"prompt": all})
	for _, one := range []run{r, direct} {
		asked := one.parked(t)
		s.ask(t, "POST", one.taskPath()+"/approvals/"+asked.str("id")+"/resolve", args{"decision": "approve", "note": "take " + all}).ok(t)
		one.becomes(t, "completed")
		s.ask(t, "POST", one.path()+"/events", args{"type": "note.added", "note": all, "data": args{key: []any{all}}}, "X-Request-Id", key, "Idempotency-Key", key).ok(t)
	}
	s.preset(t, args{"name": "preset", "description": "for " + all, "instructions": all})
	s.ask(t, "GET", api+"/tasks/"+key, nil, "X-Request-Id", key)

	shown := everythingShown(t, s, r, direct)
	for _, marker := range []string{"[secret PROVIDER_FAKE_API_KEY]", "[secret HECATE_RUNTIME_TOKEN]", "[secret HECATE_WEBHOOK_SECRET]", "[secret MY_DB_PASSWORD]", "[secret operator:"} {
		contains(t, "what is shown", shown["GET "+r.path()+"/artifacts"], marker)
		contains(t, "what the model is told", c.request(t, 1).raw, marker)
	}
	shown["the model's requests"] = c.request(t, 0).raw + c.request(t, 1).raw
	shown["the export"] = exported(t, s, r)
	foundBySecret(t, s, r)
	contains(t, "the log of the server", s.whole(), `"request.id":"[secret PROVIDER_FAKE_API_KEY]"`)
	eventually(t, "telemetry arrives", func() bool {
		return strings.Contains(telemetry.text(), "[secret PROVIDER_FAKE_API_KEY]") && strings.Contains(telemetry.text(), r.id)
	})
	s.terminate(t)
	shown["what was followed"], shown["telemetry and webhooks"], shown["the log of the server"] = feed(), telemetry.text(), s.whole()
	stored(t, s.dir, shown)
	for name, value := range planted {
		for what, text := range shown {
			for _, form := range []string{value, strings.ReplaceAll(value, `"`, `\"`), strings.ReplaceAll(value, `"`, `\\\"`), base64.StdEncoding.EncodeToString([]byte(dotenv))[:80]} {
				if i := strings.Index(text, form); i >= 0 {
					t.Errorf("%s has %s: %q", what, name, text[max(0, i-200):min(len(text), i+200)])
				}
			}
		}
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "copy")); err != nil || string(raw) != dotenv {
		t.Errorf("what the command has copied is %q, %v", raw, err)
	}
}

// serveWithToken is serve of a server that wants the runtime token.
func serveWithToken(t *testing.T, token string, env ...string) *server {
	t.Helper()
	s, err := prepare(env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.model.stop)
	t.Cleanup(s.end)
	s.header.Set("X-Hecate-Runtime-Token", token)
	s.start(t)
	return s
}

// whole is all that the process has printed.
func (s *server) whole() string {
	raw, _ := os.ReadFile(s.log) // no file: nothing was printed
	return string(raw)
}

// followAll gathers the bytes of the stream of all runs until the test asks for them.
func followAll(t *testing.T, s *server) func() string {
	t.Helper()
	f := s.follow(t, patience, api+"/events/stream")
	var all bytes.Buffer
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(&all, f.in) }() // it ends with the server
	return func() string { f.close(); <-done; return all.String() }
}

// everythingShown is what the API answers about the runs.
func everythingShown(t *testing.T, s *server, runs ...run) map[string]string {
	t.Helper()
	paths := []string{
		api + "/tasks", api + "/approvals", api + "/events", api + "/audit/events?limit=500", api + "/audit/events?format=jsonl", api + "/agent-presets", api + "/usage/events",
		api + "/usage/summary", api + "/providers/status", api + "/providers/history", api + "/traces", api + "/system/projections",
	}
	for _, r := range runs {
		paths = append(paths, r.taskPath(), r.taskPath()+"/approvals", r.path(), r.path()+"/steps", r.path()+"/artifacts", r.path()+"/events", r.path()+"/patches", api+"/audit/runs/"+r.id, api+"/audit/tasks/"+r.task, r.taskPath()+"/runs", r.taskPath()+"/artifacts")
	}
	out := map[string]string{}
	for _, p := range paths {
		out["GET "+p] = string(s.ask(t, "GET", p, nil).ok(t).body)
	}
	for _, r := range runs {
		f := s.follow(t, patience, r.path()+"/stream")
		var all strings.Builder
		for _, frame := range f.rest(t) {
			all.WriteString(frame.data)
		}
		out["stream of "+r.id] = all.String()
	}
	return out
}

// exported is what "hecate audit export" writes about a run.
func exported(t *testing.T, s *server, r run) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.zip")
	var out []byte
	eventually(t, "the run is exported", func() bool { // once its end is sealed
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		cmd := exec.CommandContext(ctx, binary, "audit", "export", "--run", r.id, "-o", file, "--log", s.dir)
		cmd.Env = s.env
		var err error
		out, err = cmd.CombinedOutput()
		return err == nil
	})
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer z.Close()
	var all bytes.Buffer
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(&all, in)
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// foundBySecret asks the history where a secret turned up.
func foundBySecret(t *testing.T, s *server, r run) {
	t.Helper()
	types := func(secret string) map[string]bool {
		out := map[string]bool{}
		for _, e := range s.list(t, api+"/audit/events?limit=500&run_id="+r.id+"&secret="+secret) {
			out[e.str("type")] = true
		}
		return out
	}
	key := types("PROVIDER_FAKE_API_KEY")
	for _, want := range []string{"model.response.recorded", "tool.shell.output_chunk", "tool.dispatch.settled", "approval.resolved", "note.added"} {
		if !key[want] {
			t.Errorf("no %s among what the key was withheld from: %v", want, key)
		}
	}
	if named := types("MY_DB_PASSWORD"); !named["tool.dispatch.intended"] {
		t.Errorf("the call that names the variable is not found: %v", named)
	}
	if none := types("NO_SUCH_KEY"); len(none) != 0 {
		t.Errorf("%v", none)
	}
	for _, e := range s.list(t, api+"/audit/events?limit=500&event_type=tool.shell.output_chunk&secret=MY_DB_PASSWORD&run_id="+r.id) {
		contains(t, "event", fmt.Sprint(e["secrets_withheld"]), "MY_DB_PASSWORD")
	}
}

// stored adds the files of the data directory, but for those that hold secrets by their nature.
func stored(t *testing.T, dir string, to map[string]string) {
	t.Helper()
	databases := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "operator.token" || d.Name() == "audit.key" {
			return err
		}
		raw, err := os.ReadFile(path)
		to["file "+d.Name()] = string(raw)
		if strings.Contains(d.Name(), ".db") {
			databases++
		}
		return err
	})
	if err != nil || databases < 2 {
		t.Errorf("%d databases, %v", databases, err)
	}
}
