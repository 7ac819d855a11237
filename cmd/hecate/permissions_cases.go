package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"hecate/domain/permission"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
	"hecate/domain/permission/repetition"
	"hecate/tools"
)

// permissionCase is one line for "permissions explain --jsonl": what is given, and a call.
type permissionCase struct {
	ID    string `json:"id"`
	Given struct {
		Deny []struct {
			Pattern string           `json:"pattern"`
			Reason  string           `json:"reason"`
			Layer   permission.Layer `json:"layer"` // user; else project
		} `json:"deny"`
		Approve  []string `json:"approve"`
		Promoted []string `json:"promoted"`
		Session  []string `json:"session"`
		Network  struct {
			Allow    []string `json:"allow"`
			Deny     []string `json:"deny"`
			Promoted []string `json:"promoted"`
			Session  []string `json:"session"`
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
			Event   string   `json:"event"` // checkpoint_approved, instead of a call
		} `json:"history"`
		Assessment repetition.Assessment `json:"assessment"`
	} `json:"given"`
	Call caseCall `json:"call"`
}

// caseCall is a call of a case.
type caseCall struct {
	Tool      string            `json:"tool"`
	Program   string            `json:"program"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Principal string            `json:"principal"`
}

// caseAnswer is what is said of a case.
type caseAnswer struct {
	ID       string   `json:"id"`
	Decision string   `json:"decision,omitempty"` // allow, visible, ask or deny
	Level    int      `json:"level"`
	Layer    string   `json:"layer,omitempty"`
	Reasons  []string `json:"reasons"`
	Message  string   `json:"message,omitempty"`
	Offered  *string  `json:"offered_pattern"`
	Answers  []string `json:"answers,omitempty"` // to a question
	Error    string   `json:"error,omitempty"`
}

// caseMax is the longest line that is read, in bytes.
const caseMax = 4 << 20

// explainCases decides each line of in by levels.
func explainCases(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, caseMax)
	w := bufio.NewWriter(out)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if err := e.Encode(answerCase(lines.Bytes())); err != nil {
			return fmt.Errorf("print an answer: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the cases: %w", err)
	}
	return w.Flush()
}

func answerCase(line []byte) caseAnswer {
	var k permissionCase
	if err := json.Unmarshal(line, &k); err != nil {
		return caseAnswer{ID: k.ID, Reasons: []string{}, Error: err.Error()}
	}
	p, err := k.posture()
	if err != nil {
		return caseAnswer{ID: k.ID, Reasons: []string{}, Error: err.Error()}
	}
	c := k.Call.call()
	c.Checkpoint = k.checkpoint()
	v := permission.Decide(c, p)
	out := caseAnswer{ID: k.ID, Decision: said(v.Decision), Level: v.Level, Layer: v.Layer, Reasons: []string{}, Message: v.Reason, Answers: v.Answers}
	for line := range strings.SplitSeq(v.Reason, "\n") {
		if line != "" {
			out.Reasons = append(out.Reasons, line)
		}
	}
	if v.Offer != nil {
		out.Offered = &v.Offer.Scope
	}
	return out
}

// posture is what the case gives. What a file would be refused for is an error.
func (k permissionCase) posture() (permission.Posture, error) {
	g := k.Given
	p := permission.Posture{
		Name: permission.PostureLevels, OnAsk: permission.OnAskRefuse, Project: g.Project == nil || *g.Project,
		Flags: permission.Flags{Yes: g.Flags.Yes, YesReally: g.Flags.YesReally},
	}
	if g.Attended {
		p.OnAsk = permission.OnAskPark
	}
	var err error
	if p.Config, err = k.config(); err != nil {
		return p, err
	}
	for i, s := range g.Session {
		x, err := pattern.Parse(s)
		if err != nil {
			return p, err
		}
		p.Session = append(p.Session, permission.Grant{ID: fmt.Sprintf("session_%d", i+1), Pattern: x})
	}
	for i, s := range g.Network.Session {
		h, err := host.Parse(s)
		if err != nil {
			return p, err
		}
		p.Session = append(p.Session, permission.Grant{ID: fmt.Sprintf("host_%d", i+1), Host: h})
	}
	for _, s := range g.Flags.AllowTools {
		x, err := pattern.Parse(s)
		if err != nil {
			return p, err
		}
		p.Flags.AllowTools = append(p.Flags.AllowTools, x)
	}
	return p, nil
}

func (k permissionCase) config() (permission.Config, error) {
	g := k.Given
	user, project := permission.Source{Layer: permission.LayerUser, Accepted: true}, permission.Source{Layer: permission.LayerProject, Accepted: true}
	for _, d := range g.Deny {
		to := &project
		if d.Layer == permission.LayerUser {
			to = &user
		}
		to.Deny = append(to.Deny, permission.Text{Text: d.Pattern, Reason: d.Reason})
	}
	project.Approve, project.Promoted = texts(g.Approve), texts(g.Promoted)
	project.HostAllow, project.HostDeny, project.HostPromoted = texts(g.Network.Allow), texts(g.Network.Deny), texts(g.Network.Promoted)
	config, problems := permission.Load(user, project)
	for _, x := range problems {
		if x.Refused {
			return config, fmt.Errorf("%s", x)
		}
	}
	return config, nil
}

func texts(list []string) (out []permission.Text) {
	for _, s := range list {
		out = append(out, permission.Text{Text: s})
	}
	return out
}

// call is the call in an ordinary workspace: names differ by case, and there are no links.
func (c caseCall) call() permission.Call {
	about := []string{c.Principal}
	if pattern.Canonical(c.Tool) == "exec" {
		about = append([]string{c.Program}, c.Args...)
	}
	out := callAbout(tools.Place{}, c.Tool, about)
	out.Facts.Env, out.Facts.FoldCase = c.Env, false
	return out
}

func (c caseCall) name() string {
	return strings.Join(append([]string{c.Tool, c.Program, c.Principal}, c.Args...), "\x00")
}

// checkpoint is why the repetition guard wants a person to look, after the history.
func (k permissionCase) checkpoint() string {
	var s repetition.State
	for _, h := range k.Given.History {
		if h.Event == "checkpoint_approved" {
			s = s.Approved()
			continue
		}
		for range max(h.Times, 1) {
			s = s.Completed(repetition.Attempt{
				Kind: repetition.KindOf(h.Call.Tool, true), Call: h.Call.name(), Outcome: h.Outcome, Result: h.Result, Refused: h.Outcome == "refused",
			}, repetition.Default)
		}
	}
	f := s.Find(repetition.Pending{Kind: repetition.KindOf(k.Call.Tool, true), Call: k.Call.name()}, repetition.Default)
	return f.Checkpoint(k.Given.Assessment)
}
