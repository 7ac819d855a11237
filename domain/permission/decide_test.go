package permission_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"hecate/domain/permission"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

func load(t testing.TB, s permission.Source) permission.Config {
	t.Helper()
	s.Accepted = true
	c, problems := permission.Load(s)
	for _, p := range problems {
		if p.Refused {
			t.Fatal(p)
		}
	}
	return c
}

func files(tool string, paths ...permission.Path) permission.Call {
	return permission.Call{Tool: tool, Facts: permission.Facts{Paths: paths}}
}

func fetch(url string) permission.Call {
	return permission.Call{Tool: "web_fetch", Facts: permission.Facts{Principal: url}}
}

func run(argv ...string) permission.Call {
	return permission.Call{Tool: "exec", Facts: permission.Facts{Argv: argv}}
}

func TestHardLimits(t *testing.T) {
	all := permission.Flags{Yes: true, YesReally: true, AllowTools: []pattern.Pattern{must(t, "exec"), must(t, "web_fetch")}}
	away := fetch("https://docs.rs/")
	away.Facts.Addrs = []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("10.0.0.1")}
	semantic := permission.Call{Tool: "code_intelligence", Limit: &permission.Limit{Rule: "sandbox_code_intelligence", Reason: "no wrapper"}}
	for _, c := range []struct {
		name    string
		posture permission.Posture
		call    permission.Call
		rule    string // "" if the call is not denied
	}{
		{"a report may be read", permission.Posture{Workflow: "qa"}, files("read_file", permission.Path{Name: "a"}), ""},
		{"a report changes nothing", permission.Posture{Workflow: "qa"}, files("file_edit", permission.Path{Name: "a"}), "workflow_report_only"},
		{"an unknown workflow fails closed", permission.Posture{Workflow: "new"}, run("ls"), "workflow_report_only"},
		{"a report has no git", permission.Posture{Workflow: "qa"}, permission.Call{Tool: "git_status"}, "workflow_git_metadata"},
		{"no tools", permission.Posture{ToolsOff: true}, files("view"), "agent_preset_tools"},
		{"no tools of servers either", permission.Posture{ToolsOff: true}, permission.Call{Tool: "mcp__fs__read", MCP: permission.MCPAuto}, "agent_preset_tools"},
		{"no network", permission.Posture{NetworkOff: true}, fetch("https://docs.rs/"), "sandbox_network"},
		{"no browser", permission.Posture{}, permission.Call{Tool: "browser_inspect"}, "agent_preset_browser"},
		{"a browser that only looks", permission.Posture{Browser: []string{"browser_inspect"}}, permission.Call{Tool: "browser_flow"}, "agent_preset_browser"},
		{"what the tool knows", permission.Posture{}, semantic, "sandbox_code_intelligence"},
		{"exec is no reading", permission.Posture{ReadOnly: true}, run("ls"), "sandbox_read_only"},
		{"a blocked server", permission.Posture{}, permission.Call{Tool: "mcp__fs__read", MCP: permission.MCPBlock}, "mcp_approval_policy"},
		{"outside", permission.Posture{}, files("view", permission.Path{Name: "../x"}), "workspace_bounds"},
		{"absolute", permission.Posture{}, files("view", permission.Path{Name: "/etc/passwd"}), "workspace_bounds"},
		{"through a link", permission.Posture{}, files("view", permission.Path{Name: "notes.md", Resolved: "/etc/passwd"}), "workspace_bounds"},
		{"the second path", permission.Posture{}, files("apply_patch", permission.Path{Name: "a"}, permission.Path{Name: "b/../../x"}), "workspace_bounds"},
		{"no path at all", permission.Posture{}, files("view", permission.Path{Name: strings.Repeat("a", 1<<20)}), "workspace_bounds"},
		{"a hook", permission.Posture{}, files("file_write", permission.Path{Name: ".git/hooks/pre-commit"}), "git_metadata"},
		{"a hook by a link", permission.Posture{}, files("edit", permission.Path{Name: ".g/config", Resolved: ".git/config"}), "git_metadata"},
		{"a hook in odd letters", permission.Posture{}, files("edit", permission.Path{Name: "sub/.GI\u200cT. /config"}), "git_metadata"},
		{"a hook of a stream", permission.Posture{}, files("edit", permission.Path{Name: ".git::$INDEX_ALLOCATION/config"}), "git_metadata"},
		{"a hook by its short name", permission.Posture{}, files("edit", permission.Path{Name: "GIT~1/config"}), "git_metadata"},
		{"a proposed hook", permission.Posture{}, permission.Call{Tool: "apply_patch", Propose: true, Facts: permission.Facts{Paths: []permission.Path{{Name: ".git/config"}}}}, "git_metadata"},
		{"git's files may be read", permission.Posture{}, files("view", permission.Path{Name: ".git/config"}), ""},
		{"not git's", permission.Posture{}, files("edit", permission.Path{Name: ".github/x"}), ""},
		{"the project's permissions", permission.Posture{}, files("create", permission.Path{Name: "./.hecate/config.toml"}), "permission_file"},
		{"in capitals", permission.Posture{}, files("create", permission.Path{Name: ".HECATE/Config.toml"}), "permission_file"},
		{"a file for who works below", permission.Posture{}, files("create", permission.Path{Name: "sub/.Hecate/config.toml"}), "permission_file"},
		{"a key of the server", permission.Posture{Hidden: []string{".data"}}, files("view", permission.Path{Name: "./.Data/operator.token"}), "server_data"},
		{"a link to one", permission.Posture{Hidden: []string{".data"}}, files("view", permission.Path{Name: "x", Resolved: ".data/operator.token"}), "server_data"},
		{"the server's data", permission.Posture{Hidden: []string{".data"}}, files("ls", permission.Path{Name: ".data"}), "server_data"},
		{"work in the server's data", permission.Posture{Hidden: []string{"."}}, files("view", permission.Path{Name: "operator.token"}), "server_data"},
		{"another such file", permission.Posture{Protected: []string{"./ci/permissions.toml"}}, files("edit", permission.Path{Name: "x", Resolved: "ci/permissions.toml"}), "permission_file"},
		{"a file URL", permission.Posture{}, fetch("file:///etc/passwd"), "url"},
		{"two readings", permission.Posture{}, fetch("https://evil.example\\@docs.rs/"), "url"},
		{"an odd loopback", permission.Posture{}, fetch("https://2130706433/"), "private_address"},
		{"metadata", permission.Posture{}, permission.Call{Tool: "http_request", Facts: permission.Facts{Principal: "http://169.254.169.254/"}}, "private_address"},
		{"localhost", permission.Posture{}, fetch("https://localhost/"), "private_address"},
		{"one address of several", permission.Posture{}, away, "private_address"},
		{"private by setting", permission.Posture{PrivateAddrs: true}, away, ""},
	} {
		for _, name := range []string{permission.PostureRuntime, permission.PostureLevels} {
			p := c.posture
			p.Name, p.Flags, p.Preset = name, all, permission.PresetRequire
			p.Config = load(t, permission.Source{Approve: entries([]string{"exec", "edit", "create", "apply_patch", "http_request"})})
			v := permission.Decide(c.call, p)
			denied := v.Decision == permission.Deny
			if denied != (c.rule != "") || denied && (v.Rule != c.rule || v.Policy != c.rule || v.Layer != permission.LayerLimit || v.Reason == "") {
				t.Errorf("%s: %+v, want %q", c.name, v, c.rule)
			}
		}
	}
}

func TestOffered(t *testing.T) {
	for _, c := range []struct {
		tool    string
		posture permission.Posture
		want    bool
	}{
		{"shell_exec", permission.Posture{}, true},
		{"shell_exec", permission.Posture{ReadOnly: true}, false},
		{"file_edit", permission.Posture{ReadOnly: true}, true},
		{"read_file", permission.Posture{ToolsOff: true}, false},
		{"read_file", permission.Posture{Workflow: "qa"}, true},
		{"shell_exec", permission.Posture{Workflow: "qa"}, false},
		{"web_fetch", permission.Posture{NetworkOff: true}, false},
		{"browser_flow", permission.Posture{}, false},
		{"browser_flow", permission.Posture{Browser: []string{"browser_flow"}}, true},
	} {
		if c.posture.Offered(c.tool) != c.want {
			t.Errorf("%s under %+v: %t", c.tool, c.posture, !c.want)
		}
	}
	net := permission.Posture{Policies: []permission.Policy{permission.PolicyNetwork}}
	if !net.AsksBeforeNetwork() {
		t.Error("a network policy does not ask")
	}
	if net.ToolsOff = true; net.AsksBeforeNetwork() {
		t.Error("a task without tools asks before network")
	}
}

// The table of which answer opens which gate, cell by cell.
func TestWhichAnswerOpensWhichGate(t *testing.T) {
	shell := permission.Call{Tool: "shell", Facts: permission.Facts{Principal: "ls", Programs: parsed("ls")}}
	environment := run("cargo", "test")
	environment.Facts.Env = map[string]string{"LD_PRELOAD": "x", "RUST_BACKTRACE": "1"}
	opaque := permission.Call{Tool: "shell", Facts: permission.Facts{Principal: "$X", Opaque: true}}
	required := permission.Call{Tool: "mcp__a__b", MCP: permission.MCPRequire}
	again := shell
	again.Checkpoint = "repeated call: over and over"
	const none = "................"
	// In order: no answer, approve, promoted, session, host allow, host promoted, host
	// session, --allow-tools, --yes, --yes-really. x opens, . does not.
	for _, c := range []struct {
		gate    permission.Gate
		posture permission.Posture
		call    permission.Call
		opens   string
	}{
		{permission.GateRuntime, permission.Posture{Policies: permission.Default}, shell, ".xxx...xxx"},
		{permission.GateRuntime, permission.Posture{Policies: []permission.Policy{permission.PolicyNetwork}}, fetch("https://a.example/"), ".xxxxxxxxx"},
		{permission.GateLevel, permission.Posture{Name: permission.PostureLevels}, shell, ".xxx...xxx"},
		{permission.GateHost, permission.Posture{Name: permission.PostureLevels}, fetch("https://a.example/"), "....xxxx.x"},
		{permission.GatePlainHTTP, permission.Posture{Name: permission.PostureLevels}, fetch("http://a.example/"), none[:10]},
		{permission.GatePlainHTTP, permission.Posture{Policies: []permission.Policy{permission.PolicyNetwork}}, fetch("http://a.example/"), none[:10]},
		{permission.GateEnv, permission.Posture{Name: permission.PostureLevels}, environment, none[:10]},
		{permission.GateEnv, permission.Posture{Policies: permission.Default}, environment, none[:10]},
		{permission.GateUnclear, permission.Posture{Name: permission.PostureLevels}, opaque, none[:10]},
		{permission.GateUnclear, permission.Posture{}, opaque, none[:10]},
		{permission.GatePreset, permission.Posture{Preset: permission.PresetRequire}, shell, none[:10]},
		{permission.GatePreset, permission.Posture{Preset: "nonsense"}, files("view"), none[:10]},
		{permission.GateMCP, permission.Posture{}, required, none[:10]},
		{permission.GateMCP, permission.Posture{Name: permission.PostureLevels}, permission.Call{Tool: "mcp__a__b", MCP: "nonsense"}, none[:10]},
		{permission.GateBrowser, permission.Posture{Browser: []string{"browser_flow"}}, permission.Call{Tool: "browser_flow"}, none[:10]},
		{permission.GateConfig, permission.Posture{}, permission.Call{Tool: "config_edit"}, none[:10]},
		{permission.GateConfig, permission.Posture{Name: permission.PostureLevels}, permission.Call{Tool: "config_edit"}, none[:10]},
		{permission.GateRepetition, permission.Posture{Name: permission.PostureLevels}, again, none[:10]},
		{permission.GateRepetition, permission.Posture{}, again, none[:10]},
	} {
		tool := pattern.Canonical(c.call.Tool)
		h := host.Host{Name: "a.example"}
		for i, give := range []func(p *permission.Posture, s *permission.Source){
			func(*permission.Posture, *permission.Source) {},
			func(_ *permission.Posture, s *permission.Source) { s.Approve = entries([]string{tool}) },
			func(_ *permission.Posture, s *permission.Source) { s.Promoted = entries([]string{tool}) },
			func(p *permission.Posture, _ *permission.Source) {
				p.Session = []permission.Grant{{ID: "s", Pattern: must(t, tool)}}
			},
			func(_ *permission.Posture, s *permission.Source) { s.HostAllow = entries([]string{"a.example"}) },
			func(_ *permission.Posture, s *permission.Source) { s.HostPromoted = entries([]string{"a.example"}) },
			func(p *permission.Posture, _ *permission.Source) {
				p.Session = []permission.Grant{{ID: "s", Host: h}}
			},
			func(p *permission.Posture, _ *permission.Source) {
				p.Flags.AllowTools = []pattern.Pattern{must(t, tool)}
			},
			func(p *permission.Posture, _ *permission.Source) { p.Flags.Yes = true },
			func(p *permission.Posture, _ *permission.Source) { p.Flags.YesReally = true },
		} {
			p, s := c.posture, permission.Source{Layer: permission.LayerUser, Deny: entries([]string{"exec(rm)"})}
			give(&p, &s)
			p.Config = load(t, s)
			v := permission.Decide(c.call, p)
			if open := v.Decision != permission.Ask; open != (c.opens[i] == 'x') || v.Decision == permission.Deny {
				t.Errorf("%s, answer %d: %+v", c.gate, i, v)
			}
			if v.Decision == permission.Ask && !slices.ContainsFunc(v.Gates, func(g permission.ClosedGate) bool { return g.Gate == c.gate && g.Reason != "" }) {
				t.Errorf("%s does not stand in %+v", c.gate, v.Gates)
			}
			// The same, where nobody can answer.
			p.OnAsk = permission.OnAskRefuse
			w := permission.Decide(c.call, p)
			if v.Decision == permission.Ask && (w.Decision != permission.Deny || w.Layer != permission.LayerUnattended || !strings.Contains(w.Reason, "no one is present")) {
				t.Errorf("%s, answer %d, unattended: %+v", c.gate, i, w)
			}
			// Preset block denies what a gate would ask, whatever was given.
			p.Preset = permission.PresetBlock
			if b := permission.Decide(c.call, p); c.posture.Preset == "" && len(v.Gates) > 0 && (b.Decision != permission.Deny || b.Policy != "agent_preset_approval") {
				t.Errorf("%s, answer %d, blocked: %+v", c.gate, i, b)
			}
		}
	}
}

func TestPresetsAddAndOpenNothing(t *testing.T) {
	for _, preset := range []permission.Preset{permission.PresetInherit, permission.PresetAllow, permission.PresetBlock} {
		p := permission.Posture{Preset: preset}
		if v := permission.Decide(files("view"), p); v.Decision != permission.Allow {
			t.Errorf("%s: %+v", preset, v)
		}
		p.Policies = permission.Default
		if v := permission.Decide(run("ls"), p); v.Decision == permission.AllowVisibly {
			t.Errorf("%s opens a gate: %+v", preset, v)
		}
	}
}

func TestLevels(t *testing.T) {
	isolated, inPlace := permission.Posture{Name: permission.PostureLevels}, permission.Posture{Name: permission.PostureLevels, InPlace: true}
	for _, c := range []struct {
		posture permission.Posture
		call    permission.Call
		want    permission.Decision
		level   int
		rule    string
	}{
		{isolated, files("read_file", permission.Path{Name: "a"}), permission.Allow, 0, "level-0"},
		{isolated, files("file_edit", permission.Path{Name: "a"}), permission.AllowVisibly, 1, "level-1"},
		{inPlace, files("file_edit", permission.Path{Name: "a"}), permission.Ask, 2, "level-2"},
		{inPlace, files("read_file", permission.Path{Name: "a"}), permission.Allow, 0, "level-0"},
		{isolated, permission.Call{Tool: "terminal_kill"}, permission.Ask, 2, "level-2"},
		{isolated, permission.Call{Tool: "terminal_read"}, permission.Allow, 0, "level-0"},
		{isolated, permission.Call{Tool: "git_exec"}, permission.Ask, 2, "level-2"},
		{isolated, permission.Call{Tool: "http_request"}, permission.Ask, 2, "level-2"},
		{isolated, permission.Call{Tool: "web_search"}, permission.Ask, 2, "level-2"},
		{isolated, permission.Call{Tool: "nonsense"}, permission.Ask, 2, "level-2"},
		{isolated, permission.Call{Tool: "mcp__a__b", MCP: permission.MCPAuto}, permission.AllowVisibly, 1, "level-1"},
		{isolated, permission.Call{Tool: "mcp__a__b"}, permission.Ask, 2, "level-2"},
		{isolated, permission.Call{Tool: "web_fetch"}, permission.Ask, 2, "unknown-host"},
		{isolated, fetch("https://docs.rs/"), permission.AllowVisibly, 1, "level-1"},
		{isolated, fetch("https://docs.rs:8443/"), permission.Ask, 2, "unknown-host"},
		{permission.Posture{Name: "nonsense"}, run("ls"), permission.Ask, 2, "level-2"},
		{permission.Posture{}, run("ls"), permission.AllowVisibly, 2, "runtime-policy"},
		{permission.Posture{}, fetch("http://a.example/"), permission.AllowVisibly, 2, "runtime-policy"},
		{permission.Posture{Policies: []permission.Policy{permission.PolicyNetwork}}, fetch("https://docs.rs/"), permission.Ask, 1, "runtime-policy"},
		{permission.Posture{Policies: []permission.Policy{permission.PolicyAll}}, permission.Call{Tool: "mcp__a__b", MCP: permission.MCPAuto}, permission.AllowVisibly, 1, "runtime-policy"},
		{permission.Posture{Policies: []permission.Policy{permission.PolicyShell}}, run("ls"), permission.Ask, 2, "runtime-policy"},
		{permission.Posture{Policies: []permission.Policy{permission.PolicyRead}}, files("blame"), permission.Ask, 0, "runtime-policy"},
	} {
		v := permission.Decide(c.call, c.posture)
		if v.Decision != c.want || v.Level != c.level || v.Rule != c.rule {
			t.Errorf("%s: %+v, want %s level %d by %s", c.call.Tool, v, c.want, c.level, c.rule)
		}
	}
}

func TestDenyReachesThroughTheDecision(t *testing.T) {
	config := load(t, permission.Source{
		Layer: permission.LayerProject, Deny: []permission.Text{{Text: "edit(Cargo.lock)", Reason: "It is made by cargo."}, {Text: "view(secrets/**)"}},
		HostDeny: []permission.Text{{Text: "evil.example", Reason: "Never."}},
	})
	for _, c := range []struct {
		call permission.Call
		want string
	}{
		{files("apply_patch", permission.Path{Name: "a"}, permission.Path{Name: "Cargo.lock"}), "edit(Cargo.lock): It is made by cargo."},
		{files("file_write", permission.Path{Name: "x", Resolved: "Cargo.lock"}), "edit(Cargo.lock)"},
		{files("read_file", permission.Path{Name: "pub/a.key", Resolved: "secrets/a.key"}), "view(secrets/**)"},
		{fetch("https://evil.example:8443/"), "denied by config [network] deny: evil.example: Never."},
		{permission.Call{Tool: "http_request", Facts: permission.Facts{Principal: "http://EVIL.example/"}}, "evil.example"},
		{files("file", permission.Path{Name: "Cargo.lock"}), "edit(Cargo.lock)"},
	} {
		for _, name := range []string{permission.PostureRuntime, permission.PostureLevels} {
			v := permission.Decide(c.call, permission.Posture{Name: name, Config: config, Flags: permission.Flags{Yes: true, YesReally: true}})
			if v.Decision != permission.Deny || v.Layer != permission.LayerDeny || !strings.Contains(v.Reason, c.want) || len(v.Denied) != 1 || v.Config != config.Digest {
				t.Errorf("%s: %+v, want %q", c.call.Tool, v, c.want)
			}
		}
	}
	for _, tool := range []string{"http_request", "web_fetch", "apply_patch", "read_file"} {
		if v := permission.Decide(permission.Call{Tool: tool}, permission.Posture{Config: config}); v.Decision != permission.Ask || v.Rule != string(permission.GateUnclear) {
			t.Errorf("%s without facts: %+v", tool, v)
		}
	}
	if got := config.Denied("view", permission.Facts{Paths: []permission.Path{{Name: "secrets/x"}}}); len(got) != 1 || got[0].Entry != "view(secrets/**)" {
		t.Errorf("what grep leaves out: %+v", got)
	}
}

func TestEdited(t *testing.T) {
	for _, c := range []struct {
		call      permission.Call
		text      string
		scope, in string // the scope; a piece of what it covers, or of the error
	}{
		{run("cargo", "test", "x"), "exec(cargo) args(test *)", "exec(cargo) args(test *)", ""},
		{run("cargo", "test"), "exec(cargo) args(build *)", "", "does not cover"},
		{run("cargo", "test"), "shell(cargo test)", "", "about shell, not about exec"},
		{run("cargo", "test"), "exec(cargo)", "", "arguments are missing"},
		{run("cargo", "test"), "cargo", "", "no tool"},
		{permission.Call{Tool: "shell_exec", Facts: permission.Facts{Principal: "ls"}}, "shell(ls -l)", "shell(ls -l)", "exactly this command, character for character, in the workspace itself" + permission.NotThisCall},
		{permission.Call{Tool: "shell_exec", Facts: permission.Facts{Principal: "ls"}}, "shell", "", "any command"},
		{fetch("https://a.example/"), "A.example.", "a.example", ""},
		{fetch("https://a.example/"), "b.example", "b.example", "exactly b.example (not subdomains, not other ports), by web_fetch only" + permission.NotThisCall},
		{fetch("https://a.example/"), "*.example", "", "wildcards"},
		{fetch("http://a.example/"), "a.example", "", "only fetches over https"},
	} {
		o, err := permission.Edited(c.call, c.text)
		says := o.Covers
		if err != nil {
			says = err.Error()
		}
		if o.Scope != c.scope || (err == nil) != (c.scope != "") || !strings.Contains(says, c.in) || (c.in == "") == strings.Contains(says, permission.NotThisCall) && err == nil {
			t.Errorf("%s: %+v, %v", c.text, o, err)
		}
		if err == nil && (o.Covers == "" || o.List == "") {
			t.Errorf("%s: says nothing: %+v", c.text, o)
		}
	}
}

func TestMessages(t *testing.T) {
	unattended := permission.Posture{Name: permission.PostureLevels, OnAsk: permission.OnAskRefuse}
	for _, c := range []struct {
		call permission.Call
		want string
	}{
		{run("cargo"), "no one is present to approve this call; run hecate interactively, or pass --yes for Level 2 tools"},
		{fetch("https://a.example/"), "no one is present to approve this call; run hecate interactively, or pass --allow-tools web_fetch or --yes-really"},
		{permission.Call{Tool: "config_edit"}, "no one is present to approve this call; run hecate interactively (config_edit asks for every change)"},
	} {
		if v := permission.Decide(c.call, unattended); v.Reason != c.want {
			t.Errorf("%s: %q", c.call.Tool, v.Reason)
		}
	}
	if got := permission.DeniedByUser(" use pnpm\n"); got != "denied by the user: use pnpm" {
		t.Errorf("%q", got)
	}
	if got := permission.DeniedByUser(""); got != "denied by the user" {
		t.Errorf("%q", got)
	}
	v := permission.Decide(fetch("https://docs.rs@a.example/"), permission.Posture{Name: permission.PostureLevels, Project: true})
	if len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "a.example") || v.Offer == nil || !v.Offer.IsHost ||
		v.Offer.Covers != "any https:// GET to exactly a.example (not subdomains, not other ports), by web_fetch only" {
		t.Errorf("%+v", v)
	}
	other := fetch("https://d\u043ecs.rs/")
	if v := permission.Decide(other, permission.Posture{Name: permission.PostureLevels}); v.Offer != nil {
		t.Errorf("a host without normal form is offered: %+v", v.Offer)
	}
	other.Facts.ASCIIHost = "xn--dcs-sbc.rs"
	if v := permission.Decide(other, permission.Posture{Name: permission.PostureLevels}); v.Offer == nil || v.Offer.Scope != "xn--dcs-sbc.rs" || len(v.Notes) != 1 {
		t.Errorf("%+v", v)
	}
	script := permission.Call{Tool: "shell", Facts: permission.Facts{Principal: "sh build.sh; ./x", Programs: append(parsed("sh", "build.sh"), parsed("./x")...)}}
	if v := permission.Decide(script, permission.Posture{}); len(v.Notes) != 2 || !strings.Contains(v.Notes[0], `"build.sh"`) {
		t.Errorf("%+v", v.Notes)
	}
	environment := run("cargo", "test")
	environment.Facts.Env = map[string]string{"PATH": "s3cret", "HOME": "s3cret"}
	v = permission.Decide(environment, permission.Posture{Name: permission.PostureLevels})
	if text, _ := json.Marshal(v); v.Offer != nil || !strings.Contains(v.Reason, "HOME, PATH") || strings.Contains(string(text), "s3cret") {
		t.Errorf("%s", text)
	}
}

func TestExplain(t *testing.T) {
	p := permission.Posture{Name: permission.PostureLevels, Config: load(t, permission.Source{
		Layer: permission.LayerUser, Deny: []permission.Text{{Text: "exec(rm)", At: "config.toml:3"}}, Approve: entries([]string{"exec(cargo) args(*)"}),
		HostAllow: entries([]string{"a.example"}), HostDeny: entries([]string{"b.example"}),
	}), Session: []permission.Grant{{ID: "s1", Pattern: must(t, "exec(go) args(*)")}, {ID: "s2", Host: host.Host{Name: "c.example"}}}}
	x := permission.Explain(run("cargo", "build"), p)
	if x.Verdict.Grant == nil || x.Verdict.Grant.By != permission.ListApprove || x.Verdict.Layer != permission.LayerAnswer || len(x.Entries) != 6 {
		t.Fatalf("%+v", x)
	}
	for _, e := range x.Entries {
		if e.Matches != (e.Text == "exec(cargo) args(*)") || e.ID == "" || (e.Covers == "") == (len(e.Unreached) == 0) {
			t.Errorf("%+v", e)
		}
	}
	if x.Verdict.Grant.ID != x.Entries[2].ID {
		t.Errorf("grant %s is none of %+v", x.Verdict.Grant.ID, x.Entries)
	}
	x = permission.Explain(permission.Call{Tool: "shell_exec", Facts: permission.Facts{Principal: "$X", Opaque: true}}, p)
	if x.Tool != "shell (shell_exec)" || !x.Entries[1].Unclear {
		t.Errorf("%+v", x)
	}
	for url, want := range map[string]string{"https://a.example/": "a.example", "https://b.example/": "b.example", "https://c.example/": "c.example", "http://a.example/": ""} {
		for _, e := range permission.Explain(fetch(url), p).Entries {
			if e.Matches != (e.Text == want) {
				t.Errorf("%s: %+v", url, e)
			}
		}
	}
	if _, err := json.Marshal(x); err != nil {
		t.Error(err)
	}
}
