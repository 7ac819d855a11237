//go:build linux

package blackbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hecate/runtime/model/scripted"
)

// TestFetchesStayOutOfPrivateNetworks: ah-ssrf-01, as far as it shows without a name server of
// one's own: private addresses in any spelling are refused, and nobody is asked.
func TestFetchesStayOutOfPrivateNetworks(t *testing.T) {
	t.Parallel()
	s, dir := gated(t), t.TempDir()
	port, reached := listen(t)
	urls := []string{
		"https://127.0.0.1:%s/", "http://127.0.0.1:%s/", "https://2130706433:%s/", "https://0x7f.1:%s/", "https://[::1]:%s/", "https://[::ffff:127.0.0.1]:%s/",
		"https://localhost:%s/", "https://169.254.169.254:%s/", "https://10.0.0.1:%s/", "https://u:p@127.0.0.1:%s/", "https://０:%s/", "file:///etc/passwd?%s",
	}
	var calls []scripted.Call
	var ids []string
	for i, u := range urls {
		ids = append(ids, fmt.Sprint("c", i))
		calls = append(calls, call(ids[i], "web_fetch", args{"url": fmt.Sprintf(u, port)}))
	}
	r, c := s.governed(t, dir, args{"yes": true, "yes_really": true, "on_ask": "refuse"}, asks(calls...), says("done"))
	r.becomes(t, "completed")
	for i, text := range c.request(t, 1).answered(t, ids...) {
		if strings.Contains(text, "status=200") || strings.Contains(text, "hello") {
			t.Errorf("%s: %s", urls[i], text)
		}
	}
	equal(t, "approvals", len(r.approvals(t)), 0)
	equal(t, "connections", int(reached.Load()), 0)
	parked, c := s.governed(t, dir, nil, asks(calls[0], calls[1], calls[6]), says("done"))
	parked.becomes(t, "completed")
	equal(t, "nobody is asked", len(parked.approvals(t)), 0)
	equal(t, "results", len(c.request(t, 1).answered(t, ids[0], ids[1], ids[6])), 3)
}

// TestFetchesIgnoreProxiesOfTheEnvironment: ah-ssrf-04.
func TestFetchesIgnoreProxiesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	port, reached := listen(t)
	proxy := "http://127.0.0.1:" + port
	s, dir := serve(t, "HECATE_BACKEND=memory", "HTTPS_PROXY="+proxy, "HTTP_PROXY="+proxy, "ALL_PROXY="+proxy, "https_proxy="+proxy, "all_proxy="+proxy), t.TempDir()
	s.permit(t, "[network]\nallow = [\"docs.invalid\"]\n")
	write(t, filepath.Join(dir, "proxy.pac"), "function FindProxyForURL() { return 'PROXY 127.0.0.1:"+port+"' }")
	r, c := s.governed(t, dir, args{"on_ask": "refuse"}, asks(call("c1", "web_fetch", args{"url": "https://docs.invalid/"}), call("c2", "web_fetch", args{"url": proxy})), says("done"))
	r.becomes(t, "completed")
	equal(t, "dispatched", r.intents(t), "c1")
	equal(t, "level", part(t, ofType(r.events(t), "tool.dispatch.intended"), 0, 1)[0].num("data", "ruling", "level"), 1)
	equal(t, "results", len(c.request(t, 1).answered(t, "c1", "c2")), 2)
	equal(t, "connections to the proxy", int(reached.Load()), 0)
}

// TestPagesAnswerNoApproval: ah-local-api-01. Forms and scripts of other pages reach nothing.
func TestPagesAnswerNoApproval(t *testing.T) {
	t.Parallel()
	r, _ := gated(t).agentRun(t, []reply{asks(shell("c1", "true")), says("done")})
	path := r.taskPath() + "/approvals/" + r.parked(t).str("id") + "/resolve"
	for name, c := range map[string]struct {
		body   string
		header []string
	}{
		"plain text":     {`{"decision":"approve"}`, []string{"Content-Type", "text/plain"}},
		"a form":         {"decision=approve", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		"a multipart":    {`{"decision":"approve"}`, []string{"Content-Type", "multipart/form-data; boundary=x"}},
		"null origin":    {`{"decision":"approve"}`, []string{"Origin", "null"}},
		"foreign origin": {`{"decision":"approve"}`, []string{"Origin", "https://evil.example"}},
		"no origin":      {`{"decision":"approve"}`, []string{"Sec-Fetch-Site", "cross-site"}},
		"rebound name":   {`{"decision":"approve"}`, []string{"Host", "evil.example"}},
	} {
		if a := newClient(r.base).ask(t, "POST", path, c.body, c.header...); a.status < 400 || a.status >= 500 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	want{"status": "pending"}.check(t, "approval", r.parked(t))
	r.cancel(t)
}

// TestProgramsAnswerNoApproval: ah-local-api-04 for what exec and shell_exec start in an agent's run.
func TestProgramsAnswerNoApproval(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{"confined": nil, "not confined": {"HECATE_TASK_SANDBOX=none"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir, token := inItsDirectory(t, env...)
			victim := s.begin(t, sh("echo the deed"))
			asked := victim.parked(t)
			knock(t, s, dir, victim.taskPath()+"/approvals/"+asked.str("id")+"/resolve")
			r, c := s.governed(t, dir, args{"yes": true}, asks(program("c1", "bash", "knock.sh"), shell("c2", "bash knock.sh"), shell("c3", "cat .data/operator.token")), says("done"))
			r.becomes(t, "completed")
			texts := c.request(t, 1).answered(t, "c1", "c2", "c3")
			for i, text := range texts[:2] {
				if strings.Contains(text, "no way") != (env == nil) || strings.Contains(text, "403 Forbidden") != (env != nil) {
					t.Errorf("call %d: %s", i, text)
				}
			}
			if env == nil && strings.Contains(strings.Join(texts, ""), token) {
				t.Errorf("a call sees the token: %s", texts)
			}
			want{"status": "pending"}.check(t, "the approval", s.get(t, victim.taskPath()+"/approvals/"+asked.str("id")))
		})
	}
}

// knock is a script that answers an approval over loopback.
func knock(t *testing.T, s *server, dir, path string) {
	t.Helper()
	host, port, err := net.SplitHostPort(strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"decision":"approve"}`
	write(t, filepath.Join(dir, "knock.sh"), fmt.Sprintf("exec 3<>/dev/tcp/%[1]s/%[2]s || { echo no way; exit 0; }\n"+
		"printf 'POST %[3]s HTTP/1.1\\r\\nHost: %[1]s:%[2]s\\r\\nContent-Type: application/json\\r\\nContent-Length: %[4]d\\r\\nConnection: close\\r\\n\\r\\n%[5]s' >&3\nhead -1 <&3\n",
		host, port, path, len(body), body))
}

// TestAnswersNeedATokenWhereNothingConfines: whoever reaches a server whose commands are not
// confined proves to be an operator before anything is decided, changed or given ahead.
func TestAnswersNeedATokenWhereNothingConfines(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_SANDBOX=none", "HECATE_TASK_APPROVAL_POLICIES=shell_exec")
	dir := t.TempDir()
	r, _ := s.agentRun(t, []reply{asks(shell("c1", "echo x >> marker")), says("done")}, in(dir))
	id := r.parked(t).str("id")
	spare := s.create(t, sh("true")).str("id")
	put(t, projectFile(dir), "[permissions]\napprove = [\"exec(true) args()\"]\n")
	digest := s.get(t, api+"/permissions?dir="+dir).str("project_digest")
	stranger := newClient(s.base)
	for path, body := range map[string]args{
		r.taskPath() + "/approvals/" + id + "/resolve": yes,
		api + "/tasks/" + spare + "/start":             {"permissions": args{"yes": true}},
		api + "/permissions/accept":                    {"dir": dir, "digest": digest},
		api + "/permissions/revoke":                    {"dir": dir, "id": "x"},
		r.taskPath() + "/permissions/revoke":           {"grant_id": "x"},
	} {
		stranger.ask(t, "POST", path, body).refused(t, 403, "forbidden")
		stranger.ask(t, "POST", path, body, "X-Hecate-Operator-Token", "guess").refused(t, 401, "unauthorized")
	}
	equal(t, "run", r.now(t).str("status"), "awaiting_approval")
	token := strings.TrimSpace(read(t, filepath.Join(s.dir, "operator.token")))
	stranger.ask(t, "POST", r.taskPath()+"/approvals/"+id+"/resolve", yes, "X-Hecate-Operator-Token", token).ok(t)
	r.becomes(t, "completed")
	equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 1)
	info, err := os.Stat(filepath.Join(s.dir, "operator.token"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the token: %v %v", info.Mode(), err)
	}
}

// listen counts who connects to a port of this machine, and greets them.
func listen(t *testing.T) (port string, reached *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() }) // nobody is served after the test
	reached = &atomic.Int64{}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")) // whoever it is may be gone
			_ = c.Close()
		}
	}()
	_, port, err = net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, reached
}
