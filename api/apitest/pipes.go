package apitest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Pipe returns a server of h whose clients come over pipes in memory.
func Pipe(t testing.TB, h http.Handler) *Server {
	p := newPipes()
	s := p.serve(h)
	t.Cleanup(s.Close)
	return &Server{Server: s, Dial: p.dial}
}

// pipes is a network in memory, for tests in a bubble of fake time. It buffers
// nothing: what a client does not read, the server cannot write.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// serve returns a server whose clients come over the pipes.
func (p *pipes) serve(h http.Handler) *httptest.Server {
	s := &httptest.Server{Listener: p, Config: &http.Server{Handler: h}}
	s.Start()
	s.Client().Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) }}
	return s
}

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the server's end of a client's pipe.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr is an address that every server takes for its own.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
