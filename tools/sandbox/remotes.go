package sandbox

import (
	"slices"
	"strconv"
	"strings"
)

// remotes judges what a program that uses the network is told to reach by other words
// than a web address: ssh://host, user@host:path, a bare host.
func (c *checker) remotes(args []word) {
	c.bareHosts(args)
	for i, a := range args {
		if !c.policy.Network || c.host != nil {
			return
		}
		switch scheme, _, ok := strings.Cut(a.text, "://"); {
		case ok && !slices.Contains([]string{"http", "https", "file"}, strings.ToLower(scheme)) && !strings.HasPrefix(scheme, "-"):
			c.host = c.policy.checkURL(a.text)
		case slices.Contains(reroutes, a.text) && i+1 < len(args):
			c.reroute(args[i+1].text)
		default:
			if option, value, ok := strings.Cut(a.text, "="); ok && slices.Contains(reroutes, option) {
				c.reroute(value)
			}
		}
	}
}

// reroutes are options of curl that have it connect to another place than its URL says.
var reroutes = []string{"--connect-to", "--resolve", "-x", "--proxy", "--preproxy", "--socks4", "--socks4a", "--socks5", "--socks5-hostname"}

// reroute judges the parts of host:port:address and the like.
func (c *checker) reroute(value string) {
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(":,[]/@", r) }) {
		if _, err := strconv.Atoi(part); err != nil && c.host == nil { // a number is a port
			c.host = c.policy.checkAddress(normalHost(part))
		}
	}
}
