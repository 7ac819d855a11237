// Package host says which host a URL names, when two hosts are the same, and which
// addresses lie outside the public network. There is one normal form: lower case,
// ASCII, no dot at the end, an address in its usual spelling, and the port where it
// is not the scheme's own. What has no normal form equals no listed host.
package host

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Host is a host in its normal form. The zero Host equals nothing.
type Host struct {
	Name string // such as docs.rs, 127.0.0.1 or ::1
	Port int    // 0 for the scheme's own
}

// String is the host as a person writes it: docs.rs, docs.rs:8443, [::1].
func (h Host) String() string {
	name := h.Name
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if h.Port != 0 {
		name += ":" + strconv.Itoa(h.Port)
	}
	return name
}

// IsZero reports whether there is no host that could equal another one.
func (h Host) IsZero() bool { return h.Name == "" }

// Same reports whether h and o are one host and port. The zero Host is the same as none.
func (h Host) Same(o Host) bool { return !h.IsZero() && h == o }

// Curated returns the hosts that may be read without asking by default.
// Source: permission text, "web_fetch and hosts".
func Curated() []Host {
	names := []string{
		"docs.rs", "crates.io", "doc.rust-lang.org", "github.com", "raw.githubusercontent.com",
		"developer.mozilla.org", "stackoverflow.com", "en.wikipedia.org",
	}
	out := make([]Host, len(names))
	for i, n := range names {
		out[i] = Host{Name: n}
	}
	return out
}

// Parse reads a host as it stands in a list: a name or an address, and a port if it
// is not 443. There are no wildcards, because on a shared host every subdomain is
// someone else's server. The error says what to write instead.
func Parse(text string) (Host, error) {
	name, port, err := splitPort(strings.TrimSpace(text))
	switch {
	case err != nil:
		return Host{}, err
	case name == "":
		return Host{}, errors.New("the host is empty; write one host, such as docs.rs")
	case strings.Contains(name, "/"):
		return Host{}, errors.New("this is not a host alone; leave out the scheme and the path, as in docs.rs")
	case strings.Contains(name, "@"):
		return Host{}, errors.New("user information is no part of a host; leave out all before the @")
	case strings.Contains(name, "*"):
		return Host{}, errors.New("hosts have no wildcards; list every host by its full name")
	case !isASCII(name):
		return Host{}, errors.New("the name is not ASCII; write its xn-- form")
	}
	n, addr := normal(name)
	switch {
	case n == "" && addr.IsValid():
		return Host{}, fmt.Errorf("this spelling of an address equals no host; write %s", addr)
	case n == "":
		return Host{}, errors.New("this is no host name; names have letters, digits, - and _ between single dots")
	}
	if port == 443 {
		port = 0
	}
	return Host{n, port}, nil
}

func splitPort(text string) (name string, port int, err error) {
	name, digits := text, ""
	if inner, ok := strings.CutPrefix(text, "["); ok {
		var rest string
		if name, rest, ok = strings.Cut(inner, "]"); !ok || rest != "" && rest[0] != ':' {
			return "", 0, errors.New("the address is not closed; write it as [::1] or [::1]:8443")
		}
		digits = strings.TrimPrefix(rest, ":")
	} else if h, d, ok := strings.Cut(text, ":"); ok && !strings.Contains(d, ":") && !strings.Contains(d, "/") {
		name, digits = h, d
	}
	if digits == "" {
		return name, 0, nil
	}
	if port = portOf(digits); port < 0 {
		return "", 0, fmt.Errorf("%q is no port; ports are 1 to 65535", digits)
	}
	return name, port, nil
}

// portOf reads a port; -1 if it is none.
func portOf(digits string) int {
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return -1
	}
	return int(n)
}

// normal brings a name into its normal form. For an address it also returns that,
// however it is spelled; the name is "" unless the spelling is the usual one.
func normal(text string) (name string, addr netip.Addr) {
	name = strings.ToLower(strings.TrimSuffix(text, "."))
	if a, ok := readAddress(name); ok {
		if a.Zone() != "" || a.Is4In6() || a.String() != name {
			return "", a.WithZone("").Unmap()
		}
		return name, a
	}
	if !isName(name) {
		return "", netip.Addr{}
	}
	return name, netip.Addr{}
}

const (
	nameMax  = 253 // characters of a name
	labelMax = 63  // between two dots
)

func isName(s string) bool {
	if s == "" || len(s) > nameMax || endsInNumber(s) {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > labelMax {
			return false
		}
		for _, r := range label {
			if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' {
				return false
			}
		}
	}
	return true
}

// endsInNumber reports whether some resolver would take the name for an address.
func endsInNumber(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
