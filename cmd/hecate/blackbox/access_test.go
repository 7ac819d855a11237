//go:build linux

package blackbox_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A page of another site cannot use the browser of whoever runs the server.
func TestForeignPagesAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	host := strings.TrimPrefix(s.base, "http://")
	for name, header := range map[string][]string{
		"foreign host":          {"Host", "evil.example"},
		"foreign host and port": {"Host", "evil.example:" + host[strings.LastIndex(host, ":")+1:]},
		"foreign origin":        {"Origin", "http://evil.example"},
		"origin of rebinding":   {"Host", "evil.example", "Origin", "http://evil.example"},
		"null origin":           {"Origin", "null"},
		"another local port":    {"Origin", "http://127.0.0.1:1"},
		"cross-site fetch":      {"Sec-Fetch-Site", "cross-site"},
		"same-site fetch":       {"Sec-Fetch-Site", "same-site"},
	} {
		t.Run(name, func(t *testing.T) {
			s.ask(t, "GET", api+"/tasks", nil, header...).refused(t, 403, "forbidden")
			s.ask(t, "POST", api+"/tasks", sh("true"), header...).refused(t, 403, "forbidden")
		})
	}
	for name, header := range map[string][]string{
		"own origin":        {"Origin", s.base},
		"own page":          {"Origin", s.base, "Sec-Fetch-Site", "same-origin"},
		"typed address":     {"Sec-Fetch-Site", "none"},
		"localhost by name": {"Host", strings.Replace(host, "127.0.0.1", "localhost", 1)},
	} {
		equal(t, name, s.ask(t, "GET", api+"/tasks", nil, header...).status, 200)
	}
}

func TestAllowedOrigins(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_ALLOWED_ORIGINS=https://console.example")
	equal(t, "named origin", s.ask(t, "GET", api+"/tasks", nil, "Origin", "https://console.example").status, 200)
	s.ask(t, "GET", api+"/tasks", nil, "Origin", "https://console.example.evil").refused(t, 403, "forbidden")
}

func TestRuntimeToken(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdefghijklmnop"
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_RUNTIME_TOKEN="+token)
	equal(t, "health is open", s.ask(t, "GET", "/healthz", nil).status, 200)
	for _, path := range []string{"/tasks", "/events", "/events/stream", "/nothing", "/tasks/t/runs/r/stream"} {
		s.ask(t, "GET", api+path, nil).refused(t, 401, "unauthorized")
		s.ask(t, "GET", api+path, nil, "X-Hecate-Runtime-Token", token[:25]).refused(t, 401, "unauthorized")
		s.ask(t, "GET", api+path, nil, "Authorization", "Bearer "+token).refused(t, 401, "unauthorized")
	}
	s.ask(t, "POST", api+"/tasks", sh("true")).refused(t, 401, "unauthorized")
	s.header.Set("X-Hecate-Runtime-Token", token)
	r := s.begin(t, sh("env"))
	r.becomes(t, "completed")
	if strings.Contains(r.artifact(t, "stdout").str("content_text"), token) {
		t.Error("a command sees the token")
	}
}

// Commands get none of what the server was told in confidence.
func TestCommandsSeeNoSecrets(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "PROVIDER_FAKE_API_KEY=sk-verysecret", "MY_PASSWORD=hunter2")
	r := s.begin(t, sh("env; cat /proc/$PPID/environ; cat /proc/1/environ", args{}))
	r.ends(t)
	for _, a := range r.artifacts(t) {
		if text := a.str("content_text"); strings.Contains(text, "verysecret") || strings.Contains(text, "hunter2") {
			t.Errorf("%s shows a secret: %s", a.str("name"), text)
		}
	}
}

func TestSettingsThatStopTheStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ env, words []string }{
		"open to the network":           {[]string{"HECATE_ADDRESS=0.0.0.0:0"}, []string{"HECATE_ADDRESS"}},
		"open to the network, no token": {[]string{"HECATE_ADDRESS=0.0.0.0:0", "HECATE_ALLOW_NON_LOOPBACK_BIND=1"}, []string{"HECATE_RUNTIME_TOKEN"}},
		"short token":                   {[]string{"HECATE_RUNTIME_TOKEN=short"}, []string{"HECATE_RUNTIME_TOKEN"}},
		"unknown policy":                {[]string{"HECATE_TASK_APPROVAL_POLICIES=shell_exec,everything"}, []string{"HECATE_TASK_APPROVAL_POLICIES", "everything"}},
		"unknown backend":               {[]string{"HECATE_BACKEND=paper"}, []string{"HECATE_BACKEND", "paper"}},
		"postgres without a URL":        {[]string{"HECATE_BACKEND=postgres"}, []string{"HECATE_POSTGRES_URL"}},
		"no workers":                    {[]string{"HECATE_TASK_QUEUE_WORKERS=0"}, []string{"HECATE_TASK_QUEUE_WORKERS"}},
		"number that is none":           {[]string{"HECATE_TASK_QUEUE_WORKERS=many"}, []string{"HECATE_TASK_QUEUE_WORKERS"}},
		"origin with a path":            {[]string{"HECATE_ALLOWED_ORIGINS=https://a.example/x"}, []string{"HECATE_ALLOWED_ORIGINS"}},
		"secret key of another form":    {[]string{"HECATE_CONTROL_PLANE_SECRET_KEY=abc"}, []string{"HECATE_CONTROL_PLANE_SECRET_KEY"}},
		"all problems at once":          {[]string{"HECATE_BACKEND=paper", "HECATE_TASK_QUEUE_WORKERS=0", "HECATE_RUNTIME_TOKEN=short"}, []string{"paper", "WORKERS", "TOKEN"}},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, c.env, c.words...) })
	}
}

func TestPortThatIsTaken(t *testing.T) {
	t.Parallel()
	s := open(t)
	refuses(t, []string{"HECATE_ADDRESS=" + strings.TrimPrefix(s.base, "http://")}, "address already in use")
	equal(t, "the first server", s.ask(t, "GET", "/healthz", nil).status, 200)
}

// Two writers on the same data would destroy it.
func TestSecondProcessOnTheSameDataIsRefused(t *testing.T) {
	t.Parallel()
	first := serve(t)
	second, err := prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer second.model.stop()
	second.env = overlay(second.env, []string{"HECATE_DATA_DIR=" + first.dir, "HECATE_SQLITE_PATH=" + filepath.Join(first.dir, "hecate.db")})
	second.endsAtStart(t, first.dir, "another")
	r := first.begin(t, sh("true"))
	r.becomes(t, "completed")
	first.kill()
	first.start(t) // what a killed process held does not last
}

// A server that is asked to end does so in its time, takes along the commands that
// take longer, and its runs go on with the next one.
func TestShutdown(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_SHUTDOWN_TIMEOUT=4s")
	equal(t, "exit code of an idle server", s.terminate(t), 0)
	s.start(t)

	sleep := nap(60)
	r := s.begin(t, sh("setsid "+sleep+" & "+sleep))
	agent, c := s.agentRun(t, []reply{{Hang: true}, says("done")})
	c.awaitRequests(t, 1)
	eventually(t, "the command runs", func() bool { return runs(sleep) })
	feed := s.follow(t, patience, api+"/events/stream")
	began := time.Now()
	equal(t, "exit code", s.terminate(t), 0)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	goneSoon(t, sleep)
	for {
		if _, err := feed.event(); err != nil {
			break
		}
	}
	s.start(t)
	r.ends(t)
	agent.becomes(t, "completed")
	if strings.Contains(r.history(t), "run.cancelled") {
		t.Error("the run was cancelled")
	}
}

// What a form of another page can send is not taken for a command.
func TestBodiesOfFormsAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		a := s.ask(t, "POST", api+"/tasks", `{"execution_kind":"shell","shell_command":"true"}`, "Content-Type", kind)
		if a.status < 400 || a.status >= 500 {
			t.Errorf("%s: %d", kind, a.status)
		}
	}
}
