package host

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// URL is a web address with what decides about it.
type URL struct {
	Scheme string     // http or https
	Host   Host       // zero if the host has no normal form
	Shown  string     // the host as it is written, without user information
	Addr   netip.Addr // the address that a resolver could read in the host, however it is spelled
	User   bool       // there is user information, which is never sent

	text string
	u    *url.URL
}

// ParseURL reads an absolute http or https URL. ascii is the ASCII form (IDNA) of a
// host that is written in other letters; without it such a host equals nothing. An
// error means that the text is no address of a web page, or could be read in two ways.
func ParseURL(text, ascii string) (URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // the URL itself is shown anyway
		}
		return URL{}, fmt.Errorf("the URL cannot be read: %w", err)
	}
	out := URL{Scheme: strings.ToLower(u.Scheme), Shown: u.Hostname(), User: u.User != nil, text: text, u: u}
	switch {
	case out.Scheme != "http" && out.Scheme != "https":
		return URL{}, fmt.Errorf("scheme %q is not allowed (http or https only)", u.Scheme)
	case out.Shown == "":
		return URL{}, errors.New("the URL has no host")
	}
	port, own := 0, map[string]int{"http": 80, "https": 443}[out.Scheme]
	if p := u.Port(); p != "" {
		if port = portOf(p); port < 0 {
			return URL{}, fmt.Errorf("%q is no port", p)
		}
	}
	if port == own {
		port = 0
	}
	name := out.Shown
	if !isASCII(name) {
		name = ascii
	}
	name, out.Addr = normal(name)
	if isASCII(name) && name != "" {
		out.Host = Host{name, port}
	}
	return out, nil
}

// Special names the range outside the public network that the host lies in, as far
// as its text tells; "" if it may be public.
func (u URL) Special() string {
	name := strings.ToLower(strings.TrimSuffix(u.Shown, "."))
	switch {
	case name == "localhost", strings.HasSuffix(name, ".localhost"):
		return "loopback"
	case u.Addr.IsValid():
		return Special(u.Addr)
	}
	return ""
}

// DeniedBy reports whether a deny of h reaches the URL: whatever the port, and also
// if the address is spelled in an unusual way.
func (u URL) DeniedBy(h Host) bool {
	if h.IsZero() {
		return false
	}
	if u.Host.Name == h.Name {
		return true
	}
	_, a := normal(h.Name)
	return a.IsValid() && a == u.Addr
}

// Spellings are the texts that a deny of URLs is compared with: the URL as written,
// and the ways to write the same one in its normal form.
func (u URL) Spellings() []string {
	name := u.Host.Name
	switch {
	case u.Addr.IsValid():
		name = u.Addr.String()
	case name == "":
		name = strings.ToLower(u.Shown)
	}
	rest := ""
	if u.u.RawQuery != "" || u.u.ForceQuery {
		rest = "?" + u.u.RawQuery
	}
	out := []string{u.text}
	for _, h := range []Host{{name, u.Host.Port}, {Name: name}} {
		for _, p := range []string{u.u.EscapedPath(), u.u.Path, cleanPath(u.u.Path)} {
			if p == "" {
				p = "/"
			}
			if s := u.Scheme + "://" + h.String() + p + rest; !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// cleanPath takes detours out of a path and keeps a slash at its end.
func cleanPath(p string) string {
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// FollowRedirect says where a redirect leads and whether it is followed: only to
// https on the very host and port that the request was for. All else is a new call
// with a decision of its own; plain http is asked about each time, and an address
// with user information is not what it seems. from is absolute, to may be relative.
// Source: permission text, "web_fetch and hosts".
func FollowRedirect(from, to string) (next string, follow bool) {
	base, err := ParseURL(from, "")
	if err != nil {
		return to, false
	}
	ref, err := base.u.Parse(to)
	if err != nil {
		return to, false
	}
	target, err := ParseURL(ref.String(), "")
	if err != nil {
		return ref.String(), false
	}
	return target.text, target.Scheme == "https" && !target.User && target.Host.Same(base.Host)
}
