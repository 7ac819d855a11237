//go:build linux

package blackbox_test

import (
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// wire is a connection to the database that can be cut. What is on its way when it
// is cut is lost, in either direction, and nobody is told.
type wire struct {
	url    string
	server [2]string // network and address of the database
	ln     net.Listener

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

func newWire(t *testing.T, database string) *wire {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{server: [2]string{"tcp", u.Host}, conns: map[net.Conn]bool{}}
	q := u.Query()
	if dir := q.Get("host"); dir != "" {
		w.server = [2]string{"unix", filepath.Join(dir, ".s.PGSQL.5432")}
		q.Del("host")
	}
	if w.ln, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	u.Host, u.RawQuery = w.ln.Addr().String(), q.Encode()
	w.url = u.String()
	t.Cleanup(func() {
		_ = w.ln.Close() // nobody is served any more
		w.cut()
	})
	go w.serve()
	return w
}

func (w *wire) serve() {
	for {
		client, err := w.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(w.server[0], w.server[1])
		if err != nil || !w.keep(client, server) {
			_ = client.Close()
			continue
		}
		go w.pass(client, server)
		go w.pass(server, client)
	}
}

// keep remembers the two ends of a connection, or closes the second if the wire is cut.
func (w *wire) keep(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range ends {
		if w.down {
			_ = c.Close()
			continue
		}
		w.conns[c] = true
	}
	return !w.down
}

// pass copies until one side ends or the wire is cut. Bytes that come after a cut
// are lost, and the connection stays open: the other side hears nothing.
func (w *wire) pass(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if w.isDown() {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil && !errors.Is(err, io.ErrNoProgress) {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range []net.Conn{from, to} {
		_ = c.Close() // the other direction may have closed it
		delete(w.conns, c)
	}
}

func (w *wire) isDown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.down
}

// stall makes the wire swallow everything, as a network that drops packets does.
func (w *wire) stall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
}

// cut ends all connections, and every new one at once, as a firewall that refuses.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for c := range w.conns {
		_ = c.Close()
	}
	clear(w.conns)
}

// mend lets new connections through. Those of before are gone.
func (w *wire) mend() {
	w.cut()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}
