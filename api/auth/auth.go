// Package auth decides which requests are let in, before anything of them is read.
//
// A server on loopback is within reach of every web page that its operator visits,
// so being local proves nothing: a page may resolve its own name to 127.0.0.1, post
// forms across origins, and open streams. The guard refuses hosts that are not this
// server's, foreign origins, and bodies of the types that a page can send unasked.
package auth

import (
	"crypto/sha256"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"hecate/api/envelope"
	"hecate/eventstore"
)

// TokenHeader carries the runtime token.
const TokenHeader = "X-Hecate-Runtime-Token"

// Config says whom to let in.
type Config struct {
	Token          string    // needed for everything below Protected, if not empty
	Protected      string    // path prefix, such as /hecate/v1
	ListenAddress  string    // host:port; its host is one of ours
	PublicURL      string    // the URL that clients use, if it is another one
	AllowedOrigins []string  // exact origins of browsers that may use the API
	Operators      Operators // who has tokens; nil for nobody
}

// Guard lets requests in or refuses them.
type Guard struct {
	token     [sha256.Size]byte
	hasToken  bool
	protected string
	hosts     map[string]bool // names beside the loopback ones
	anyIP     bool            // bound to all addresses: every address may be ours
	origins   map[string]bool
	operators Operators
}

// New returns the guard for c.
func New(c Config) *Guard {
	g := &Guard{
		token: sha256.Sum256([]byte(c.Token)), hasToken: c.Token != "", protected: strings.TrimSuffix(c.Protected, "/"),
		hosts: map[string]bool{}, origins: map[string]bool{}, operators: c.Operators,
	}
	if host, _, err := net.SplitHostPort(c.ListenAddress); err == nil {
		if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
			g.anyIP = true
		} else {
			g.hosts[strings.ToLower(host)] = true
		}
	}
	for _, o := range append([]string{c.PublicURL}, c.AllowedOrigins...) {
		if u, err := url.Parse(o); err == nil && u.Host != "" {
			g.hosts[strings.ToLower(u.Hostname())] = true
		}
	}
	for _, o := range c.AllowedOrigins {
		g.origins[strings.ToLower(strings.TrimSuffix(o, "/"))] = true
	}
	return g
}

// Check returns who asks, or why the request may not go on. It reads the head of the
// request only.
func (g *Guard) Check(r *http.Request) (eventstore.Actor, *envelope.Error) {
	var nobody eventstore.Actor
	switch {
	case !g.ownHost(r.Host):
		return nobody, forbidden("this server does not answer to host " + quote(r.Host) + "; set HECATE_PUBLIC_URL if that is its name")
	case !g.allowedOrigin(r):
		return nobody, forbidden("origin " + quote(r.Header.Get("Origin")) + " may not use this server; add it to HECATE_ALLOWED_ORIGINS if it should")
	case g.crossSite(r):
		return nobody, forbidden("requests from other sites are refused")
	case browserTyped(r):
		return nobody, forbidden("a browser must send its body as application/json")
	case !g.guards(r.URL.Path):
		return nobody, nil
	}
	return g.actor(r)
}

func (g *Guard) guards(path string) bool {
	rest, ok := strings.CutPrefix(path, g.protected)
	return ok && (rest == "" || rest[0] == '/')
}

// ownHost reports whether the Host header names this server. A name that an
// attacker resolves to our address is none of ours.
func (g *Guard) ownHost(hostport string) bool {
	host := strings.ToLower(hostport)
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(host, "]"), "["), ".")
	if host == "localhost" || g.hosts[host] {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Unmap().IsLoopback() || g.anyIP)
}

// allowedOrigin reports whether a browser's request comes from this server's own
// pages or from an origin that the operator named.
func (g *Guard) allowedOrigin(r *http.Request) bool {
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		return true
	}
	if len(values) > 1 {
		return false
	}
	if g.origins[strings.ToLower(values[0])] {
		return true
	}
	u, err := url.Parse(values[0])
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host)
}

// crossSite reports whether the browser says that another site is behind the
// request. An origin that the operator named is welcome all the same.
func (g *Guard) crossSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if site == "" || site == "same-origin" || site == "none" {
		return false
	}
	return !g.origins[strings.ToLower(r.Header.Get("Origin"))]
}

// browserTyped reports whether the body is of a type that a page may send anywhere
// without asking first. Old browsers send such forms without an Origin, so its
// absence proves nothing.
func browserTyped(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if len(types) == 0 && r.ContentLength != 0 && fromBrowser(r) { // a page can leave the type out
		return true
	}
	for _, ct := range types {
		media, _, err := mime.ParseMediaType(ct)
		if err != nil {
			media, _, _ = strings.Cut(strings.ToLower(ct), ";")
		}
		switch strings.TrimSpace(media) {
		case "text/plain", "application/x-www-form-urlencoded", "multipart/form-data":
			return true
		}
	}
	return false
}

// fromBrowser reports whether a browser sent the request, as far as it says so.
func fromBrowser(r *http.Request) bool {
	_, fetched := r.Header["Sec-Fetch-Mode"]
	return fetched || r.Header.Get("Origin") != "" || strings.HasPrefix(r.UserAgent(), "Mozilla/")
}

func forbidden(message string) *envelope.Error {
	return envelope.New(http.StatusForbidden, envelope.TypeForbidden, message)
}

// quote shows a client's text, bounded and without control characters.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most]
	}
	return `"` + strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' {
			return '?'
		}
		return r
	}, s) + `"`
}
