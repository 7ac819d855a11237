package sandbox

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"hecate/domain/permission/host"
)

// urlPattern finds what a program would take for a web address.
var urlPattern = regexp.MustCompile("(?i)https?://[^\\s\"'`<>|;,(){}\\\\]*")

var urlRest = regexp.MustCompile(`(?i)https?://\S*`)

// urls judges the web addresses in a text.
func (c *checker) urls(text string) {
	if !strings.Contains(text, "://") {
		return
	}
	for _, raw := range urlPattern.FindAllString(text, -1) {
		c.networks = true
		if c.policy.Network && c.host == nil {
			c.host = c.policy.checkURL(raw)
		}
	}
	// Odd characters end an address for the eye; for a program they may be a user's name.
	for _, raw := range urlRest.FindAllString(text, -1) {
		if at := strings.LastIndexByte(raw, '@'); at >= 0 && c.policy.Network && c.host == nil {
			host, _, _ := strings.Cut(raw[at+1:], "/")
			c.host = c.policy.checkAddress(bareHost(host))
		}
	}
}

// checkURL returns a *Denied if the URL's host is not allowed.
func (p Policy) checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return &Denied{fmt.Sprintf("URL %q is not parseable", raw)}
	}
	host := normalHost(u.Hostname())
	if host == "" {
		return &Denied{fmt.Sprintf("URL %q has no host", raw)}
	}
	if err := p.checkAddress(host); err != nil {
		return err
	}
	if len(p.AllowedHosts) > 0 && !slices.ContainsFunc(p.AllowedHosts, func(h string) bool { return normalHost(h) == host }) {
		return &Denied{fmt.Sprintf("host %q is not in the allowlist", host)}
	}
	return nil
}

// normalHost is a host as programs look it up: they take many characters for a digit, a
// letter or a dot. One that cannot be read so stays as it is.
func normalHost(h string) string {
	if i := strings.IndexFunc(h, func(r rune) bool { return r >= 0x80 }); i >= 0 {
		if ascii, err := lookup.ToASCII(h); err == nil {
			h = ascii
		}
	}
	return strings.ToLower(strings.TrimSuffix(h, "."))
}

var lookup = idna.New(idna.MapForLookup(), idna.Transitional(false))

// metadataNames are those of the services that clouds have for their machines, which give
// credentials to whoever asks. They lead to link-local addresses.
var metadataNames = []string{"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}

// checkAddress returns a *Denied if host is an address, or the name of one, that
// is not out on the public network. Names are not looked up: what they resolve to
// when the command runs is another matter.
func (p Policy) checkAddress(name string) error {
	if p.AllowPrivateIPs {
		return nil
	}
	what := ""
	switch addr, ok := address(name); {
	case ok:
		what = host.Special(addr)
	case name == "localhost", strings.HasSuffix(name, ".localhost"):
		what = "loopback"
	case slices.Contains(metadataNames, name):
		what = "a metadata service"
	case !strings.Contains(name, unknown) && strings.IndexFunc(name, func(r rune) bool { return r >= 0x80 }) >= 0:
		what = "no name that can be looked up"
	}
	if what == "" {
		return nil
	}
	return &Denied{fmt.Sprintf("host %q is %s", name, what)}
}

// address reads an IP address, also in the spellings that C programs accept:
// 127.1, 0x7f.1, 2130706433.
func address(host string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return a.WithZone(""), true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var v uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32)
		if err != nil || strings.ContainsAny(part, "_oOB") || strings.HasPrefix(part, "0b") {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			v |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(32-8*i) {
			return netip.Addr{}, false
		}
		v |= n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

// bareHosts judges what a network command is given without http:// in front.
func (c *checker) bareHosts(args []word) {
	for _, a := range args {
		if !c.policy.Network || c.host != nil || strings.HasPrefix(a.text, "-") || strings.Contains(a.text, "://") {
			continue
		}
		host, _, _ := strings.Cut(a.text, "/")
		if _, after, ok := strings.Cut(host, "@"); ok {
			host = after
		}
		// A small number is a port or a count, no address.
		if n, err := strconv.Atoi(host); err == nil && n < 1<<16 {
			continue
		}
		c.host = c.policy.checkAddress(bareHost(host))
	}
}

// bareHost is host:port without the port.
func bareHost(s string) string {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, _, _ = strings.Cut(inner, "]")
		return normalHost(inner)
	}
	if h, _, ok := strings.Cut(s, ":"); ok && strings.Count(s, ":") == 1 {
		s = h
	}
	return normalHost(s)
}
