//go:build linux

package blackbox_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// server is one hecate process (or several, one after another, on the same data)
// with a scripted model of its own.
type server struct {
	*client
	model *fakeModel
	dir   string // data directory
	log   string // file with what the process prints
	env   []string
	wrap  []string // command line that starts the server; empty for none

	cmd    *exec.Cmd
	exited chan struct{}
}

var (
	servers  atomic.Int64
	nextPort atomic.Int64
)

// freePort hands out every port once, outside the range from which the system
// takes the local ports of connections.
func freePort() string {
	for {
		addr := fmt.Sprintf("127.0.0.1:%d", 12000+(int64(os.Getpid())*97+nextPort.Add(1))%18000)
		if ln, err := net.Listen("tcp", addr); err == nil {
			_ = ln.Close() // nothing was accepted
			return addr
		}
	}
}

// prepare makes a server that is not started yet, with a model of its own.
func prepare(env ...string) (*server, error) {
	model, err := startModel()
	if err != nil {
		return nil, err
	}
	return prepareWith(model, env...)
}

// prepareWith makes a server that is not started yet. NAME=VALUE pairs win over the
// settings that all servers share; the last of a name counts.
func prepareWith(model *fakeModel, env ...string) (*server, error) {
	dir := filepath.Join(root, fmt.Sprintf("s%d", servers.Add(1)))
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o755); err != nil {
		return nil, err
	}
	addr := freePort()
	s := &server{client: newClient("http://" + addr), model: model, dir: filepath.Join(dir, "data"), log: filepath.Join(dir, "log")}
	s.seen = &model.seen // servers that share a model share a log
	for i := range env { // =MODEL stands for the model's address
		env[i] = strings.Replace(env[i], "=MODEL", "="+model.url, 1)
	}
	s.env = overlay([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"), "LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1",
		"HECATE_ADDRESS=" + addr,
		"HECATE_DATA_DIR=" + s.dir,
		"HECATE_SQLITE_PATH=" + filepath.Join(s.dir, "hecate.db"),
		"HECATE_BACKEND=sqlite",
		"HECATE_TASK_APPROVAL_POLICIES=",
		"HECATE_TASK_QUEUE_WORKERS=4",
		"HECATE_SHUTDOWN_TIMEOUT=60s",
		"PROVIDER_FAKE_BASE_URL=" + model.url,
		"PROVIDER_FAKE_API_KEY=dummy",
		"PROVIDER_FAKE_KIND=local",
		"PROVIDER_FAKE_MODELS=" + modelName,
		"PROVIDER_FAKE_PRECONFIGURED=1",
		"HECATE_PROVIDER_MAX_ATTEMPTS=1",
		"HECATE_PROVIDER_HEALTH_FAILURE_THRESHOLD=1000000", // many tests share a provider and make it fail
	}, env)
	return s, nil
}

func overlay(base, top []string) []string {
	name := func(pair string) string { n, _, _ := strings.Cut(pair, "="); return n }
	for _, pair := range top {
		base = slices.DeleteFunc(base, func(old string) bool { return name(old) == name(pair) })
		base = append(base, pair)
	}
	return slices.DeleteFunc(base, func(pair string) bool { return strings.HasSuffix(pair, "=UNSET") })
}

// serve starts a server of the test's own; it ends with the test.
func serve(t *testing.T, env ...string) *server {
	t.Helper()
	s, err := prepare(env...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.model.stop)
	t.Cleanup(s.end)
	s.start(t)
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// launch runs the binary and waits until it says that it is healthy.
func (s *server) launch() error {
	if err := s.exec(); err != nil {
		return err
	}
	hc := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for end := time.Now().Add(patience); ; time.Sleep(3 * time.Millisecond) {
		if resp, err := hc.Get(s.base + "/healthz"); err == nil {
			_ = resp.Body.Close() // only the status counts
			if resp.StatusCode == http.StatusOK {
				s.asOperator()
				return nil
			}
		}
		select {
		case <-s.exited:
			return fmt.Errorf("the server ended at its start:\n%s", s.printed())
		default:
		}
		if time.Now().After(end) {
			s.kill()
			return fmt.Errorf("the server is not healthy after %v:\n%s", patience, s.printed())
		}
	}
}

// asOperator makes the client prove who it is, as the command line on this machine does:
// some tests keep runs with network open beside others that wait for an answer.
func (s *server) asOperator() {
	if s.header.Get("X-Hecate-Operator-Token") != "" {
		return // it stays over restarts, during which others may use the client
	}
	if token, err := os.ReadFile(filepath.Join(s.dir, "operator.token")); err == nil {
		s.header.Set("X-Hecate-Operator-Token", strings.TrimSpace(string(token)))
	}
}

func (s *server) exec() error {
	out, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	line := append(append([]string{}, s.wrap...), binary, "serve")
	s.cmd = exec.Command(line[0], line[1:]...)
	s.cmd.Env, s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.env, filepath.Dir(s.dir), out, out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	if slices.Contains(s.env, "HECATE_BACKEND=memory") {
		s.seen.Store(0) // it begins a log of its own
	}
	cmd, exited := s.cmd, make(chan struct{})
	s.exited = exited
	go func() { _ = cmd.Wait(); close(exited) }() // the exit code is read from the state
	return nil
}

// printed is the end of what the process wrote to its standard output and error.
func (s *server) printed() string {
	raw, _ := os.ReadFile(s.log) // no file: nothing was printed
	return string(raw[max(0, len(raw)-4000):])
}

// logged are the lines of the server's log that have the word.
func (s *server) logged(word string) string {
	raw, _ := os.ReadFile(s.log) // no file: nothing was printed
	var out []string
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, word) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// kill ends the process at once, as a crash would. Nothing happens if none runs.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.exited
	s.hc.CloseIdleConnections()
}

// end kills the process and waits for what it had started: it may be writing into
// directories that are removed next.
func (s *server) end() {
	s.kill()
	home := "HOME=" + filepath.Dir(s.dir) + "\x00"
	soon(func() bool { return len(processesWith("environ", home)) == 0 })
}

// crash kills the process and starts another one on the same data.
func (s *server) crash(t *testing.T) {
	t.Helper()
	s.kill()
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// wait returns the exit code of a process that ends by itself.
func (s *server) wait(limit time.Duration) (int, error) {
	select {
	case <-s.exited:
		return s.cmd.ProcessState.ExitCode(), nil
	case <-time.After(limit):
		s.kill()
		return 0, errors.New("the process did not end within " + limit.String())
	}
}

// terminate asks the process to end and returns its exit code.
func (s *server) terminate(t *testing.T) int {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	code, err := s.wait(patience)
	if err != nil {
		t.Fatal(err)
	}
	s.hc.CloseIdleConnections()
	return code
}

// refuses asserts that a server does not start with these settings: exit code 1,
// and every given word in what it prints.
func refuses(t *testing.T, env []string, words ...string) {
	t.Helper()
	s, err := prepare(env...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.model.stop()
	s.endsAtStart(t, words...)
}

func (s *server) endsAtStart(t *testing.T, words ...string) {
	t.Helper()
	if err := s.exec(); err != nil {
		t.Fatal(err)
	}
	code, err := s.wait(patience)
	if err != nil || code != 1 {
		t.Fatalf("exit code %d, %v; want 1\n%s", code, err, s.printed())
	}
	for _, w := range words {
		if !strings.Contains(strings.ToLower(s.printed()), strings.ToLower(w)) {
			t.Errorf("the message does not say %q:\n%s", w, s.printed())
		}
	}
}

// shared are the servers that many tests use; each is started by the first of them.
var shared struct {
	mu   sync.Mutex
	byID map[string]*server
}

// open is a server whose policies let everything pass.
func open(t *testing.T) *server {
	t.Helper()
	return sharedServer(t, "open")
}

// gated is a server with the policies that apply if nothing is said. It keeps
// everything in memory.
func gated(t *testing.T) *server {
	t.Helper()
	return sharedServer(t, "gated", "HECATE_TASK_APPROVAL_POLICIES=UNSET", "HECATE_BACKEND=memory")
}

func sharedServer(t *testing.T, id string, env ...string) *server {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if s := shared.byID[id]; s != nil {
		return s
	}
	s, err := prepare(env...)
	if err == nil {
		err = s.launch()
	}
	if err != nil {
		t.Fatal(err)
	}
	if shared.byID == nil {
		shared.byID = map[string]*server{}
	}
	shared.byID[id] = s
	return s
}

func stopShared() {
	for _, s := range shared.byID {
		s.kill()
		s.model.stop()
	}
}

// deadline is a context that ends with the test or after the limit.
func deadline(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}
