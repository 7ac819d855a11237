//go:build linux

package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hecate/runtime/model/scripted"
)

// server is a hecate process on data of its own, with a scripted model.
type server struct {
	addr, dir string
	env       []string
	model     *model
	cmd       *exec.Cmd
	exited    chan struct{}
}

var servers atomic.Int64

// serve starts a server of the test's own.
func serve(t *testing.T, env ...string) *server {
	t.Helper()
	s, err := newServer(env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

var shared struct {
	once   sync.Once
	server *server
	err    error
}

// common is the server that most tests use. It asks before writes and commands.
func common(t *testing.T) *server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = newServer(nil) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

func stopShared() {
	if shared.server != nil {
		shared.server.stop()
	}
}

func newServer(env []string) (*server, error) {
	m, err := startModel()
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{addr: ln.Addr().String(), dir: filepath.Join(root, fmt.Sprintf("s%d", servers.Add(1))), model: m}
	if err := ln.Close(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "tmp"), 0o755); err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	s.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + filepath.Join(s.dir, "tmp"), "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1",
		"HECATE_ADDRESS=" + s.addr, "HECATE_DATA_DIR=" + data, "HECATE_SQLITE_PATH=" + filepath.Join(data, "hecate.db"),
		"HECATE_OPERATOR_TOKEN_REQUIRED=never", "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS=500",
		"PROVIDER_FAKE_BASE_URL=" + m.url, "PROVIDER_FAKE_API_KEY=x", "PROVIDER_FAKE_KIND=local", "PROVIDER_FAKE_MODELS=" + scripted.ModelName,
		"PROVIDER_FAKE_PRECONFIGURED=1",
	}, env...)
	return s, s.start()
}

// start runs the binary and returns when it is healthy.
func (s *server) start() error {
	out, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	s.cmd = exec.Command(binary, "serve")
	s.cmd.Env, s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.env, s.dir, out, out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	cmd, exited := s.cmd, make(chan struct{})
	s.exited = exited
	go func() { _ = cmd.Wait(); close(exited) }() // how it ends is seen in what it answers
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if r, err := http.Get("http://" + s.addr + "/healthz"); err == nil {
			_ = r.Body.Close() // only the status counts
			if r.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	printed, _ := os.ReadFile(filepath.Join(s.dir, "log")) // no file: nothing was printed
	return fmt.Errorf("the server is not healthy after %v:\n%s", patience, printed)
}

// kill ends the process, as a crash would.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.exited
}

func (s *server) stop() {
	s.kill()
	s.model.stop()
}

// send calls the API as a client does and returns the data of the answer.
func (s *server) send(t *testing.T, method, path string, body any) map[string]any {
	t.Helper()
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.addr+"/hecate/v1"+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	var answer struct{ Data json.RawMessage }
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: status %d, %v: %s", method, path, r.StatusCode, err, text)
	}
	var out map[string]any
	if json.Unmarshal(answer.Data, &out) != nil { // a list
		var list []any
		_ = json.Unmarshal(answer.Data, &list) // looked at by the caller
		out = map[string]any{"list": list}
	}
	return out
}

// run creates a task and starts it. It returns the path of the run, of the API and of
// its page alike.
func (s *server) run(t *testing.T, task map[string]any) string {
	t.Helper()
	id := s.send(t, "POST", "/tasks", task)["id"].(string)
	r := s.send(t, "POST", "/tasks/"+id+"/start", nil)
	return "/tasks/" + id + "/runs/" + r["id"].(string)
}

// agent is a task for the scripted model, in a small project.
func (s *server) agent(t *testing.T, c conversation, more ...string) map[string]any {
	t.Helper()
	task := map[string]any{"execution_kind": "agent_loop", "prompt": s.model.script(c), "working_directory": project(t), "timeout_ms": 120_000, "budget_micros_usd": 50000}
	for _, pair := range more {
		name, text, _ := strings.Cut(pair, "=")
		task[name] = text
	}
	return task
}

// project is a directory with one file.
func project(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "greet")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "package greet\n\n// Greet says hello to somebody.\nfunc Greet(name string) string {\n\treturn \"Hello \" + name\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "greet.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
