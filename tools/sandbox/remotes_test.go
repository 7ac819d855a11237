package sandbox_test

import (
	"fmt"
	"strings"
	"testing"

	"hecate/tools/sandbox"
)

// What a network program is told to reach counts in every form that it takes.
func TestRemotesThatAreNoWebAddresses(t *testing.T) {
	on := sandbox.Policy{Network: true}
	listed := sandbox.Policy{Network: true, AllowedHosts: []string{"example.com"}}
	for _, c := range []struct {
		policy  sandbox.Policy
		command string
		want    string // a part of the reason, or "" if it passes
	}{
		{on, "git clone ssh://10.0.0.1/x", `"10.0.0.1" is a private network address`},
		{on, "git clone git://127.0.0.1:9418/x", "loopback"},
		{on, "git -C a fetch ssh://git@[::1]:22/x", "loopback"},
		{on, "git push git@10.0.0.1:x main", "private"},
		{on, "git ls-remote localhost:x", "loopback"},
		{on, "git clone ssh://git@example.com/x && git fetch origin && git push origin main && git pull --depth 5", ""},
		{on, "git clone ../x y; git clone file:///srv/x", ""},
		{on, "wget ftp://10.0.0.1/", "private"},
		{on, "curl gopher://127.0.0.1:6379/_x", "loopback"},
		{on, "curl telnet://169.254.169.254", "link-local"},
		{on, "curl --connect-to example.com:80:127.0.0.1:80 http://example.com/", "loopback"},
		{on, "curl --resolve=example.com:80:127.0.0.1 http://example.com", "loopback"},
		{on, "curl -x localhost:3128 https://example.com/", "loopback"},
		{on, "curl --socks5 10.0.0.1:1080 https://example.com/", "private"},
		{on, "curl -x proxy.example.com:3128 --connect-to ::example.com: https://example.com/", ""},
		{listed, "git clone ssh://git@example.com/x", ""},
		{listed, "git clone ssh://git@other.example/x", `"other.example" is not in the allowlist`},
		{sandbox.Policy{Network: true, AllowPrivateIPs: true}, "git clone ssh://10.0.0.1/x", ""},
	} {
		got := fmt.Sprint(sandbox.Check(c.command, c.policy))
		if c.want == "" && got != "<nil>" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %q", c.command, got, c.want)
		}
	}
}
