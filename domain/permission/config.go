package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"hecate/domain/ident"
	"hecate/domain/permission/host"
	"hecate/domain/permission/pattern"
)

// Layer says whose file an entry stands in.
type Layer string

// The layers, in the order in which they are reported.
const (
	LayerUser    Layer = "user"
	LayerProject Layer = "project"
)

// Lists of the configuration.
const (
	ListDeny     = "permissions.deny"
	ListApprove  = "permissions.approve"
	ListPromoted = "permissions.promoted"

	ListHostDeny     = "network.deny"
	ListHostAllow    = "network.allow"
	ListHostPromoted = "network.promoted"
)

// Source is what one configuration file says, before any of it is understood.
type Source struct {
	Layer Layer
	// Accepted: a person of this machine has accepted the file as it is. Until then
	// its deny entries are in force and its grants are not.
	Accepted bool

	Deny, Approve, Promoted           []Text // [permissions]
	HostDeny, HostAllow, HostPromoted []Text // [network]

	Locks        []LockText   // [[locks]]
	Guard        []GuardLimit // [repetition]
	GuardEnabled *bool        // [repetition] enabled; nil if it is not there
}

// Text is one entry as it stands in a file.
type Text struct {
	Text   string
	Reason string // of a deny: what the model is told
	At     string // file and line, for messages
}

// reasonMax bounds what one entry says to the model, in bytes.
const reasonMax = 4 << 10

// Entry is one understood entry of a list.
type Entry struct {
	ID      string // the same for the same list, layer and text
	List    string
	Layer   Layer
	Pattern pattern.Pattern // zero in lists of hosts
	Host    host.Host       // zero in lists of patterns
	Reason  string
	At      string
}

// Text is the entry in its canonical form.
func (e Entry) Text() string {
	if e.Pattern.IsZero() {
		return e.Host.String()
	}
	return e.Pattern.String()
}

// Config is what the files say, understood. The zero Config says nothing.
type Config struct {
	Entries    []Entry // user entries before project entries, each list in its own order
	Locks      []Lock  // the user's before the project's; a name may be there more than once
	Repetition Repetition
	Unaccepted bool   // the project has a file that has not been accepted, so that nothing can be remembered in it
	Digest     string // hex SHA-256 over all of it; "" if the files say nothing
}

// Problem is something about an entry that its author should know.
type Problem struct {
	Layer   Layer  `json:"layer"`
	List    string `json:"list"`
	At      string `json:"at,omitempty"`
	Refused bool   `json:"refused"` // the entry is not in force; else it is, and this is a warning
	Message string `json:"message"`
}

// String is the problem as one line for a log or a terminal.
func (p Problem) String() string {
	what := "warning"
	if p.Refused {
		what = "refused"
	}
	if p.At == "" {
		return fmt.Sprintf("%s: [%s] %s", what, p.List, p.Message)
	}
	return fmt.Sprintf("%s: %s: [%s] %s", p.At, what, p.List, p.Message)
}

// Load understands files. Each entry, lock and limit stands for itself: one that is
// refused takes no other with it, so that a caller which goes on without a broken file
// can still hold to the deny entries that parse.
func Load(sources ...Source) (Config, []Problem) {
	l := loader{userSet: map[string]bool{}}
	for _, layer := range []Layer{LayerUser, LayerProject} {
		for _, s := range sources {
			if (s.Layer == LayerUser) == (layer == LayerUser) {
				s.Layer = layer
				l.source(s)
			}
		}
	}
	l.config.Digest = l.config.digest()
	return l.config, l.problems
}

type loader struct {
	config   Config
	problems []Problem
	userSet  map[string]bool // limits of the guard that the user's file sets
}

func (l *loader) source(s Source) {
	l.hosts(s.Layer, ListHostDeny, s.HostDeny)
	l.patterns(s.Layer, ListDeny, s.Deny)
	l.locks(s.Layer, s.Locks)
	l.guard(s)
	grants := len(s.Approve) + len(s.Promoted) + len(s.HostAllow) + len(s.HostPromoted)
	if !s.Accepted {
		if grants > 0 {
			first := slices.Concat(s.Approve, s.Promoted, s.HostAllow, s.HostPromoted)[0]
			l.report(Entry{List: ListApprove, Layer: s.Layer, At: first.At}, false, fmt.Sprintf("what this file grants (%d) is not in force until it is accepted (hecate permissions accept)", grants))
		}
		l.config.Unaccepted = true
		return
	}
	l.patterns(s.Layer, ListApprove, s.Approve)
	l.patterns(s.Layer, ListPromoted, s.Promoted)
	l.hosts(s.Layer, ListHostAllow, s.HostAllow)
	l.hosts(s.Layer, ListHostPromoted, s.HostPromoted)
}

func (l *loader) report(e Entry, refused bool, message string) {
	l.problems = append(l.problems, Problem{e.Layer, e.List, e.At, refused, message})
}

func (l *loader) add(e Entry) {
	e.ID = ident.Derive("grant", string(e.Layer), e.List, e.Text())
	l.config.Entries = append(l.config.Entries, e)
}

func (l *loader) patterns(layer Layer, list string, texts []Text) {
	for _, t := range texts {
		e := Entry{List: list, Layer: layer, Reason: t.Reason, At: t.At}
		var err error
		warning := ""
		if e.Pattern, err = pattern.Parse(t.Text); err == nil {
			if list == ListDeny {
				err = e.Pattern.ForDeny()
			} else {
				warning, err = e.Pattern.ForApprove()
			}
		}
		if err != nil {
			l.report(e, true, err.Error())
			continue
		}
		if len(e.Reason) > reasonMax {
			e.Reason, warning = cut(e.Reason, reasonMax), fmt.Sprintf("the reason is cut after %d bytes", reasonMax)
		}
		if warning != "" {
			l.report(e, false, fmt.Sprintf("%s: %s", e.Pattern, warning))
		}
		l.add(e)
	}
}

func (l *loader) hosts(layer Layer, list string, texts []Text) {
	for _, t := range texts {
		e := Entry{List: list, Layer: layer, Reason: t.Reason, At: t.At}
		var err error
		if e.Host, err = host.Parse(t.Text); err != nil {
			l.report(e, true, fmt.Sprintf("host %q: %v", shorten(t.Text), err))
			continue
		}
		if u, err := host.ParseURL("https://"+e.Host.String()+"/", ""); list != ListHostDeny && err == nil && u.Special() != "" {
			l.report(e, false, fmt.Sprintf("host %s is %s: it also needs the setting that allows private addresses", e.Host, u.Special()))
		}
		e.Reason = cut(e.Reason, reasonMax)
		l.add(e)
	}
}

// digest names what is in force; reasons count, because they are what the model is told.
func (c Config) digest() string {
	if len(c.Entries) == 0 && len(c.Locks) == 0 && c.Repetition == (Repetition{}) {
		return ""
	}
	h := sha256.New()
	add := func(parts ...string) {
		for _, s := range parts {
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
	}
	for _, e := range c.Entries {
		add(e.List, string(e.Layer), e.Text(), e.Reason)
	}
	for _, l := range c.Locks {
		add(listLocks, string(l.Layer), l.Name, strconv.Itoa(len(l.Patterns)))
		for _, p := range l.Patterns {
			add(p.String())
		}
	}
	if r := c.Repetition; r != (Repetition{}) {
		add(listRepetition, fmt.Sprint(r.Effective()), fmt.Sprint(r.Enabled != nil, r.On(false)))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hostGrant is the entry that allows the host, nil if there is none.
func (c Config) hostGrant(h host.Host) *Entry {
	for i, e := range c.Entries {
		if (e.List == ListHostAllow || e.List == ListHostPromoted) && e.Host.Same(h) {
			return &c.Entries[i]
		}
	}
	return nil
}
