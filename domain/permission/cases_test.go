package permission_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"hecate/domain/permission"
	"hecate/domain/permission/command"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
	"hecate/domain/permission/repetition"
)

// kase is one line of testdata/cases.jsonl: what is given, a call, and what must come of it.
type kase struct {
	ID     string   `json:"id"`
	Why    string   `json:"why"`
	Given  given    `json:"given"`
	Call   caseCall `json:"call"`
	Expect expect   `json:"expect"`
}

type given struct {
	Deny []struct {
		Pattern string           `json:"pattern"`
		Reason  string           `json:"reason"`
		Layer   permission.Layer `json:"layer"`
	} `json:"deny"`
	Approve  []string `json:"approve"`
	Promoted []string `json:"promoted"`
	Session  []string `json:"session"`
	Network  struct {
		Allow, Deny, Promoted, Session []string
	} `json:"network"`
	Flags struct {
		AllowTools []string `json:"allow_tools"`
		Yes        bool     `json:"yes"`
		YesReally  bool     `json:"yes_really"`
	} `json:"flags"`
	Attended bool  `json:"attended"`
	Project  *bool `json:"project"` // absent: there is one
	History  []struct {
		Times   int      `json:"times"`
		Call    caseCall `json:"call"`
		Outcome string   `json:"outcome"`
		Result  string   `json:"result"`
		Event   string   `json:"event"`
	} `json:"history"`
	Assessment repetition.Assessment `json:"assessment"`
}

type caseCall struct {
	Tool       string            `json:"tool"`
	Program    string            `json:"program"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`
	Principal  string            `json:"principal"`
	RedirectTo string            `json:"redirect_to"`
}

type expect struct {
	Decision          string          `json:"decision"`
	Also              []string        `json:"also"`
	Level             *int            `json:"level"`
	OfferedPattern    json.RawMessage `json:"offered_pattern"` // absent: not said; null: none
	Offers            []string        `json:"offers"`
	OffersNot         []string        `json:"offers_not"`
	ReasonContains    []string        `json:"reason_contains"`
	ReasonOrder       [][2]string     `json:"reason_order"`
	ReasonNotContains []string        `json:"reason_not_contains"`
	Redirect          string          `json:"redirect"`
	ResultContains    []string        `json:"result_contains"`
}

func TestCases(t *testing.T) {
	file, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var k kase
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		if err := d.Decode(&k); err != nil {
			t.Fatal(err)
		}
		t.Run(k.ID, func(t *testing.T) { k.check(t) })
	}
	if n != 137 {
		t.Errorf("%d cases were read", n)
	}
}

func (k kase) check(t *testing.T) {
	p := k.Given.posture(t)
	c := k.Call.facts()
	c.Checkpoint = k.checkpoint()
	v := permission.Decide(c, p)
	t.Logf("%s: %+v", k.Why, v)
	said := map[permission.Decision]string{"allow": "allow", "allow_visibly": "visible", "ask": "ask", "deny": "deny"}[v.Decision]
	want := append(k.Expect.Also, k.Expect.Decision)
	if slices.Contains(want, "allow") {
		want = append(want, "visible")
	}
	if !slices.Contains(want, said) {
		t.Errorf("decision %q, want %q", said, want)
	}
	if k.Expect.Level != nil && v.Level != *k.Expect.Level {
		t.Errorf("level %d, want %d", v.Level, *k.Expect.Level)
	}
	k.checkOffer(t, v)
	k.checkReason(t, v)
	k.checkRedirect(t)
}

func (k kase) checkOffer(t *testing.T, v permission.Verdict) {
	if k.Expect.OfferedPattern != nil {
		var want *string
		if err := json.Unmarshal(k.Expect.OfferedPattern, &want); err != nil {
			t.Fatal(err)
		}
		switch {
		case want == nil && v.Offer != nil:
			t.Errorf("offered %q, want nothing", v.Offer.Scope)
		case want != nil && (v.Offer == nil || v.Offer.Scope != *want):
			t.Errorf("offered %+v, want %q", v.Offer, *want)
		}
	}
	for _, a := range k.Expect.Offers {
		if !slices.Contains(v.Answers, a) {
			t.Errorf("the answer %s is not offered: %q", a, v.Answers)
		}
	}
	for _, a := range k.Expect.OffersNot {
		if slices.Contains(v.Answers, a) {
			t.Errorf("the answer %s is offered: %q", a, v.Answers)
		}
	}
}

func (k kase) checkReason(t *testing.T, v permission.Verdict) {
	for _, s := range k.Expect.ReasonContains {
		if !strings.Contains(v.Reason, s) {
			t.Errorf("the reason %q does not have %q", v.Reason, s)
		}
	}
	for _, s := range k.Expect.ReasonNotContains {
		if strings.Contains(v.Reason, s) {
			t.Errorf("the reason %q has %q", v.Reason, s)
		}
	}
	for _, pair := range k.Expect.ReasonOrder {
		if a, b := strings.Index(v.Reason, pair[0]), strings.Index(v.Reason, pair[1]); a < 0 || a > b {
			t.Errorf("in %q, %q does not come before %q", v.Reason, pair[0], pair[1])
		}
	}
}

func (k kase) checkRedirect(t *testing.T) {
	if k.Call.RedirectTo == "" {
		return
	}
	next, follow := host.FollowRedirect(k.Call.Principal, k.Call.RedirectTo)
	if follow != (k.Expect.Redirect == "followed") {
		t.Errorf("redirect to %s: followed %t", next, follow)
	}
	for _, s := range k.Expect.ResultContains {
		if !strings.Contains(next, s) {
			t.Errorf("the redirect leads to %q, without %q", next, s)
		}
	}
}

func (g given) posture(t *testing.T) permission.Posture {
	user, project := permission.Source{Layer: permission.LayerUser, Accepted: true}, permission.Source{Layer: permission.LayerProject, Accepted: true}
	for _, d := range g.Deny {
		entry := permission.Text{Text: d.Pattern, Reason: d.Reason}
		if d.Layer == permission.LayerUser {
			user.Deny = append(user.Deny, entry)
		} else {
			project.Deny = append(project.Deny, entry)
		}
	}
	project.Approve, project.Promoted = entries(g.Approve), entries(g.Promoted)
	project.HostAllow, project.HostDeny, project.HostPromoted = entries(g.Network.Allow), entries(g.Network.Deny), entries(g.Network.Promoted)
	// The order of loading makes no difference.
	config, problems := permission.Load(project, user)
	for _, x := range problems {
		if x.Refused {
			t.Errorf("refused: %s", x)
		}
	}
	p := permission.Posture{
		Name: permission.PostureLevels, Config: config, OnAsk: permission.OnAskRefuse, Project: g.Project == nil || *g.Project,
		Flags: permission.Flags{Yes: g.Flags.Yes, YesReally: g.Flags.YesReally},
	}
	if g.Attended {
		p.OnAsk = permission.OnAskPark
	}
	for _, s := range g.Session {
		p.Session = append(p.Session, permission.Grant{ID: "g1", Pattern: must(t, s)})
	}
	for _, s := range g.Network.Session {
		h, err := host.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		p.Session = append(p.Session, permission.Grant{ID: "g2", Host: h})
	}
	for _, s := range g.Flags.AllowTools {
		p.Flags.AllowTools = append(p.Flags.AllowTools, must(t, s))
	}
	return p
}

func entries(texts []string) (out []permission.Text) {
	for _, s := range texts {
		out = append(out, permission.Text{Text: s})
	}
	return out
}

func must(t testing.TB, text string) pattern.Pattern {
	t.Helper()
	p, err := pattern.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// facts are what the tools would hand in.
func (c caseCall) facts() permission.Call {
	out := permission.Call{Tool: c.Tool, Facts: permission.Facts{Principal: c.Principal}}
	switch c.Tool {
	case "exec":
		out.Facts.Argv = append([]string{c.Program}, c.Args...)
		out.Facts.Env = c.Env
		var whole bool
		out.Facts.Programs, whole = command.Programs([]command.Program{{Argv: out.Facts.Argv}}, parseScript)
		out.Facts.Opaque = !whole
	case "shell", "background":
		commands, read := parseScript(c.Principal)
		var whole bool
		out.Facts.Programs, whole = command.Programs(commands, parseScript)
		out.Facts.Opaque = !whole || !read
	case "web_fetch", "config_edit", "job_kill":
	default:
		out.Facts = permission.Facts{Paths: []permission.Path{{Name: c.Principal}}}
	}
	return out
}

// parseScript reads the commands of a shell script whose words are plain.
func parseScript(script string) (out []command.Program, whole bool) {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		var p command.Program
		for _, w := range call.Args {
			text := w.Lit()
			if q, ok := w.Parts[0].(*syntax.SglQuoted); ok && len(w.Parts) == 1 {
				text = q.Value
			} else if text == "" {
				text = command.Unknown
			}
			p.Argv = append(p.Argv, text)
		}
		out = append(out, p)
		return true
	})
	return out, true
}

// checkpoint folds the history and lets the checker say what the case gives.
func (k kase) checkpoint() string {
	var s repetition.State
	for _, h := range k.Given.History {
		if h.Event == "checkpoint_approved" {
			s = s.Approved()
			continue
		}
		for range max(h.Times, 1) {
			s = s.Completed(repetition.Attempt{
				Kind: repetition.KindOf(h.Call.Tool, true), Call: h.Call.hash(), Outcome: h.Outcome, Result: h.Result, Refused: h.Outcome == "refused",
			}, repetition.Default)
		}
	}
	f := s.Find(repetition.Pending{Kind: repetition.KindOf(k.Call.Tool, true), Call: k.Call.hash()}, repetition.Default)
	return f.Checkpoint(k.Given.Assessment)
}

func (c caseCall) hash() string {
	return strings.Join(append([]string{c.Tool, c.Program, c.Principal}, c.Args...), "\x00")
}
