package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"hecate/domain/permission/host"
)

// dialMax bounds one attempt at one address.
const dialMax = 10 * time.Second

// Dialer connects to addresses that it has checked.
type Dialer struct {
	Resolver        Resolver
	AllowPrivateIPs bool
	// Dial connects to an IP address and port; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DialContext looks the host of address up once and connects to one of the addresses
// that this gave. One that is not public refuses them all: whoever mixes it in wants it
// dialled. So does an answer without any.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := d.addresses(ctx, name)
	if err != nil {
		return nil, err
	}
	dial := d.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialMax}).DialContext
	}
	var failed []error
	for _, a := range addrs {
		c, err := dial(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return c, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failed...)
}

// addresses are those of a host, all of which may be reached.
func (d *Dialer) addresses(ctx context.Context, name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		if host.Special(a) != "" && !d.AllowPrivateIPs {
			return nil, &Refused{fmt.Sprintf("target IP %s is private/loopback/link-local%s", a, permit)}
		}
		return []netip.Addr{a}, nil
	}
	addrs, err := d.Resolver.LookupNetIP(ctx, "ip", name)
	if err == nil && len(addrs) == 0 {
		err = errNoAddress
	}
	if err != nil {
		return nil, fmt.Errorf("dns lookup failed: %w", err)
	}
	for _, a := range addrs {
		if host.Special(a) != "" && !d.AllowPrivateIPs {
			return nil, &Refused{fmt.Sprintf("host %s resolves to a private/loopback/link-local address (%s)%s", name, a, permit)}
		}
	}
	return addrs, nil
}

const permit = "; set HECATE_TASK_HTTP_ALLOW_PRIVATE_IPS=true to permit"

// Refused says that a request may not be made, by the operator's settings.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return strings.TrimSpace(r.Reason) }
