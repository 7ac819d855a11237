//go:build linux

package blackbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/runtime/model/scripted"
)

// TestArtifactsOfOtherTasksAreNotFound: ah-artifacts-01. A foreign id is answered like one
// that there never was, and none is taken for a path.
func TestArtifactsOfOtherTasksAreNotFound(t *testing.T) {
	t.Parallel()
	s := open(t)
	other, _ := s.agentRun(t, []reply{asks(shell("c1", "echo not for others")), says("done")})
	other.becomes(t, "completed")
	foreign := other.artifact(t, "stdout").str("id")
	names := []string{foreign, "artifact_none", "../" + foreign, "/etc/passwd", "%2e%2e%2f" + foreign, foreign + "\x00", strings.Repeat("x", 1<<20), ""}
	calls, ids := []scripted.Call{shell("own", "echo for us")}, []string{"own"}
	for i, name := range names {
		ids = append(ids, fmt.Sprint("c", i))
		calls = append(calls, call(ids[i+1], "artifact_read", args{"artifact_id": name}))
	}
	r, c := s.agentRun(t, []reply{asks(calls...), says("done")})
	r.becomes(t, "completed")
	texts := c.request(t, 1).answered(t, ids...)
	for i, text := range texts[1:] {
		switch {
		case strings.Contains(text, "not for others"), strings.Contains(text, "root:"), len(text) > 16<<10:
			t.Errorf("%.80q shows %.300s", names[i], text)
		case names[i] == "":
			equal(t, "no id", text, "artifact_read: artifact_id is required")
		case !strings.HasPrefix(text, "artifact_read: artifact ") || !strings.HasSuffix(text, fmt.Sprintf("not found for task %q", r.task)):
			t.Errorf("%.80q: %.300s", names[i], text)
		}
	}
	equal(t, "foreign and unknown", strings.ReplaceAll(texts[1], foreign, "ID"), strings.ReplaceAll(texts[2], "artifact_none", "ID"))
}

// TestPatchesStayInTheWorkspace: ah-patch-01 and ah-patch-04, applied and proposed. What is
// wrong with one section leaves the files of the others as they were.
func TestPatchesStayInTheWorkspace(t *testing.T) {
	t.Parallel()
	s, dir := open(t), t.TempDir()
	put(t, filepath.Join(dir, "a.txt"), "a\n")
	put(t, filepath.Join(dir, "b.txt"), "b\n")
	begin := "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Add File: new/n.txt\n+n\n"
	bad := []string{
		"*** Add File: ../x\n+x\n", "*** Add File: /etc/hecate-x\n+x\n", "*** Add File: a/../../x\n+x\n", "*** Add File: C:\\x\n+x\n", "*** Add File: x\x00y\n+x\n",
		"*** Update File: b.txt\n--- a/b.txt\n+++ ../x\n@@\n-b\n+x\n", "*** Update File: b.txt\n*** Move to: ../x\n@@\n-b\n+x\n", "*** Update File: b.txt\n@@\n-not there\n+x\n",
		"*** Delete File: none.txt\n", "*** Add File: b.txt\n+x\n", "*** Update File: a.txt\n@@\n-a\n+x\n", "*** Add File: a.txt/x\n+x\n",
	}
	for _, propose := range []bool{false, true} {
		var calls []scripted.Call
		var ids []string
		for i, section := range bad {
			ids = append(ids, fmt.Sprint("c", i))
			calls = append(calls, call(ids[i], "apply_patch", args{"patch_text": begin + section + "*** End Patch\n", "propose": propose}))
		}
		r, c := s.agentRun(t, []reply{asks(calls...), says("done")}, in(dir))
		r.becomes(t, "completed")
		for i, text := range c.request(t, 1).answered(t, ids...) {
			if !strings.HasPrefix(text, "apply_patch: ") {
				t.Errorf("propose=%t, %q: %s", propose, bad[i], text)
			}
		}
		equal(t, "files", strings.Join(entries(t, dir), " "), "a.txt b.txt")
		equal(t, "a.txt and b.txt", held(t, dir, "a.txt")+held(t, dir, "b.txt"), "a\nb\n")
		equal(t, "patches", len(r.list(t, r.path()+"/patches")), 0)
		equal(t, "beside", held(t, filepath.Dir(dir), "x"), "(absent)")
	}
}

// TestSecretsOfTheServerReachNobody: ah-secrets-01. Neither a command, however it asks, nor
// a terminal nor git sees what the server was started with; and no result, artifact, event
// or line of the log has it.
func TestSecretsOfTheServerReachNobody(t *testing.T) {
	t.Parallel()
	const secret = "planted-7c1f0e-secret"
	for name, env := range map[string][]string{"confined": nil, "not confined": {"HECATE_TASK_SANDBOX=none"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var settings []string
			for _, name := range []string{
				"PROVIDER_FAKE_API_KEY", "BRAVE_SEARCH_API_KEY", "HECATE_TASK_WEB_SEARCH_API_KEY", "DATABASE_URL", "MY_CREDS", "OPENAI_API_KEY", "GIT_ASKPASS", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK",
			} {
				settings = append(settings, name+"="+secret)
			}
			s := serve(t, append(append(settings, "HECATE_TASK_WEB_SEARCH_PROVIDER=brave", "HECATE_TASK_WEB_SEARCH_ENDPOINT=http://127.0.0.1:1/"), env...)...)
			dir := t.TempDir()
			git(t, dir, "init", "-q")
			hunt := "env; for p in /proc/[0-9]*/environ; do tr '\\0' '\\n' <$p; done 2>/dev/null; cat /proc/$PPID/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; true"
			if len(env) > 0 && os.Geteuid() == 0 {
				hunt = "env" // what nothing confines reads, as root, the memory of whom it likes
			}
			r, c := s.agentRun(t, []reply{
				asks(
					program("c1", "env"), shell("c2", hunt), shell("c3", "echo $MY_CREDS $OPENAI_API_KEY; ulimit -c; git config -l"), program("c4", "sh", "-c", hunt),
					call("c5", "git_exec", args{"command": "--version; " + hunt}), call("c6", "terminal_open", args{"command": "sh", "args": []string{"-c", hunt}}),
					call("c7", "web_search", args{"query": "x"}), call("c8", "git_status", args{}),
				),
				says("done"),
			}, in(dir))
			r.becomes(t, "completed")
			texts := c.request(t, 1).answered(t, "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8")
			contains(t, "what a command does have", texts[0], "PATH=")
			contains(t, "the search", texts[6], "web_search: ")
			shown := map[string]string{"results": strings.Join(texts, "\n"), "events": fmt.Sprint(r.events(t)), "artifacts": fmt.Sprint(r.artifacts(t)), "steps": fmt.Sprint(r.steps(t)), "log": s.printed()}
			for what, text := range shown {
				if i := strings.Index(text, secret); i >= 0 {
					t.Errorf("%s: …%s…", what, text[max(0, i-200):min(len(text), i+40)])
				}
			}
		})
	}
}

// TestCredentialsOfRequestsStayInTheCall: what a model sends to a server is in the call as it
// wrote it, and in no step, approval or line of the log; it goes to no other host.
func TestCredentialsOfRequestsStayInTheCall(t *testing.T) {
	t.Parallel()
	const secret = "planted-3d52aa-secret"
	away := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("another host is asked: %v", r.Header) }))
	t.Cleanup(away.Close)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, away.URL+"/x", http.StatusTemporaryRedirect)
			return
		}
		_, _, user := r.BasicAuth()
		fmt.Fprintf(w, "authorized: %t, user: %t", strings.Contains(r.Header.Get("Authorization"), secret), user)
	}))
	t.Cleanup(site.Close)
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_HTTP_ALLOW_PRIVATE_IPS=true", "HECATE_TASK_APPROVAL_POLICIES=network_egress")
	withUser := strings.Replace(site.URL, "http://", "http://user:"+secret+"@", 1)
	request := func(id, url string) scripted.Call {
		return call(id, "http_request", args{"url": url + "?token=" + secret, "method": "POST", "headers": args{"Authorization": "Bearer " + secret, "X-Api-Key": secret}, "body": secret})
	}
	r, c := s.agentRun(t, []reply{
		asks(request("c1", site.URL+"/"), request("c2", site.URL+"/away"), request("c3", withUser+"/"), call("c4", "web_fetch", args{"url": withUser + "/"})), says("done"),
	}, in(t.TempDir()))
	asked := r.parked(t)
	r.resolve(t, asked.str("id"), "approve").ok(t)
	r.becomes(t, "completed")
	texts := c.request(t, 1).answered(t, "c1", "c2", "c3", "c4")
	contains(t, "c1", texts[0], "authorized: true, user: false")
	contains(t, "c2", texts[1], "status 307 redirects to", "it leads to another host")
	contains(t, "c3", texts[2], "authorized: true, user: false")
	contains(t, "c4", texts[3], "authorized: false, user: false")
	for what, text := range map[string]string{"approval": asked.str("action_summary") + fmt.Sprint(asked["action_summary"]), "steps": fmt.Sprint(r.steps(t)), "log": s.printed()} {
		if strings.Contains(text, secret) {
			t.Errorf("%s: %s", what, text)
		}
	}
}
