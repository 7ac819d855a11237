package api_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"hecate/api/apitest"
	"hecate/api/auth"
	v1 "hecate/api/v1"
	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/permission"
	"hecate/domain/run"
)

// drawer is permission files that need no disk.
type drawer struct {
	mu       sync.Mutex
	user     permission.Source
	project  permission.Source // of /p
	accepted []string
}

const drawersDigest = "9f86d081"

func (d *drawer) Status(dir string) v1.PermissionStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := v1.PermissionStatus{UserFile: "/home/ada/.config/hecate/config.toml"}
	sources := []permission.Source{d.user}
	if dir == "/p" || strings.HasPrefix(dir, "/p/") {
		s.ProjectFile, s.Exists, s.Accepted, s.Digest = "/p/.hecate/config.toml", true, d.project.Accepted, drawersDigest
		sources = append(sources, d.project)
	}
	s.Config, s.Problems = permission.Load(sources...)
	if s.Exists && !s.Accepted {
		all := d.project
		all.Accepted, all.Deny = true, nil
		waiting, _ := permission.Load(all)
		s.Waiting = waiting.Entries
	}
	return s
}

func (d *drawer) Accept(dir, digest string) error {
	if digest != drawersDigest {
		return fault.Conflict("permission_file_changed", "look again")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.project.Accepted, d.accepted = true, append(d.accepted, dir)
	return nil
}

func (d *drawer) Apply(_ string, c permission.Change) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of, file := &d.project, "/p/.hecate/config.toml"
	if c.Layer == permission.LayerUser {
		of, file = &d.user, "/home/ada/.config/hecate/config.toml"
	}
	for _, list := range []*[]permission.Text{&of.Deny, &of.Approve, &of.HostAllow} {
		*list = slices.DeleteFunc(*list, func(t permission.Text) bool { return c.Remove && c.Same(t.Text) })
	}
	return file, nil
}

func newDrawer() *drawer {
	text := func(s, at string) []permission.Text { return []permission.Text{{Text: s, At: at}} }
	return &drawer{
		user: permission.Source{
			Layer: permission.LayerUser, Accepted: true, Approve: text("exec(go) args(test *)", "u:2"), HostAllow: text("docs.example", "u:5"),
			Locks: []permission.LockText{{Name: "build-output", Patterns: text("exec(make) args(*)", "u:9"), At: "u:8"}}, Guard: []permission.GuardLimit{{Name: "reads", Value: 1, At: "u:11"}},
		},
		project: permission.Source{Layer: permission.LayerProject, Deny: []permission.Text{{Text: "exec(rm) args(*)", Reason: "no", At: "p:1"}}, Approve: text("exec(cargo) args(*)", "p:2")},
	}
}

// shown is what tests look at of the answer.
type shown struct {
	ProjectFile     string `json:"project_file"`
	ProjectAccepted bool   `json:"project_accepted"`
	ProjectDigest   string `json:"project_digest"`
	Entries         []entry
	Waiting         []entry
	Locks           []struct{ Name string }
	Repetition      struct{ Limits struct{ Reads int } }
	Problems        []permission.Problem
	Session         []struct {
		ID, Scope string
		RunID     string `json:"run_id"`
	}
}

type entry struct{ ID, List, Layer, Text, Reason, At, Covers string }

func texts(entries []entry) (out []string) {
	for _, e := range entries {
		out = append(out, e.Text)
	}
	return out
}

func idOf(t *testing.T, s shown, text string) string {
	t.Helper()
	for _, e := range slices.Concat(s.Entries, s.Waiting) {
		if e.Text == text {
			return e.ID
		}
	}
	t.Fatalf("no entry %s in %+v", text, s)
	return ""
}

func permissionsOf(t *testing.T, s *apitest.Server, query string) (p shown) {
	t.Helper()
	if object := s.Do(t, "GET", base+"/permissions"+query, nil).Data(t, &p); object != "permissions" {
		t.Errorf("object %s", object)
	}
	return p
}

// What holds in a directory can be looked at, accepted and taken back; the log says by whom.
func TestPermissionFiles(t *testing.T) {
	files := newDrawer()
	s := apitest.Start(t, apitest.Options{Files: files, Operators: holders{janes: "jane"}})
	jane := []string{auth.OperatorHeader, janes}
	p := permissionsOf(t, s, "?dir=/p/sub")
	if !slices.Equal(texts(p.Entries), []string{"exec(go) args(test *)", "docs.example", "exec(rm) args(*)"}) || !slices.Equal(texts(p.Waiting), []string{"exec(cargo) args(*)"}) {
		t.Errorf("%+v", p)
	}
	if p.ProjectAccepted || len(p.Problems) != 1 || len(p.Locks) != 1 || p.Repetition.Limits.Reads != 1 || p.Entries[0].Covers == "" || p.Entries[2].Reason != "no" || p.Entries[2].At != "p:1" {
		t.Errorf("%+v", p)
	}
	if p := permissionsOf(t, s, ""); p.ProjectFile != "" || len(p.Entries) != 2 || p.Session == nil {
		t.Errorf("without a directory: %+v", p)
	}

	s.Do(t, "POST", base+"/permissions/accept", map[string]any{"dir": "/p/sub", "digest": p.ProjectDigest}, jane...).Data(t, &p)
	if !p.ProjectAccepted || len(p.Waiting) != 0 {
		t.Errorf("accepted: %+v", p)
	}
	for _, text := range []string{"exec(cargo) args(*)", "exec(rm) args(*)", "docs.example"} {
		a := s.Do(t, "POST", base+"/permissions/revoke", map[string]any{"dir": "/p", "id": idOf(t, p, text)}, jane...)
		a.Data(t, &p)
		if slices.Contains(texts(p.Entries), text) || a.Header.Get("Hecate-Position") == "" || lastActor(t, s).Name != "jane" {
			t.Errorf("%s: %+v %v", text, p, a.Header)
		}
	}
	var log []string
	for _, layer := range []permission.Layer{permission.LayerProject, permission.LayerUser} {
		err := s.X.Load(t.Context(), commands.GrantStream(layer, "/p/.hecate/config.toml"), 0, func(e event.Event) {
			log = append(log, e.Payload.EventType())
			if c, ok := e.Payload.(run.PermissionChanged); ok && (!c.Saved || !c.Change.Remove || c.File == "") {
				t.Errorf("%+v", c)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(log, []string{"permission.file.accepted", "permission.changed", "permission.changed", "permission.changed"}) {
		t.Errorf("the log has %v", log)
	}
	var events []apitest.Item
	s.Do(t, "GET", base+"/events", nil).Data(t, &events) // nothing that belongs to no run
	if len(events) != 0 {
		t.Errorf("the feed has %+v", events)
	}
}

func TestBadRequestsAboutPermissionFiles(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Files: newDrawer()})
	without := apitest.Start(t, apitest.Options{})
	for _, c := range []struct {
		s            *apitest.Server
		method, path string
		body         string
		status       int
	}{
		{s, "GET", "/permissions?dir=p", "", 400},
		{s, "GET", "/permissions?dir=" + url.QueryEscape("/"+strings.Repeat("x", 5000)), "", 400},
		{s, "GET", "/permissions?task_id=task_none", "", 404},
		{s, "POST", "/permissions/accept", `{"dir":"p","digest":"9f86d081"}`, 400},
		{s, "POST", "/permissions/accept", `{"dir":"/p"}`, 400},
		{s, "POST", "/permissions/accept", `{"digest":"9f86d081"}`, 400},
		{s, "POST", "/permissions/accept", `{"dir":"/p","digest":"other"}`, 409},
		{s, "POST", "/permissions/accept", ``, 400},
		{s, "POST", "/permissions/revoke", `{"dir":"/p","id":"grant_none"}`, 404},
		{s, "POST", "/permissions/revoke", `{"dir":"p","id":"x"}`, 400},
		{s, "POST", "/permissions/revoke", `{"dir":5}`, 400},
		{without, "POST", "/permissions/accept", `{"dir":"/p","digest":"9f86d081"}`, 503},
		{without, "POST", "/permissions/revoke", `{"dir":"/p","id":"x"}`, 503},
		{without, "GET", "/permissions?dir=/p", "", 200},
	} {
		if a := c.s.Do(t, c.method, base+c.path, c.body); a.Status != c.status {
			t.Errorf("%s %.60s %s: %d %s", c.method, c.path, c.body, a.Status, a.Body)
		}
	}
}

// Files are edited from the server's own machine, by those who may answer approvals.
func TestWhoEditsPermissionFiles(t *testing.T) {
	files := newDrawer()
	s := apitest.Start(t, apitest.Options{Files: files, Operators: holders{janes: "jane"}, Proof: v1.ProofAuto})
	entry := idOf(t, permissionsOf(t, s, "?dir=/p"), "exec(rm) args(*)")
	task := s.Task(t, nil)
	for path, body := range map[string]map[string]any{
		"/permissions/accept":                    {"dir": "/p", "digest": drawersDigest},
		"/permissions/revoke":                    {"dir": "/p", "id": entry},
		"/tasks/" + task + "/permissions/revoke": {"grant_id": "grant_1"},
	} {
		if a := s.Do(t, "POST", base+path, body); a.Status != http.StatusForbidden || !strings.Contains(string(a.Body), auth.OperatorHeader) {
			t.Errorf("%s without proof: %d %s", path, a.Status, a.Body)
		}
		a := s.Do(t, "POST", base+path, body, auth.OperatorHeader, janes, "X-Forwarded-For", "127.0.0.1")
		if local := !strings.HasPrefix(path, "/tasks/"); local && a.Status != http.StatusForbidden || !local && a.Status != http.StatusNotFound {
			t.Errorf("%s through a proxy: %d %s", path, a.Status, a.Body)
		}
	}
	if p := permissionsOf(t, s, "?dir=/p"); p.ProjectAccepted || len(p.Entries) != 3 {
		t.Errorf("somebody changed it: %+v", p)
	}
}

// What was given for the session is shown with the task, and ends there for the runs
// that go on from it.
func TestSessionGrants(t *testing.T) {
	p := askOn(t, apitest.Options{Files: newDrawer()})
	p.answer(t, map[string]any{"decision": "approve", "calls": []any{map[string]any{"tool_call_id": "c1", "decision": "approve", "scope": "session"}}}).Data(t, nil)
	got := permissionsOf(t, p.Server, "?task_id="+p.task)
	if len(got.Session) != 1 || got.Session[0].Scope != "exec(cargo) args(*)" || got.Session[0].RunID != p.run {
		t.Fatalf("%+v", got)
	}
	revoke := func(task string, body any) apitest.Answer {
		return p.Do(t, "POST", base+"/tasks/"+task+"/permissions/revoke", body)
	}
	grant := map[string]any{"grant_id": got.Session[0].ID}
	for name, a := range map[string]apitest.Answer{"no such grant": revoke(p.task, map[string]any{"grant_id": "x"}), "no such task": revoke("task_none", grant), "no run": revoke(p.Task(t, nil), grant)} {
		if a.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	revoke(p.task, grant).Data(t, &got)
	if len(got.Session) != 0 {
		t.Errorf("after it was revoked: %+v", got.Session)
	}
	if a := revoke(p.task, grant); a.Status != http.StatusNotFound {
		t.Errorf("twice: %d", a.Status)
	}
	var events []apitest.Item
	p.Do(t, "GET", base+"/tasks/"+p.task+"/runs/"+p.run+"/events", nil).Data(t, &events)
	if last := events[len(events)-1]; last.Type != "permission.revoked" {
		t.Errorf("the last event is %s", last.Type)
	}
}
