package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// book is a resolver that knows some names, and gives each answer once; the last one stays.
type book map[string][]string

func (b book) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	answers := b[name]
	if len(answers) == 0 {
		return nil, errNoAddress
	}
	if len(answers) > 1 {
		b[name] = answers[1:]
	}
	return []netip.Addr{netip.MustParseAddr(answers[0])}, nil
}

// script answers requests without a network: it dials what the client dials, and replies
// with the next redirect.
type script struct {
	dialer  *Dialer
	replies []string // where each request is sent to; then 200
	asked   []*http.Request
	dialled []string
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	port := map[string]string{"http": "80", "https": "443"}[r.URL.Scheme]
	s.dialer.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		s.dialled = append(s.dialled, address)
		return nil, errors.New("dialled")
	}
	if _, err := s.dialer.DialContext(r.Context(), "tcp", net.JoinHostPort(r.URL.Hostname(), port)); !strings.Contains(err.Error(), "dialled") {
		return nil, err
	}
	s.asked = append(s.asked, r)
	if len(s.replies) < len(s.asked) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	}
	return &http.Response{StatusCode: http.StatusPermanentRedirect, Header: http.Header{"Location": {s.replies[len(s.asked)-1]}}, Body: http.NoBody}, nil
}

func perform(t *testing.T, b book, method, url string, replies ...string) (*script, error) {
	t.Helper()
	target, err := NewTarget(url, b)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(Settings{}, nil)
	s := &script{dialer: &Dialer{Resolver: &c.route}, replies: replies}
	c.http = s
	header := http.Header{"Authorization": {"s"}, "Content-Type": {"text/x"}}
	_, err = c.do(t.Context(), hop{target, Request{Method: method, Header: header, Body: "body"}}, onTheHost)
	return s, err
}

const public = "93.184.216.34"

// A host that is public when the call is decided on and private when a redirect comes
// back to it is not looked up again, and no redirect leads to another host.
func TestRebindingOnTheWay(t *testing.T) {
	s, err := perform(t, book{"a.example": {public, "127.0.0.1"}}, "GET", "https://a.example/", "https://a.example/x", "/y")
	if err != nil || strings.Join(s.dialled, " ") != strings.Repeat(public+":443 ", 2)+public+":443" {
		t.Errorf("dialled %q, %v", s.dialled, err)
	}
	for _, host := range []string{"b.example", "127.0.0.1", "[::1]", "169.254.169.254", "a.example:8443", "sub.a.example"} {
		s, err := perform(t, book{"a.example": {public}, "b.example": {public}}, "GET", "https://a.example/", "https://"+host+"/")
		if !errors.As(err, new(*Refused)) || len(s.dialled) != 1 || !strings.Contains(err.Error(), "another host") {
			t.Errorf("%s: dialled %q, %v", host, s.dialled, err)
		}
	}
}

// Going over to https on the same host is no other host, but another origin.
func TestUpgradeToHTTPS(t *testing.T) {
	s, err := perform(t, book{"a.example": {public}}, "POST", "http://a.example/x", "https://a.example/x")
	if err != nil || len(s.asked) != 2 {
		t.Fatalf("%d requests, %v", len(s.asked), err)
	}
	if then := s.asked[1]; then.Method != "POST" || then.ContentLength != 4 || then.Header.Get("Authorization") != "" || then.Header.Get("Content-Type") == "" {
		t.Errorf("%s of %d bytes with %v", then.Method, then.ContentLength, then.Header)
	}
}
