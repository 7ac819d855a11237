package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	redirectsMax = 10
	headerMax    = 64 << 10 // bytes of a response's header
	shownMax     = 2 << 10  // bytes of an address of a server's making in an error
)

// UserAgent is who asks, as servers see it.
const UserAgent = "hecate/1"

// Denied says why the permission files refuse a URL; "" if they don't. asciiHost is the
// URL's host in ASCII if it is written in other letters. The URL that a call names was
// decided on before; this is about where its redirects lead. nil denies nothing.
type Denied func(url, asciiHost string) (why string)

// Response is what a server answered.
type Response struct {
	URL         string // of the last request
	Status      int
	ContentType string
	Body        []byte
	Truncated   bool // the body goes on beyond the limit
	// Redirect is where the server sends readers and Get did not go; "" if it answered
	// itself.
	Redirect string
}

// Transport makes requests through d and nothing else.
func Transport(d *Dialer) *http.Transport {
	return &http.Transport{
		Proxy:       nil, // see the package comment
		DialContext: d.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: dialMax, MaxResponseHeaderBytes: headerMax, IdleConnTimeout: time.Minute,
	}
}

// hop is one request on the way to an answer.
type hop struct {
	at *Target
	Request
}

// turn says what becomes of a response that sends readers elsewhere: the next hop, or
// where it leads without being followed. Neither means that it is the answer.
type turn func(from hop, r *http.Response) (next *hop, redirect string, err error)

// client makes one request and those that its redirects lead to.
type client struct {
	settings Settings
	denied   Denied
	route    route
	http     http.RoundTripper // not a Client, which fails at a Location that it cannot read
}

func newClient(s Settings, denied Denied) *client {
	c := &client{settings: s, denied: denied, route: route{targets: map[string]*Target{}}}
	c.http = Transport(&Dialer{Resolver: &c.route, AllowPrivateIPs: s.AllowPrivateIPs})
	return c
}

// do makes the requests within the time limit of the settings.
func (c *client) do(ctx context.Context, first hop, turn turn) (Response, error) {
	if err := c.listed(first.at); err != nil {
		return Response{}, err
	}
	ctx, stop := context.WithTimeout(ctx, c.settings.timeout())
	defer stop()
	if t, ok := c.http.(*http.Transport); ok {
		defer t.CloseIdleConnections()
	}
	r, err := c.follow(ctx, first, turn)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Response{}, fmt.Errorf("no whole answer within %s; configure HECATE_TASK_HTTP_TIMEOUT to wait longer", c.settings.timeout())
	}
	return r, err
}

func (c *client) follow(ctx context.Context, h hop, turn turn) (Response, error) {
	for hops := 0; ; hops++ {
		r, err := c.ask(ctx, h)
		if err != nil && hops > 0 {
			err = fmt.Errorf("after a redirect to %s: %w", shown(h.at.URL()), err)
		}
		if err != nil {
			return Response{}, err
		}
		next, redirect, err := turn(h, r)
		if err == nil && next == nil {
			defer r.Body.Close()
			return read(r, h.at.URL(), redirect, c.settings.responseMax())
		}
		r.Body.Close()
		if err == nil {
			err = c.permits(next.at)
		}
		if err != nil {
			return Response{}, fmt.Errorf("status %d redirects to %s, which was not followed: %w", r.StatusCode, shown(r.Header.Get("Location")), err)
		}
		if hops == redirectsMax {
			return Response{}, fmt.Errorf("the server redirects more than %d times; the last time to %s", redirectsMax, shown(next.at.URL()))
		}
		h = *next
	}
}

// listed refuses a host that the operator's list does not have.
func (c *client) listed(t *Target) error {
	if !c.settings.allows(t.Host()) {
		return &Refused{fmt.Sprintf("host %q is not in the configured allowlist", t.Host())}
	}
	return nil
}

// permits holds a redirect to the deny entries that the first request was held to. The
// host is the same.
func (c *client) permits(t *Target) error {
	if c.denied == nil {
		return nil
	}
	if why := c.denied(t.text, t.ascii); why != "" {
		return &Refused{why}
	}
	return nil
}

func (c *client) ask(ctx context.Context, h hop) (*http.Response, error) {
	var body io.Reader
	if h.Body != "" {
		body = strings.NewReader(h.Body)
	}
	req, err := http.NewRequestWithContext(ctx, h.Method, h.at.URL(), body)
	if err != nil {
		return nil, err
	}
	if h.Header != nil {
		req.Header = h.Header.Clone()
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", UserAgent)
	}
	c.route.add(h.at)
	return c.http.RoundTrip(req)
}

func read(r *http.Response, at, redirect string, most int64) (Response, error) {
	out := Response{URL: at, Status: r.StatusCode, ContentType: r.Header.Get("Content-Type"), Redirect: redirect}
	if redirect != "" {
		return out, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if int64(len(body)) > most {
		body, out.Truncated, err = body[:most], true, nil
	}
	if err != nil {
		return Response{}, fmt.Errorf("read the answer, which has status %d: %w", r.StatusCode, err)
	}
	out.Body = body
	return out, nil
}

// shown is an address of a server's making as it may stand in an error.
func shown(address string) string {
	if len(address) > shownMax {
		address = address[:shownMax] + "…"
	}
	return fmt.Sprintf("%q", address)
}

// route answers the look-ups of one request and its redirects. Each host has the
// addresses that it had first.
type route struct {
	mu      sync.Mutex
	targets map[string]*Target
}

func (r *route) add(t *Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.targets[t.url.Host.Name] == nil {
		r.targets[t.url.Host.Name] = t
	}
}

// LookupNetIP makes the route a Resolver that knows no other host.
func (r *route) LookupNetIP(ctx context.Context, network, name string) ([]netip.Addr, error) {
	r.mu.Lock()
	t := r.targets[name]
	r.mu.Unlock()
	if t == nil {
		return nil, fmt.Errorf("host %q is not one that was asked for", name)
	}
	return t.LookupNetIP(ctx, network, name)
}
