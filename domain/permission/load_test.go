package permission_test

import (
	"strings"
	"testing"

	"hecate/domain/permission"
)

func TestLoad(t *testing.T) {
	bad := permission.Source{
		Layer: permission.LayerProject, Accepted: true,
		Deny:      []permission.Text{{Text: "shell(cargo *)", At: "config.toml:2"}, {Text: "exec(rm)"}, {Text: "nonsense"}},
		Approve:   entries([]string{"shell(ls *)", "web_fetch(https://docs.rs/*)", "exec(cargo) args(*)", "web_fetch"}),
		HostAllow: entries([]string{"*.example", "127.0.0.1", "a.example"}),
		HostDeny:  entries([]string{"https://evil.example"}),
	}
	config, problems := permission.Load(bad)
	var texts []string
	for _, e := range config.Entries {
		texts = append(texts, e.Text())
	}
	if got := strings.Join(texts, ", "); got != "exec(rm), shell(ls *), exec(cargo) args(*), web_fetch, 127.0.0.1, a.example" {
		t.Errorf("in force: %s", got)
	}
	var said []string
	for _, p := range problems {
		said = append(said, p.String())
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{
		`config.toml:2: refused: [permissions.deny] pattern "shell(cargo *)", at byte 12`, "write exec(program) args(*)",
		`no tool "nonsense"`, "warning: [permissions.approve] shell(ls *):", "put the host into [network] allow", "hosts have no wildcards",
		"127.0.0.1 is loopback", "leave out the scheme", "opens no host",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not said:\n%s", want, all)
		}
	}
	if len(problems) != 8 {
		t.Errorf("%d problems:\n%s", len(problems), all)
	}
}

func TestAProjectFileThatNobodyAcceptedGivesNothing(t *testing.T) {
	s := permission.Source{
		Layer: permission.LayerProject, Deny: entries([]string{"exec(rm)"}), HostDeny: entries([]string{"evil.example"}),
		Approve: entries([]string{"shell"}), Promoted: entries([]string{"exec"}), HostAllow: entries([]string{"a.example"}), HostPromoted: entries([]string{"b.example"}),
	}
	config, problems := permission.Load(s)
	if len(config.Entries) != 2 || len(problems) != 1 || problems[0].Refused || !strings.Contains(problems[0].Message, "grants (4)") {
		t.Errorf("%+v, %v", config.Entries, problems)
	}
	p := permission.Posture{Name: permission.PostureLevels, Config: config}
	for _, c := range []permission.Call{{Tool: "shell", Facts: permission.Facts{Principal: "ls", Programs: parsed("ls")}}, run("ls"), fetch("https://a.example/"), fetch("https://b.example/")} {
		if v := permission.Decide(c, p); v.Decision != permission.Ask {
			t.Errorf("%s: %+v", c.Tool, v)
		}
	}
	if v := permission.Decide(run("rm"), p); v.Decision != permission.Deny {
		t.Errorf("%+v", v)
	}
}

func TestIDsAndDigest(t *testing.T) {
	one, _ := permission.Load(permission.Source{Layer: permission.LayerUser, Accepted: true, Approve: entries([]string{"shell_exec(ls)", "exec"})})
	two, _ := permission.Load(permission.Source{Layer: permission.LayerUser, Accepted: true, Approve: entries([]string{"exec", "shell(ls)"})})
	if one.Entries[0].ID != two.Entries[1].ID || one.Entries[0].ID == one.Entries[1].ID {
		t.Errorf("ids: %+v, %+v", one.Entries, two.Entries)
	}
	if one.Digest == two.Digest || len(one.Digest) != 64 {
		t.Errorf("digests: %s, %s", one.Digest, two.Digest)
	}
	if none, _ := permission.Load(); none.Digest != "" {
		t.Error("nothing has a digest")
	}
	long, problems := permission.Load(permission.Source{Deny: []permission.Text{{Text: "exec", Reason: strings.Repeat("ä", 9000)}}})
	if len(long.Entries) != 1 || len(long.Entries[0].Reason) > 5000 || len(problems) != 1 || problems[0].Refused {
		t.Errorf("a long reason: %+v", problems)
	}
}
