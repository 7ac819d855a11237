// Package egress makes requests to web servers on behalf of a model. A connection is
// made to an address that was checked, and to no other: a name is looked up once, every
// answer has to lie on the public network, and exactly those addresses are dialled.
// A page's redirects stay on its host (Get); those of a request lead where the same
// rules let it go, without what only the first server may see (Do).
//
// What the environment says about proxies is ignored: behind a proxy nobody could tell
// which address is reached. No cookies are kept, and user information in a URL is
// dropped.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/idna"

	"hecate/domain/permission/host"
)

// Settings are the operator's limits (HECATE_TASK_HTTP_*).
type Settings struct {
	Timeout          time.Duration // of a whole request with its redirects; 0 = 30 s
	ResponseMaxBytes int64         // of a body, unpacked; 0 = 262144
	AllowPrivateIPs  bool          // private, loopback and link-local addresses may be reached
	// AllowedHosts are exact hosts, in any case; empty = all. One without a port stands
	// for the host on every port.
	AllowedHosts []string
}

const (
	timeoutDefault  = 30 * time.Second
	responseDefault = 256 << 10
)

func (s Settings) timeout() time.Duration {
	if s.Timeout <= 0 {
		return timeoutDefault
	}
	return s.Timeout
}

func (s Settings) responseMax() int64 {
	if s.ResponseMaxBytes <= 0 {
		return responseDefault
	}
	return s.ResponseMaxBytes
}

// allows reports whether AllowedHosts lets a host through.
func (s Settings) allows(h host.Host) bool {
	return len(s.AllowedHosts) == 0 || slices.ContainsFunc(s.AllowedHosts, func(text string) bool {
		a, err := host.Parse(text)
		return err == nil && (a.Same(h) || a.Port == 0 && a.Name == h.Name)
	})
}

// Resolver looks up the addresses of a host; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// lookupMax bounds one look-up.
const lookupMax = 2 * time.Second

// Target is one URL that is to be fetched, with the addresses that its host leads to.
// Whoever asks for them, the decision or the connection, is given the same ones. It is
// safe for concurrent use.
type Target struct {
	text     string // as it was written
	url      host.URL
	ascii    string // the host in ASCII, if it is written in other letters
	request  *url.URL
	resolver Resolver

	mu    sync.Mutex
	asked bool
	addrs []netip.Addr
}

// NewTarget reads an absolute http or https URL. Nothing is looked up yet.
func NewTarget(text string, r Resolver) (*Target, error) {
	t := &Target{text: text, resolver: r}
	u, err := url.Parse(text)
	if err == nil && !isASCII(u.Hostname()) {
		t.ascii, err = idna.Lookup.ToASCII(u.Hostname())
		if err != nil {
			return nil, fmt.Errorf("host %q has no form that can be looked up: %w", u.Hostname(), err)
		}
	}
	if t.url, err = host.ParseURL(text, t.ascii); err != nil {
		return nil, err
	}
	switch {
	case t.url.Host.IsZero() && t.url.Addr.IsValid():
		return nil, fmt.Errorf("host %q is an odd spelling of an address; write %s", t.url.Shown, t.url.Addr)
	case t.url.Host.IsZero():
		return nil, fmt.Errorf("%q is no host name", t.url.Shown)
	}
	t.request = requestURL(u, t.url)
	return t, nil
}

// requestURL is what is asked for: the host in the form that was checked, no user
// information, no fragment.
func requestURL(u *url.URL, checked host.URL) *url.URL {
	return &url.URL{
		Scheme: checked.Scheme, Host: checked.Host.String(), Path: u.Path, RawPath: u.RawPath,
		RawQuery: plainQuery(u.RawQuery), ForceQuery: u.ForceQuery,
	}
}

// plainQuery escapes what does not belong into a request line.
func plainQuery(q string) string {
	if !strings.ContainsFunc(q, oddInQuery) {
		return q
	}
	var b strings.Builder
	for i := range len(q) {
		if oddInQuery(rune(q[i])) {
			fmt.Fprintf(&b, "%%%02X", q[i])
			continue
		}
		b.WriteByte(q[i])
	}
	return b.String()
}

func oddInQuery(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '<' || r == '>' }

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// ASCIIHost is the host in ASCII (IDNA) if the URL has it in other letters, else "".
func (t *Target) ASCIIHost() string { return t.ascii }

// Host is the host in its normal form.
func (t *Target) Host() host.Host { return t.url.Host }

// Scheme is https or http.
func (t *Target) Scheme() string { return t.url.Scheme }

// Origin is scheme, host and port.
func (t *Target) Origin() string { return t.url.Scheme + "://" + t.url.Host.String() }

// Place is what is requested without its query: origin and path.
func (t *Target) Place() string { return t.Origin() + t.request.EscapedPath() }

// HasUser reports whether the URL as written has user information, such as a password.
func (t *Target) HasUser() bool { return t.url.User }

// Bare reports whether the URL as written says no more than its origin.
func (t *Target) Bare() bool {
	u := t.request
	return (u.Path == "" || u.Path == "/") && u.RawQuery == "" && !u.ForceQuery && !t.url.User && !strings.Contains(t.text, "#")
}

// URL is what is requested: as it was written, but for the host's form, user information
// and the fragment.
func (t *Target) URL() string { return t.request.String() }

// Addrs are the addresses that the host leads to, none if nobody could tell in 2 s. The
// first call looks; those after it have the same answer.
func (t *Target) Addrs(ctx context.Context) []netip.Addr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.asked {
		_ = t.lookup(ctx) // the connection will say what is wrong
	}
	return slices.Clone(t.addrs)
}

// lookup fills in the addresses.
func (t *Target) lookup(ctx context.Context) error {
	t.asked = true
	if t.url.Addr.IsValid() {
		t.addrs = []netip.Addr{t.url.Addr}
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, lookupMax)
	defer stop()
	addrs, err := t.resolver.LookupNetIP(ctx, "ip", t.url.Host.Name)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	t.addrs = addrs
	return err
}

// LookupNetIP makes the target the resolver of its own connections: it knows one host,
// and its addresses do not change.
func (t *Target) LookupNetIP(ctx context.Context, _, name string) ([]netip.Addr, error) {
	if name != t.url.Host.Name {
		return nil, fmt.Errorf("host %q is not the one that was asked for", name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if len(t.addrs) == 0 {
		err = t.lookup(ctx)
	}
	return slices.Clone(t.addrs), err
}

var errNoAddress = errors.New("the name has no address")
