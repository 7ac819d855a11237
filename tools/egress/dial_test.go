package egress_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"hecate/tools/egress"
)

// names answers look-ups in turn; the last answer stays.
type names struct {
	answers [][]netip.Addr
	err     error
	asked   []string
}

func (n *names) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	n.asked = append(n.asked, name)
	if n.err != nil || len(n.answers) == 0 {
		return nil, n.err
	}
	out := n.answers[0]
	if len(n.answers) > 1 {
		n.answers = n.answers[1:]
	}
	return out, nil
}

func addrs(texts ...string) (out []netip.Addr) {
	for _, s := range texts {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

// dials notes what is dialled, and refuses it.
type dials []string

func (d *dials) dial(_ context.Context, _, address string) (net.Conn, error) {
	*d = append(*d, address)
	return nil, errors.New("nobody there")
}

func TestOnlyPublicAddressesAreDialled(t *testing.T) {
	for _, c := range []struct {
		address string
		answer  []netip.Addr
		private bool
		dialled string
		err     string
	}{
		{"a.example:443", addrs("93.184.216.34", "2606:2800:220:1::1"), false, "93.184.216.34:443 [2606:2800:220:1::1]:443", "nobody there"},
		{"93.184.216.34:80", nil, false, "93.184.216.34:80", "nobody there"},
		{"a.example:443", addrs("93.184.216.34", "127.0.0.1"), false, "", "host a.example resolves to a private/loopback/link-local address (127.0.0.1); set HECATE_TASK_HTTP_ALLOW_PRIVATE_IPS=true to permit"},
		{"a.example:443", addrs("10.0.0.1"), false, "", "(10.0.0.1)"},
		{"a.example:443", addrs("169.254.169.254"), false, "", "link-local"},
		{"a.example:443", addrs("::ffff:127.0.0.1"), false, "", "loopback"},
		{"a.example:443", addrs("64:ff9b::7f00:1"), false, "", "loopback"},
		{"a.example:443", addrs("fd00::1"), false, "", "private"},
		{"a.example:443", addrs("0.0.0.0"), false, "", "(0.0.0.0)"},
		{"a.example:443", addrs("239.1.1.1"), false, "", "(239.1.1.1)"},
		{"a.example:443", addrs("100.64.0.1"), false, "", "(100.64.0.1)"},
		{"127.0.0.1:1", nil, false, "", "target IP 127.0.0.1 is private/loopback/link-local; set HECATE_TASK_HTTP_ALLOW_PRIVATE_IPS=true to permit"},
		{"[::1]:1", nil, false, "", "target IP ::1"},
		{"[fe80::1%eth0]:1", nil, false, "", "link-local"},
		{"a.example:443", nil, false, "", "dns lookup failed: the name has no address"},
		{"a.example:80", addrs("127.0.0.1", "10.0.0.1"), true, "127.0.0.1:80 10.0.0.1:80", "nobody there"},
		{"[::1]:80", nil, true, "[::1]:80", "nobody there"},
	} {
		var seen dials
		d := &egress.Dialer{Resolver: &names{answers: [][]netip.Addr{c.answer}}, AllowPrivateIPs: c.private, Dial: seen.dial}
		_, err := d.DialContext(t.Context(), "tcp", c.address)
		if got := strings.Join(seen, " "); got != c.dialled || err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s %v: dialled %q, %v; want %q, %s", c.address, c.answer, got, err, c.dialled, c.err)
		}
		if denied := errors.As(err, new(*egress.Refused)); denied != strings.Contains(err.Error(), "PRIVATE_IPS") {
			t.Errorf("%s %v: %T", c.address, c.answer, err)
		}
	}
	d := &egress.Dialer{Resolver: &names{err: errors.New("server misbehaving")}}
	if _, err := d.DialContext(t.Context(), "tcp", "a.example:80"); fmt.Sprint(err) != "dns lookup failed: server misbehaving" {
		t.Error(err)
	}
}

// A name that changes its address between the decision and the connection gains nothing:
// the address that the decision saw is dialled.
func TestANameThatChangesItsAddress(t *testing.T) {
	r := &names{answers: [][]netip.Addr{addrs("93.184.216.34"), addrs("127.0.0.1")}}
	target, err := egress.NewTarget("https://rebind.example/x", r)
	if err != nil {
		t.Fatal(err)
	}
	if got := target.Addrs(t.Context()); len(got) != 1 || got[0].String() != "93.184.216.34" {
		t.Fatalf("the decision sees %v", got)
	}
	var seen dials
	d := &egress.Dialer{Resolver: target, Dial: seen.dial}
	for range 2 {
		if _, err := d.DialContext(t.Context(), "tcp", "rebind.example:443"); fmt.Sprint(err) != "nobody there" {
			t.Error(err)
		}
	}
	if got := strings.Join(seen, " "); got != "93.184.216.34:443 93.184.216.34:443" || len(r.asked) != 1 {
		t.Errorf("dialled %q after asking for %q", got, r.asked)
	}
	if _, err := d.DialContext(t.Context(), "tcp", "other.example:443"); err == nil || len(seen) != 2 {
		t.Errorf("another host: %v, %q", err, seen)
	}
}

// A look-up that failed for the decision is made again for the connection, and what it
// gives then is checked there.
func TestALookUpThatFailsFirst(t *testing.T) {
	r := &names{err: errors.New("timeout")}
	target, err := egress.NewTarget("https://late.example/", r)
	if err != nil {
		t.Fatal(err)
	}
	if got := target.Addrs(t.Context()); len(got) != 0 || len(target.Addrs(t.Context())) != 0 || len(r.asked) != 1 {
		t.Errorf("the decision sees %v after %d questions", got, len(r.asked))
	}
	r.err, r.answers = nil, [][]netip.Addr{addrs("127.0.0.1")}
	if _, err := egress.Get(t.Context(), target, egress.Settings{}, nil); !errors.As(err, new(*egress.Refused)) {
		t.Errorf("got %v", err)
	}
}

// slow never answers.
type slow struct{ begun chan struct{} }

func (s slow) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	close(s.begun)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestALookUpEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := slow{make(chan struct{})}
	target, err := egress.NewTarget("https://slow.example/", s)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-s.begun
		cancel()
	}()
	if _, err := egress.Get(ctx, target, egress.Settings{Timeout: time.Minute}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
