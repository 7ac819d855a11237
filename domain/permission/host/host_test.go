package host_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hecate/domain/permission/host"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"docs.rs": "docs.rs", " DOCS.rs. ": "docs.rs", "docs.rs:443": "docs.rs", "docs.rs:8443": "docs.rs:8443", "docs.rs:80": "docs.rs:80",
		"127.0.0.1": "127.0.0.1", "[::1]": "[::1]", "::1": "[::1]", "[::1]:8443": "[::1]:8443", "xn--dcs-sbc.rs": "xn--dcs-sbc.rs", "my_host": "my_host",
	} {
		h, err := host.Parse(text)
		if err != nil || h.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, h, err, want)
		}
	}
	for text, why := range map[string]string{
		"": "empty", "https://docs.rs": "scheme", "docs.rs/x": "scheme", "*.rs": "wildcards", "a@b": "user information", "dоcs.rs": "xn--",
		"2130706433": "write 127.0.0.1", "127.1": "write 127.0.0.1", "0177.0.0.1": "write 127.0.0.1", "::ffff:127.0.0.1": "write 127.0.0.1",
		"0:0::1": "write ::1", "docs..rs": "no host name", "docs.rs..": "no host name", "docs.rs:0": "no port", "docs.rs:x": "no port", "docs.rs:70000": "no port",
		"[::1": "not closed", "a b": "no host name", "1.2.3.4.5": "no host name", "0xzz": "",
	} {
		h, err := host.Parse(text)
		if why == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v; want %q", text, h, err, why)
		}
	}
}

func TestParseURL(t *testing.T) {
	for _, c := range []struct{ url, ascii, host, addr string }{
		{"https://docs.rs/x", "", "docs.rs", ""},
		{"HTTPS://DOCS.rs.:0443/x", "", "docs.rs", ""},
		{"http://docs.rs:80/x", "", "docs.rs", ""},
		{"http://docs.rs:443/x", "", "docs.rs:443", ""},
		{"https://docs.rs@evil.example/x", "", "evil.example", ""},
		{"https://docs.rs:443@evil.example/", "", "evil.example", ""},
		{"https://evil.example/docs.rs", "", "evil.example", ""},
		{"https://d\u043ecs.rs/", "", "", ""},
		{"https://d\u043ecs.rs/", "xn--dcs-sbc.rs", "xn--dcs-sbc.rs", ""},
		{"https://d\u043ecs.rs/", "d\u043ecs.rs", "", ""},
		{"https://docs.rs/", "evil.example", "docs.rs", ""},
		{"https://docs\uFF0Ers/", "", "", ""},
		{"https://2130706433/", "", "", "127.0.0.1"},
		{"https://0x7f.1/", "", "", "127.0.0.1"},
		{"https://127.0.0.1./", "", "127.0.0.1", "127.0.0.1"},
		{"https://[::ffff:169.254.169.254]/", "", "", "169.254.169.254"},
		{"https://[fe80::1%25eth0]/", "", "", "fe80::1"},
		{"https://[2001:db8::1]:8443/", "", "[2001:db8::1]:8443", "2001:db8::1"},
		{"https://a..b/", "", "", ""},
		{"https://1.2.3.4.5/", "", "", ""},
	} {
		u, err := host.ParseURL(c.url, c.ascii)
		if err != nil || u.Host.String() != c.host || u.Addr.IsValid() != (c.addr != "") || c.addr != "" && u.Addr.String() != c.addr {
			t.Errorf("%s: %q %v %v, want %q %s", c.url, u.Host, u.Addr, err, c.host, c.addr)
		}
	}
	for _, bad := range []string{
		"", "docs.rs", "//docs.rs/", "file:///etc/passwd", "javascript:x", "https:docs.rs", "https:///x", "https://evil.example\\@docs.rs/",
		"https://docs.rs\\@evil.example/", "https://doc%73.rs/", "https://docs.rs:99999/", "https://docs.rs:0/", " https://docs.rs/", "https://docs.rs/\n",
		"https://user@/", "ftp://docs.rs/", "https://do cs.rs/",
	} {
		if u, err := host.ParseURL(bad, ""); err == nil {
			t.Errorf("%q is accepted: %v", bad, u.Host)
		}
	}
}

func TestDeniedBy(t *testing.T) {
	for _, c := range []struct {
		url, deny string
		want      bool
	}{
		{"https://EVIL.example:8443/x", "evil.example", true},
		{"https://evil.example/", "evil.example:8443", true},
		{"https://sub.evil.example/", "evil.example", false},
		{"https://127.1/", "127.0.0.1", true},
		{"https://[::ffff:127.0.0.1]/", "127.0.0.1", true},
		{"https://docs.rs/", "github.com", false},
	} {
		u, err := host.ParseURL(c.url, "")
		if err != nil {
			t.Fatal(err)
		}
		d, err := host.Parse(c.deny)
		if err != nil {
			t.Fatal(err)
		}
		if u.DeniedBy(d) != c.want {
			t.Errorf("%s denied by %s: %t", c.url, c.deny, !c.want)
		}
	}
	if u, _ := host.ParseURL("https://d\u043ecs.rs/", ""); u.DeniedBy(host.Host{}) {
		t.Error("nothing equals nothing")
	}
}

func TestSpellings(t *testing.T) {
	u, err := host.ParseURL("https://u:p@DOCS.rs:443/a/../%69nternal/./x?y=1#f", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"https://u:p@DOCS.rs:443/a/../%69nternal/./x?y=1#f", "https://docs.rs/a/../internal/./x?y=1", "https://docs.rs/internal/x?y=1",
	} {
		if !slices.Contains(u.Spellings(), want) {
			t.Errorf("%q is missing in %q", want, u.Spellings())
		}
	}
	if u, _ := host.ParseURL("https://docs.rs", ""); !slices.Contains(u.Spellings(), "https://docs.rs/") {
		t.Errorf("no slash: %q", u.Spellings())
	}
}

func TestSpecial(t *testing.T) {
	for addr, want := range map[string]string{
		"127.8.8.8": "loopback", "::1": "loopback", "10.1.2.3": "a private network address", "fd00::1": "a private network address",
		"169.254.169.254": "link-local", "fe80::1": "link-local", "0.0.0.0": "the unspecified address", "0.1.2.3": "this network", "224.0.0.1": "link-local", "239.1.1.1": "multicast",
		"100.64.0.1": "shared address space", "::ffff:10.0.0.1": "a private network address", "64:ff9b::7f00:1": "loopback", "2002:7f00:1::": "loopback",
		"::127.0.0.1": "loopback", "255.255.255.255": "a reserved address", "8.8.8.8": "", "2606:4700::1111": "", "64:ff9b::808:808": "", "192.88.99.1": "",
	} {
		if got := host.Special(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s is %q, want %q", addr, got, want)
		}
	}
	for url, want := range map[string]string{
		"https://localhost./": "loopback", "https://a.LOCALHOST/": "loopback", "https://2130706433/": "loopback", "https://0251.0376.0251.0376/": "link-local",
		"https://localhost.example/": "", "https://8.8.8.8/": "",
	} {
		u, err := host.ParseURL(url, "")
		if err != nil || u.Special() != want {
			t.Errorf("%s is %q, %v; want %q", url, u.Special(), err, want)
		}
	}
}

func TestFollowRedirect(t *testing.T) {
	for _, c := range []struct {
		from, to, next string
		follow         bool
	}{
		{"https://docs.rs/a", "https://docs.rs/b", "https://docs.rs/b", true},
		{"https://docs.rs/a", "/b?c", "https://docs.rs/b?c", true},
		{"https://docs.rs/a", "https://DOCS.rs.:443/b", "https://DOCS.rs.:443/b", true},
		{"https://docs.rs/a", "https://evil.example/b?q=1", "https://evil.example/b?q=1", false},
		{"https://docs.rs/a", "https://github.com/b", "https://github.com/b", false},
		{"https://docs.rs/a", "//evil.example/b", "https://evil.example/b", false},
		{"https://docs.rs/a", "https://sub.docs.rs/b", "https://sub.docs.rs/b", false},
		{"https://docs.rs/a", "http://docs.rs/b", "http://docs.rs/b", false},
		{"http://docs.rs/a", "https://docs.rs/b", "https://docs.rs/b", true},
		{"http://docs.rs/a", "/b", "http://docs.rs/b", false},
		{"https://docs.rs/a", "https://docs.rs:8443/b", "https://docs.rs:8443/b", false},
		{"https://docs.rs:8443/a", "/b", "https://docs.rs:8443/b", true},
		{"https://docs.rs/a", "https://docs.rs@evil.example/", "https://docs.rs@evil.example/", false},
		{"https://docs.rs/a", "https://u@docs.rs/", "https://u@docs.rs/", false},
		{"https://docs.rs/a", "file:///etc/passwd", "file:///etc/passwd", false},
		{"https://docs.rs/a", "https://evil.example\\@docs.rs/", "https://evil.example\\@docs.rs/", false},
		{"https://d\u043ecs.rs/a", "https://d\u043ecs.rs/b", "https://d%D0%BEcs.rs/b", false},
		{"https://127.1/a", "https://127.1/b", "https://127.1/b", false},
	} {
		next, follow := host.FollowRedirect(c.from, c.to)
		if next != c.next || follow != c.follow {
			t.Errorf("%s to %s: %s, %t; want %s, %t", c.from, c.to, next, follow, c.next, c.follow)
		}
	}
}

func TestNormalFormIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zA-Z0-9.:\[\]x_-]{1,20}`).Draw(t, "text")
		h, err := host.Parse(text)
		if err != nil {
			return
		}
		again, err := host.Parse(h.String())
		if err != nil || again != h {
			t.Fatalf("%q is %v, which is %v, %v", text, h, again, err)
		}
	})
}

func FuzzURL(f *testing.F) {
	f.Add("https://docs.rs@evil.example\\/x", "https://docs.rs/")
	f.Add("https://[::ffff:1.2.3.4%25x]:1/", "//x")
	f.Add("http://0x7f.0:80/%2e%2e/", "?")
	f.Fuzz(func(t *testing.T, from, to string) {
		if next, follow := host.FollowRedirect(from, to); follow {
			a, errA := host.ParseURL(from, "")
			b, errB := host.ParseURL(next, "")
			if errA != nil || errB != nil || !a.Host.Same(b.Host) || b.Scheme != "https" || b.User {
				t.Fatalf("%q to %q is followed to %q", from, to, next)
			}
		}
		u, err := host.ParseURL(from, "")
		if err != nil {
			return
		}
		if u.Special(); len(u.Spellings()) == 0 {
			t.Fatalf("%q has no spelling", from)
		}
		if u.Host.IsZero() {
			return
		}
		if again, err := host.ParseURL(u.Scheme+"://"+u.Host.String()+"/", ""); err != nil || !again.Host.Same(u.Host) {
			t.Fatalf("%q names %v, which is %v, %v", from, u.Host, again.Host, err)
		}
	})
}
