package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"hecate/domain/permission/host"
)

const (
	redirectsMax = 10
	headerMax    = 64 << 10 // bytes of a response's header
	userAgent    = "hecate/1"
)

// Response is what a server answered.
type Response struct {
	URL         string // of the last request
	Status      int
	ContentType string
	Body        []byte
	Truncated   bool // the body goes on beyond the limit
	// Redirect is where the server sends readers and the request did not go; "" if it
	// answered itself.
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

// Redirect says whether a response sends readers elsewhere, where to, and whether a
// request may follow without being asked about anew: see host.FollowRedirect.
func Redirect(from string, r *http.Response) (next string, follow, is bool) {
	switch r.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return "", false, false
	}
	to := r.Header.Get("Location")
	if to == "" {
		return "", false, false
	}
	next, follow = host.FollowRedirect(from, to)
	return next, follow, true
}

// Get fetches a target and follows its redirects on the same host over https, at most
// ten. A status of failure is no error. A *Refused says that the settings forbid it.
func Get(ctx context.Context, t *Target, s Settings) (Response, error) {
	return get(ctx, t, s, &Dialer{Resolver: t, AllowPrivateIPs: s.AllowPrivateIPs})
}

func get(ctx context.Context, t *Target, s Settings, d *Dialer) (Response, error) {
	if !s.allows(t.Host()) {
		return Response{}, &Refused{fmt.Sprintf("host %q is not in the configured allowlist", t.Host())}
	}
	ctx, stop := context.WithTimeout(ctx, s.timeout())
	defer stop()
	transport := Transport(d)
	defer transport.CloseIdleConnections()
	r, err := follow(ctx, transport, t, s.responseMax())
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Response{}, fmt.Errorf("no whole answer within %s; configure HECATE_TASK_HTTP_TIMEOUT to wait longer", s.timeout())
	}
	return r, err
}

// follow makes the request and those that its redirects lead to.
func follow(ctx context.Context, transport http.RoundTripper, t *Target, most int64) (Response, error) {
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for at, hops := t, 0; ; hops++ {
		r, err := ask(ctx, client, at.request)
		if err != nil {
			return Response{}, err
		}
		next, follows, is := Redirect(at.URL(), r)
		if !is || !follows {
			defer r.Body.Close()
			return read(r, at.URL(), next, most)
		}
		r.Body.Close()
		if hops == redirectsMax {
			return Response{}, fmt.Errorf("the server redirects more than %d times; the last time to %s", redirectsMax, next)
		}
		if at, err = NewTarget(next, t.resolver); err != nil {
			return Response{}, fmt.Errorf("follow a redirect: %w", err)
		}
	}
}

func ask(ctx context.Context, client *http.Client, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/html,text/markdown,text/plain,application/json;q=0.9,*/*;q=0.5")
	r, err := client.Do(req)
	var e *url.Error
	if errors.As(err, &e) {
		err = e.Err // the URL stands in the result anyway
	}
	return r, err
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
		return Response{}, fmt.Errorf("read the answer: %w", err)
	}
	out.Body = body
	return out, nil
}
