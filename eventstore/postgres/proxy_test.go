package postgres_test

import (
	"bytes"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// proxy stands between a store and the server and can break a connection at a
// chosen moment.
type proxy struct {
	url    string
	server string // network address of the server's socket
	ln     net.Listener

	mu     sync.Mutex
	marker []byte // breaks the connection whose client sends this
	answer bool   // after the server has answered
	cut    bool
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
	p := &proxy{url: u.String(), server: filepath.Join(dir, ".s.PGSQL.5432")}
	if p.ln, err = net.Listen("unix", filepath.Join(own, ".s.PGSQL.5432")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.ln.Close() })
	go p.serve()
	return p
}

// dropAnswerTo breaks the connection once, behind the answer to a request that
// holds the marker.
func (p *proxy) dropAnswerTo(marker string) { p.arm(marker, true) }

// dropRequest breaks the connection once, instead of passing on a request that
// holds the marker.
func (p *proxy) dropRequest(marker string) { p.arm(marker, false) }

func (p *proxy) arm(marker string, answer bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marker, p.answer = []byte(marker), answer
}

func (p *proxy) wasCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

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
		answers := make(chan bool, 1) // true: drop the next answer
		go p.pass(client, server, answers)
		go p.passBack(server, client, answers)
	}
}

// pass copies what the client sends.
func (p *proxy) pass(client, server net.Conn, dropAnswer chan<- bool) {
	defer server.Close()
	defer client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		hit := p.marker != nil && bytes.Contains(buf[:n], p.marker)
		answer := p.answer
		if hit {
			p.marker, p.cut = nil, true
		}
		p.mu.Unlock()
		if hit && !answer {
			return
		}
		if hit {
			dropAnswer <- true
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) passBack(server, client net.Conn, dropAnswer <-chan bool) {
	defer server.Close()
	defer client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-dropAnswer:
			return
		default:
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
