//go:build linux

package blackbox_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// preset writes a work policy and returns its id.
func (s *server) preset(t *testing.T, says args) string {
	t.Helper()
	a := s.ask(t, "POST", api+"/agent-presets", fields(args{
		"name": "p", "surface": "hecate_task", "tools_enabled": true, "writes_allowed": true, "network_allowed": true,
	}, says))
	if a.status != 201 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	return a.envelope(t).str("data", "id")
}

// under is a task that is made from a work policy.
func under(id string) args { return args{"agent_preset_id": id} }

// work is one call of every family: it reads, writes, commands and fetches.
var work = asks(
	call("c1", "list_dir", args{"path": "."}), call("c2", "file_write", args{"path": "made", "content": "x"}), shell("c3", "echo x >> marker"),
	call("c4", "web_fetch", args{"url": "https://nowhere.invalid/"}),
)

// What the approval of a work policy does to the questions, beside the server's policies.
func TestApprovalOfWorkPolicies(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_TASK_APPROVAL_POLICIES=shell_exec")
	for approval, x := range map[string]struct {
		asking              string // ids of the calls that ask
		dispatched, blocked string
	}{
		"inherit": {"c3", "c1 c2 c3 c4", ""},
		"allow":   {"c3", "c1 c2 c3 c4", ""}, // it opens nothing
		"require": {"c1 c2 c3 c4", "c1 c2 c3 c4", ""},
		"block":   {"", "c1 c2 c4", "c3:agent_preset_approval"},
	} {
		t.Run(approval, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			id := s.preset(t, args{"approval_policy": approval})
			r, c := s.agentRun(t, []reply{work, says("done")}, in(dir), under(id))
			want{"agent_preset_id": id, "agent_preset_approval_policy": approval}.check(t, "task", s.get(t, r.taskPath()))
			if x.asking != "" {
				asked := r.question(t)
				var asking []string
				for _, c := range asked.list("calls") {
					if c.str("ruling", "decision") == "ask" {
						asking = append(asking, c.str("tool_call_id"))
					}
				}
				equal(t, "asks", strings.Join(asking, " "), x.asking)
				r.say(t, yes).ok(t)
			}
			r.becomes(t, "completed")
			equal(t, "dispatched", r.intents(t), x.dispatched)
			equal(t, "blocked", r.blocked(t), x.blocked)
			texts := c.request(t, 1).answered(t, "c1", "c2", "c3", "c4")
			if x.blocked != "" {
				contains(t, "c3", texts[2], "preset")
				equal(t, "approvals", len(r.approvals(t)), 0)
			}
			equal(t, "lines", fileLines(filepath.Join(dir, "marker")), strings.Count(x.dispatched, "c3"))
		})
	}
}

// What no answer opens: a policy without tools, without writes, without network.
func TestLimitsOfWorkPolicies(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, x := range map[string]struct {
		says                args
		dispatched, blocked string
		missing             string // from the catalogue
	}{
		"no tools": {args{"tools_enabled": false}, "", "c1:agent_preset_tools c2:agent_preset_tools c3:agent_preset_tools c4:agent_preset_tools", ""},
		"no writes": {
			args{"writes_allowed": false, "approval_policy": "require"}, "c1 c4", "c2:sandbox_read_only c3:sandbox_read_only", "shell_exec exec file_write git_exec",
		},
		"no network": {args{"network_allowed": false}, "c1 c2 c3", "c4:sandbox_network", "web_fetch http_request web_search"},
		"no network, block": {
			args{"network_allowed": false, "approval_policy": "block"}, "c1 c2 c3", "c4:sandbox_network", "web_fetch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r, c := s.agentRun(t, []reply{work, says("done")}, in(dir), under(s.preset(t, x.says)))
			if x.says["approval_policy"] == "require" {
				asked := r.question(t)
				equal(t, "what is refused anyway", about(t, asked, "c3").str("ruling", "decision"), "deny")
				r.say(t, yes).ok(t)
			}
			r.becomes(t, "completed")
			equal(t, "dispatched", r.intents(t), x.dispatched)
			equal(t, "blocked", r.blocked(t), x.blocked)
			c.request(t, 1).answered(t, "c1", "c2", "c3", "c4")
			offered := strings.Fields(c.request(t, 0).tools())
			if name == "no tools" {
				equal(t, "tools", len(offered), 0)
			}
			for _, tool := range offered {
				if strings.Contains(" "+x.missing+" ", " "+tool+" ") {
					t.Errorf("%s is offered", tool)
				}
			}
			if !strings.Contains(x.dispatched, "c3") {
				equal(t, "lines", fileLines(filepath.Join(dir, "marker")), 0)
			}
		})
	}
}

// A task keeps what its work policy said when it was made, whatever becomes of the policy.
func TestWorkPoliciesAreFrozen(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := s.preset(t, args{"approval_policy": "require", "network_allowed": false, "instructions": "Be brief."})
	replies := []reply{asks(call("c1", "list_dir", args{"path": "."})), says("done"), asks(call("c2", "list_dir", args{"path": "."})), says("done")}
	r, c := s.agentRun(t, replies, under(id))
	r.question(t)
	s.ask(t, "PATCH", api+"/agent-presets/"+id, args{"approval_policy": "allow", "network_allowed": true, "instructions": "Be loud."}).ok(t)
	want{"approval_policy": "allow", "network_allowed": true}.check(t, "policy", s.get(t, api+"/agent-presets/"+id))
	r.say(t, yes).ok(t)
	r.becomes(t, "completed")
	if a := s.ask(t, "DELETE", api+"/agent-presets/"+id, nil); a.status != 204 {
		t.Errorf("delete: %d %s", a.status, a.body)
	}
	s.ask(t, "GET", api+"/agent-presets/"+id, nil).refused(t, 404, "not_found")
	second := r.again(t, "retry", nil)
	equal(t, "gate", strings.Join(gatesOf(about(t, second.question(t), "c2")), " "), "preset-require")
	contains(t, "request", c.request(t, 2).raw, "Be brief.")
	if strings.Contains(c.request(t, 2).raw, "Be loud.") || strings.Contains(c.request(t, 2).tools(), "web_fetch") {
		t.Error("the changed policy counts")
	}
	second.say(t, yes).ok(t)
	second.becomes(t, "completed")
	s.ask(t, "POST", api+"/tasks", agent(c, under(id))).refused(t, 400, "invalid_request")
}

func gatesOf(call doc) (out []string) {
	gates, _ := call["gates"].([]any)
	for _, g := range gates {
		out = append(out, g.(string))
	}
	return out
}

// The built-in policies can be used and not be changed; what does not go together is refused.
func TestWorkPoliciesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := s.model.script(says("done"))
	for _, body := range []args{{"writes_allowed": true}, {"name": "x"}} {
		s.ask(t, "PATCH", api+"/agent-presets/planning", body).refused(t, 409, "conflict")
	}
	s.ask(t, "DELETE", api+"/agent-presets/planning", nil).refused(t, 409, "conflict")
	s.ask(t, "POST", api+"/agent-presets", args{"id": "planning", "name": "x"}).refused(t, 409, "conflict")
	for name, body := range map[string]args{
		"no name": {"name": " "}, "approval": {"name": "x", "approval_policy": "sometimes"}, "surface": {"name": "x", "surface": "moon"},
		"browser without an origin": {"name": "x", "tools_enabled": true, "browser_allowed": true},
	} {
		if a := s.ask(t, "POST", api+"/agent-presets", body); a.status != 400 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	odd := s.ask(t, "POST", api+"/agent-presets", args{"name": "x", "skill_ids": "one"})
	odd.refused(t, 400, "invalid_request")
	contains(t, "the member", string(odd.body), `member \"skill_ids\" cannot be`)
	s.ask(t, "POST", api+"/tasks", agent(c, under("safe_external_review"))).refused(t, 400, "invalid_request")
	s.ask(t, "POST", api+"/tasks", agent(c, under("nobody"))).refused(t, 400, "invalid_request")
	s.ask(t, "POST", api+"/tasks", sh("true", under("planning"))).refused(t, 400, "invalid_request")

	reading := s.begin(t, agent(s.model.script(work, says("done")), under("planning")))
	asked := reading.question(t)
	for id, decision := range map[string]string{"c1": "ask", "c2": "deny", "c3": "deny", "c4": "deny"} {
		equal(t, id, about(t, asked, id).str("ruling", "decision"), decision)
	}
	reading.cancel(t)
}
