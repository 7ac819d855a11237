package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hecate/domain/permission/command"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// Offer is what a person can give for more than this call.
type Offer struct {
	Scope  string `json:"scope"`  // a pattern, or a host
	IsHost bool   `json:"host"`   // the scope is a host
	Covers string `json:"covers"` // the = line: what the scope covers, made from it
	List   string `json:"list"`   // where A writes it
}

// The answers to a question. Source: permission text, "The prompt".
const (
	AnswerOnce       = "y" // this call only
	AnswerSession    = "a" // the offer, for the session
	AnswerRemember   = "A" // the offer, in the project's file
	AnswerEdit       = "e" // change the offer before a or A
	AnswerDeny       = "n"
	AnswerDenyReason = "N" // deny, and tell the model why
)

// answers to a question with this offer. What nothing can be remembered about is
// answered for this call.
func (p Posture) answers(c Call, o *Offer) []string {
	switch {
	case o == nil:
		return []string{AnswerOnce, AnswerDeny, AnswerDenyReason}
	case !p.Project, pattern.Canonical(c.Tool) == "job_kill": // a job's id means nothing to another run
		return []string{AnswerOnce, AnswerSession, AnswerEdit, AnswerDeny, AnswerDenyReason}
	}
	return []string{AnswerOnce, AnswerSession, AnswerRemember, AnswerEdit, AnswerDeny, AnswerDenyReason}
}

// offer is what could be remembered so that the same call would not ask again; nil if
// some gate would ask all the same.
func (p Posture) offer(c Call, closed []ClosedGate) *Offer {
	fetch := pattern.Canonical(c.Tool) == toolFetch
	for _, g := range closed {
		if o := openers[g.Gate]; fetch && !o.host || !fetch && !o.grant {
			return nil
		}
	}
	if fetch {
		if u, ok := secureURL(c); ok && !u.Host.IsZero() {
			o := hostOffer(u.Host)
			if p.ShellOffline {
				o.Covers += "; shell has no network"
			}
			return o
		}
		return nil
	}
	if x, ok := pattern.Offer(c.Tool, c.Facts); ok {
		return patternOffer(x)
	}
	return nil
}

func patternOffer(x pattern.Pattern) *Offer {
	return &Offer{Scope: x.String(), Covers: x.Meaning(), List: ListPromoted}
}

func hostOffer(h host.Host) *Offer {
	return &Offer{
		Scope: h.String(), IsHost: true, List: ListHostPromoted,
		Covers: fmt.Sprintf("any https:// GET to exactly %s (not subdomains, not other ports), by web_fetch only", h),
	}
}

// NotThisCall ends the sentence about an edited offer that is about other calls.
const NotThisCall = "; not this call, which is allowed this once"

// Edited reads what a person made of an offer with e. It has to be something that may
// be approved, of the same tool. A glob can be narrowed, and has to cover this call; what
// is exact, a command or a host, can be changed into another, and what it covers says
// so. The error says what is wrong with it.
// Source: permission text, "The answers" and "web_fetch and hosts".
func Edited(c Call, text string) (Offer, error) {
	if pattern.Canonical(c.Tool) == toolFetch {
		u, secure := secureURL(c)
		h, err := host.Parse(text)
		if err == nil && !secure {
			err = errors.New("only fetches over https can be remembered")
		}
		if err != nil {
			return Offer{}, err
		}
		return hostOffer(h).about(u.Host.Same(h)), nil
	}
	x, err := pattern.Parse(text)
	if err == nil {
		_, err = x.ForApprove()
	}
	if name := pattern.Canonical(c.Tool); err == nil && x.Tool() != name {
		err = fmt.Errorf("it is about %s, not about %s", x.Tool(), name)
	}
	here := x.Covers(c.Tool, c.Facts)
	switch exact := pattern.Exact(c.Tool); {
	case err != nil:
	case exact && x.String() == x.Tool():
		err = fmt.Errorf("%s is any command; an answer is for one, character for character: %[1]s(…)", x)
	case !exact && !here:
		err = fmt.Errorf("%s does not cover this call", x)
	}
	if err != nil {
		return Offer{}, err
	}
	return patternOffer(x).about(here), nil
}

// about says whether the call that is asked about is among those that o covers.
func (o *Offer) about(thisCall bool) Offer {
	out := *o
	if !thisCall {
		out.Covers += NotThisCall
	}
	return out
}

// DeniedByConfig tells the model every entry that refuses the call, and why.
// Source: permission text, "What a denial looks like to the model".
func DeniedByConfig(denied []Denial) string {
	lines := make([]string, len(denied))
	for i, d := range denied {
		what := "pattern"
		if d.List == ListHostDeny {
			what = "[network] deny:"
		}
		if lines[i] = fmt.Sprintf("denied by config %s %s", what, shorten(d.Entry)); d.Reason != "" {
			lines[i] += ": " + d.Reason
		}
	}
	return cut(strings.Join(lines, "\n"), messageMax)
}

// messageMax bounds what the model is told about one refusal, in bytes.
const messageMax = 32 << 10

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// unattendedMessage names only flags that would have opened the gates.
func unattendedMessage(closed []ClosedGate) string {
	gates := make([]Gate, len(closed))
	for i, g := range closed {
		gates[i] = g.Gate
	}
	const nobody = "no one is present to approve this call; run hecate interactively"
	switch flags := FlagsFor(gates); {
	case slices.Contains(flags, FlagYes):
		return nobody + ", or pass --yes for Level 2 tools"
	case slices.Contains(flags, FlagYesReally):
		return nobody + ", or pass --allow-tools web_fetch or --yes-really"
	}
	return nobody + " (" + reasons(closed) + ")"
}

// DeniedByUser tells the model that a person said no, and what they said.
func DeniedByUser(feedback string) string {
	if feedback = strings.TrimSpace(feedback); feedback != "" {
		return "denied by the user: " + cut(feedback, messageMax)
	}
	return "denied by the user"
}

// notes are what a person should see beside the call.
func notes(c Call) []string {
	out := fileNotes(c.Facts)
	u, ok := urlOf(c.Tool, c.Facts)
	if !ok {
		return out
	}
	if u.User {
		out = append(out, "what stands before the @ is user information: it is not sent, and the host is "+hostShown(u))
	}
	if !u.Host.IsZero() && !u.Addr.IsValid() && !strings.HasPrefix(strings.ToLower(u.Shown), u.Host.Name) {
		out = append(out, "the host is written in other letters; its ASCII form is "+u.Host.Name)
	}
	return out
}

// fileNotes name the files that are run as they are when the call starts.
func fileNotes(f Facts) []string {
	var out []string
	argvs := [][]string{f.Argv}
	for _, x := range f.Programs {
		argvs = append(argvs, x.Argv)
	}
	for _, argv := range argvs {
		file, ok := command.File(argv)
		note := fmt.Sprintf("the file %q is run as it is when the call starts", shorten(file))
		if ok && len(out) < notesMax && !slices.Contains(out, note) {
			out = append(out, note)
		}
	}
	return out
}

// notesMax bounds the notes about files.
const notesMax = 8
