package permission_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hecate/domain/permission"
	"hecate/domain/permission/command"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

func parsed(argv ...string) []command.Program { return []command.Program{{Argv: argv}} }

var (
	texts     = rapid.SampledFrom([]string{"", "ls", "rm -rf x", "a*", "job-1", "*", "https://docs.rs/x", "https://a.example/", "http://a.example/", "https://u@a.example:8443/y", "file:///x", "https://2130706433/"})
	names     = rapid.SampledFrom([]string{"a", "src/a", "src/x/b", "./src/../a", ".", "../a", "/a", ".git/config", ".hecate/config.toml", "a*/b", "secrets/k"})
	arguments = rapid.SampledFrom([]string{"ls", "rm", "env", "sh", "-c", "rm x", "./rm", "a b", "*", "", command.Unknown})
	callNames = rapid.SampledFrom(append(pattern.Names(), "shell_exec", "file_write", "file_edit", "read_file", "git", "file", "mcp__a__b", "mcp__a__c", "nonsense"))

	anyPattern = rapid.SampledFrom([]string{
		"shell", "exec", "edit", "view", "web_fetch", "config_edit", "git_exec", "background", "apply_patch", "mcp__a__b", "browser_flow", "http_request", "job_kill",
		"shell(ls)", "exec(rm) args(*)", "exec(ls) args(*)", "exec(env) args(*)", "edit(src/*)", "edit(**)", "view(secrets/**)", "create(a)", "git_exec(ls)", "job_kill(job-1)",
	})
	denyPattern = rapid.OneOf(anyPattern, rapid.SampledFrom([]string{"exec(rm)", "web_fetch(https://docs.rs/*)", "config_edit(*)", "job_kill(*)", "exec(sh)"}))
	anyHost     = rapid.SampledFrom([]string{"docs.rs", "a.example", "a.example:8443", "127.0.0.1"})
)

var calls = rapid.Custom(func(t *rapid.T) permission.Call {
	c := permission.Call{
		Tool: callNames.Draw(t, "tool"), Propose: rapid.Bool().Draw(t, "propose"),
		MCP: rapid.SampledFrom([]permission.MCPPolicy{"", permission.MCPAuto, permission.MCPRequire, permission.MCPBlock, "x"}).Draw(t, "mcp"),
		Facts: permission.Facts{
			Principal: texts.Draw(t, "principal"), Argv: rapid.SliceOfN(arguments, 0, 4).Draw(t, "argv"),
			Opaque: rapid.Bool().Draw(t, "opaque"), FoldCase: rapid.Bool().Draw(t, "fold"),
		},
	}
	for range rapid.IntRange(0, 2).Draw(t, "paths") {
		c.Facts.Paths = append(c.Facts.Paths, permission.Path{Name: names.Draw(t, "path"), Resolved: rapid.OneOf(rapid.Just(""), names).Draw(t, "resolved")})
	}
	if rapid.Bool().Draw(t, "parsed") {
		c.Facts.Programs = parsed(rapid.SliceOfN(arguments, 1, 3).Draw(t, "program")...)
	}
	if rapid.IntRange(0, 3).Draw(t, "env") == 0 {
		c.Facts.Env = map[string]string{rapid.SampledFrom([]string{"PATH", "RUST_BACKTRACE"}).Draw(t, "variable"): "x"}
	}
	if rapid.IntRange(0, 5).Draw(t, "again") == 0 {
		c.Checkpoint = "over and over"
	}
	return c
})

// some draws a list that is often empty.
func some(t *rapid.T, from *rapid.Generator[string], label string) []permission.Text {
	return entries(rapid.SliceOfN(from, 0, 2).Draw(t, label))
}

// bare draws a posture in which nothing was given.
var bare = rapid.Custom(func(t *rapid.T) permission.Posture {
	return permission.Posture{
		Name: rapid.SampledFrom([]string{"", permission.PostureRuntime, permission.PostureLevels, permission.PostureLevels, "x"}).Draw(t, "posture"),
		Policies: rapid.SliceOfN(rapid.SampledFrom([]permission.Policy{
			permission.PolicyShell, permission.PolicyGit, permission.PolicyWrite, permission.PolicyNetwork, permission.PolicyRead, permission.PolicyAll,
		}), 0, 3).Draw(t, "policies"),
		ReadOnly: rare(t, "read_only"), InPlace: rapid.Bool().Draw(t, "in_place"), ToolsOff: rare(t, "tools_off"), NetworkOff: rare(t, "network_off"),
		Browser: rapid.SampledFrom([][]string{nil, {"browser_flow", "browser_inspect"}}).Draw(t, "browser"),
		Preset:  rapid.SampledFrom([]permission.Preset{"", "", permission.PresetInherit, permission.PresetAllow, permission.PresetRequire, permission.PresetBlock, "x"}).Draw(t, "preset"),
		OnAsk:   rapid.SampledFrom([]permission.OnAsk{"", permission.OnAskPark, permission.OnAskRefuse}).Draw(t, "on_ask"),
		Project: rapid.Bool().Draw(t, "project"), PrivateAddrs: rapid.Bool().Draw(t, "private"),
	}
})

func rare(t *rapid.T, label string) bool { return rapid.IntRange(0, 9).Draw(t, label) == 0 }

// grants gives something of everything.
func grants(t *rapid.T, p permission.Posture) (permission.Posture, permission.Source) {
	s := permission.Source{
		Accepted: true, Approve: some(t, anyPattern, "approve"), Promoted: some(t, anyPattern, "promoted"),
		HostAllow: some(t, anyHost, "allow"), HostPromoted: some(t, anyHost, "hosts"),
	}
	for _, e := range some(t, anyPattern, "session") {
		x, err := pattern.Parse(e.Text)
		if err != nil {
			t.Fatal(err)
		}
		p.Session = append(p.Session, permission.Grant{ID: "s", Pattern: x})
		p.Flags.AllowTools = append(p.Flags.AllowTools, x)
	}
	p.Flags.Yes, p.Flags.YesReally = rapid.Bool().Draw(t, "yes"), rapid.Bool().Draw(t, "yes_really")
	return p, s
}

func configured(t *rapid.T, s permission.Source) permission.Config {
	c, problems := permission.Load(s)
	for _, x := range problems {
		if x.Refused {
			t.Fatal(x)
		}
	}
	return c
}

// loudness orders decisions from quiet to never.
func loudness(d permission.Decision) int {
	return slices.Index([]permission.Decision{permission.Allow, permission.AllowVisibly, permission.Ask, permission.Deny}, d)
}

func TestNothingIsQuieterThanItsLevelWithoutAGrant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, p := calls.Draw(t, "call"), bare.Draw(t, "posture")
		p.Config = configured(t, permission.Source{Accepted: true, Deny: some(t, denyPattern, "deny"), HostDeny: some(t, anyHost, "host_deny")})
		v := permission.Decide(c, p)
		least := permission.Allow
		switch {
		case p.Name != "" && p.Name != permission.PostureRuntime && v.Level == permission.Asks:
			least = permission.Ask
		case v.Level > permission.Silent:
			least = permission.AllowVisibly
		}
		if loudness(v.Decision) < loudness(least) || v.Grant != nil {
			t.Fatalf("level %d is decided %+v", v.Level, v)
		}
		// What can be given does not change the level, but for listed hosts and servers set to auto.
		if c.Tool != "web_fetch" && !pattern.IsMCP(c.Tool) {
			q, s := grants(t, p)
			q.Config = configured(t, s)
			if w := permission.Decide(c, q); w.Level != v.Level || w.Level > permission.Silent && w.Decision == permission.Allow {
				t.Fatalf("given things make it %+v", w)
			}
		}
	})
}

func TestAGrantIsNamedWhereverAGateIsOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := calls.Draw(t, "call")
		p, s := grants(t, bare.Draw(t, "posture"))
		p.Config = configured(t, s)
		v := permission.Decide(c, p)
		runs := v.Decision == permission.Allow || v.Decision == permission.AllowVisibly
		if runs && len(v.Gates) > 0 && (v.Grant == nil || v.Grant.By == "" || v.Layer != permission.LayerAnswer) {
			t.Fatalf("a gate is open and nobody says why: %+v", v)
		}
		if !runs && (v.Grant != nil || v.Reason == "") {
			t.Fatalf("%+v", v)
		}
		if (v.Decision == permission.Ask) != (len(v.Answers) > 0) || v.Offer != nil && v.Decision != permission.Ask {
			t.Fatalf("answers to no question: %+v", v)
		}
		if v.Layer == "" || v.Rule == "" || v.Posture == "" || !reflect.DeepEqual(v, permission.Decide(c, p)) {
			t.Fatalf("%+v", v)
		}
	})
}

func TestAddingADenyNeverMakesAnythingQuieter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := calls.Draw(t, "call")
		p, s := grants(t, bare.Draw(t, "posture"))
		s.Deny = some(t, denyPattern, "deny")
		p.Config = configured(t, s)
		before := permission.Decide(c, p)
		s.Deny = append(s.Deny, permission.Text{Text: denyPattern.Draw(t, "more")})
		s.HostDeny = some(t, anyHost, "host_deny")
		p.Config = configured(t, s)
		if after := permission.Decide(c, p); loudness(after.Decision) < loudness(before.Decision) {
			t.Fatalf("%+v became %+v", before, after)
		}
	})
}

func TestDenyBeatsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := calls.Draw(t, "call")
		p, s := grants(t, bare.Draw(t, "posture"))
		s.Deny = []permission.Text{{Text: denyPattern.Draw(t, "deny"), Reason: "because"}}
		p.Config = configured(t, s)
		x, err := pattern.Parse(s.Deny[0].Text)
		if err != nil {
			t.Fatal(err)
		}
		if v := permission.Decide(c, p); x.Reaches(c.Tool, c.Facts) && v.Decision != permission.Deny {
			t.Fatalf("%s matches, and %+v", x, v)
		}
	})
}

// Whoever answers a is not asked about the same call again.
func TestAnOfferThatIsTakenAnswersTheSameCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, p := calls.Draw(t, "call"), bare.Draw(t, "posture")
		v := permission.Decide(c, p)
		if v.Offer == nil {
			return
		}
		again, err := permission.Edited(c, v.Offer.Scope)
		if err != nil || again != *v.Offer {
			t.Fatalf("the offer is edited to itself: %+v, %v", again, err)
		}
		g := permission.Grant{ID: "given"}
		if v.Offer.IsHost {
			g.Host, err = host.Parse(v.Offer.Scope)
		} else {
			g.Pattern, err = pattern.Parse(v.Offer.Scope)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Session = append(p.Session, g)
		if w := permission.Decide(c, p); w.Decision != permission.AllowVisibly && w.Decision != permission.Allow || w.Grant.ID != "given" {
			t.Fatalf("%+v was taken, and %+v", v.Offer, w)
		}
	})
}

func FuzzDecide(f *testing.F) {
	f.Add("web_fetch", "https://docs.rs@evil.example/", "", "web_fetch(https://*)", "docs.rs")
	f.Add("exec", "env\x00rm", "", "exec(rm)", "a.example")
	f.Add("edit", "", ".git/../x", "edit(**/x)", "")
	f.Fuzz(func(t *testing.T, tool, principal, name, entry, listed string) {
		c := permission.Call{Tool: tool, Facts: permission.Facts{
			Principal: principal, Argv: []string{principal, name}, Paths: []permission.Path{{Name: name, Resolved: principal}}, ASCIIHost: name,
			Env: map[string]string{name: principal},
		}}
		one := []permission.Text{{Text: entry}}
		config, _ := permission.Load(permission.Source{Accepted: true, Deny: one, HostDeny: []permission.Text{{Text: listed}}})
		grants, _ := permission.Load(permission.Source{Accepted: true, Approve: one, HostAllow: []permission.Text{{Text: listed}}})
		for _, posture := range []string{permission.PostureRuntime, permission.PostureLevels} {
			p := permission.Posture{Name: posture}
			before := permission.Decide(c, p)
			p.Config = config
			if after := permission.Explain(c, p).Verdict; loudness(after.Decision) < loudness(before.Decision) {
				t.Fatalf("a deny made %+v to %+v", before, after)
			}
			p.Config = grants
			if after := permission.Explain(c, p).Verdict; before.Decision == permission.Deny && after.Decision != permission.Deny {
				t.Fatalf("a grant made %+v to %+v", before, after)
			}
		}
	})
}
