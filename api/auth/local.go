package auth

import (
	"net/http"
	"net/netip"

	"hecate/api/envelope"
)

// forwarding are the headers by which a proxy says that it speaks for somebody else.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip"}

// LocalOnly returns nil if a request comes from this machine itself: over loopback,
// and not through a proxy, behind which anybody may be.
func LocalOnly(r *http.Request) *envelope.Error {
	const message = "this can only be done from the server's own machine, and not through a proxy"
	for _, name := range forwarding {
		if _, given := r.Header[name]; given {
			return forbidden(message)
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return forbidden(message)
	}
	return nil
}
