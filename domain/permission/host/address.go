package host

import (
	"net/netip"
	"strconv"
	"strings"
)

// readAddress reads an IP address, also in the spellings that C programs accept:
// 127.1, 0x7f.1, 017700000001, 2130706433.
func readAddress(s string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		return a, true
	}
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var v uint64
	for i, part := range parts {
		n, ok := number(part)
		if !ok {
			return netip.Addr{}, false
		}
		last := i == len(parts)-1
		if !last && n > 255 || last && n >= 1<<(32-8*i) {
			return netip.Addr{}, false
		}
		if last {
			v |= n
		} else {
			v |= n << (24 - 8*i)
		}
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

// number reads a decimal, octal (0…) or hexadecimal (0x…) number as C does.
func number(s string) (uint64, bool) {
	base := 10
	switch hex, ok := strings.CutPrefix(s, "0x"); {
	case ok:
		s, base = hex, 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 33)
	return n, err == nil
}

// reserved are ranges outside the public network that netip has no name for.
var reserved = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared address space"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a special-purpose address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmarking address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
	{netip.MustParsePrefix("fec0::/10"), "a site-local address"},
}

// carriers are IPv6 ranges that hold an IPv4 address, and the byte that it begins at.
var carriers = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("::/96"), 12},
}

// Special names the range outside the public network that an address lies in; "" for
// a public one. An IPv4 address inside an IPv6 one counts.
func Special(a netip.Addr) string {
	a = a.WithZone("").Unmap()
	switch {
	case a.IsLoopback():
		return "loopback"
	case a.IsPrivate():
		return "a private network address"
	case a.IsLinkLocalUnicast(), a.IsLinkLocalMulticast():
		return "link-local"
	case a.IsUnspecified():
		return "the unspecified address"
	case a.IsMulticast():
		return "multicast"
	}
	for _, r := range reserved {
		if r.prefix.Contains(a) {
			return r.what
		}
	}
	for _, c := range carriers {
		if c.prefix.Contains(a) {
			b := a.As16()
			return Special(netip.AddrFrom4([4]byte(b[c.at : c.at+4])))
		}
	}
	return ""
}
