package postgres_test

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// fault is what a proxy does to a connection.
type fault int

const (
	loseRequest  fault = iota // break instead of passing on the request
	tearRequest               // break in the midst of the request
	loseRunning               // break when the request has been passed on
	tearAnswer                // break in the midst of the answer
	loseAnswer                // break behind the answer to the request
	delayRequest              // break towards the client, and pass on the request after release
	delayAnswer               // pass on the answer after release
)

// proxy stands between a store and the server and can break connections at chosen
// moments.
type proxy struct {
	url     string
	server  string // network address of the server's socket
	ln      net.Listener
	release chan struct{} // close it to pass on what is delayed
	late    chan struct{} // closed when the server is through with a delayed request
	held    chan struct{} // closed when an answer is delayed
	once    sync.Once

	mu     sync.Mutex
	marker []byte  // a request with this in it meets the next fault
	faults []fault // still to come
	down   bool    // after the last fault there is no server any more
	conns  []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	dir := q.Get("host")
	if dir == "" {
		t.Skip("the server at HECATE_TEST_POSTGRES_URL is not on a unix socket")
	}
	own, err := os.MkdirTemp("", "proxy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(own) })
	q.Set("host", own)
	u.RawQuery = q.Encode()
	p := &proxy{
		url: u.String(), server: filepath.Join(dir, ".s.PGSQL.5432"),
		release: make(chan struct{}), late: make(chan struct{}), held: make(chan struct{}),
	}
	if p.ln, err = net.Listen("unix", filepath.Join(own, ".s.PGSQL.5432")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.ln.Close()
		p.letGo()
	})
	go p.serve()
	return p
}

// arm breaks the connections of the next requests that hold the marker. If down is
// set, all others break with the last one, and no new ones are made.
func (p *proxy) arm(marker string, down bool, faults ...fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marker, p.down, p.faults = []byte(marker), down, faults
}

// wasCut reports whether all faults have happened.
func (p *proxy) wasCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.marker != nil && len(p.faults) == 0
}

// meet returns the fault that a request meets.
func (p *proxy) meet(request []byte) (f fault, hit bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.faults) == 0 || !bytes.Contains(request, p.marker) {
		return 0, false
	}
	f, p.faults = p.faults[0], p.faults[1:]
	if p.down && len(p.faults) == 0 {
		for _, c := range p.conns {
			_ = c.Close()
		}
	}
	return f, true
}

// keep reports whether the server can be reached.
func (p *proxy) keep(client net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, client)
	return !p.down || len(p.faults) > 0
}

// holding returns true when an answer is delayed, and false if ctx ends before.
func (p *proxy) holding(ctx context.Context) bool {
	select {
	case <-p.held:
		return true
	case <-ctx.Done():
		return false
	}
}

// letGo passes on what is delayed.
func (p *proxy) letGo() { p.once.Do(func() { close(p.release) }) }

func (p *proxy) serve() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client) {
			_, _ = client.Close(), server.Close()
			continue
		}
		answers := make(chan fault, 1) // what happens to the next answer
		ended := make(chan struct{})
		go p.pass(client, server, answers, ended)
		go p.passBack(server, client, answers, ended)
	}
}

// pass copies what the client sends.
func (p *proxy) pass(client, server net.Conn, spoil chan<- fault, ended <-chan struct{}) {
	defer server.Close()
	defer client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		f, hit := p.meet(buf[:n])
		if !hit {
			f = -1
		}
		switch f {
		case loseRequest:
			return
		case tearRequest:
			_, _ = server.Write(buf[:n/2])
			return
		case loseRunning:
			_ = client.Close()
			_, _ = server.Write(buf[:n])
			<-ended
			return
		case tearAnswer, loseAnswer, delayAnswer:
			spoil <- f
		case delayRequest:
			_ = client.Close()
			<-p.release
			_, _ = server.Write(buf[:n])
			<-ended
			close(p.late)
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) passBack(server, client net.Conn, spoil <-chan fault, ended chan<- struct{}) {
	defer close(ended)
	defer server.Close()
	defer client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		select {
		case f := <-spoil:
			switch f {
			case delayAnswer:
				close(p.held)
				<-p.release
			case tearAnswer:
				_, _ = client.Write(buf[:n/2])
				return
			default:
				return
			}
		default:
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
