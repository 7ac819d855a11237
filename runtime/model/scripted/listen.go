package scripted

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Start listens on addr (such as 127.0.0.1:0) and returns the base URL for a
// provider's configuration. Stop ends all connections and waits for the handlers.
func (s *Server) Start(addr string) (baseURL string, stop func(), err error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("start scripted model: %w", err)
	}
	var handlers gate
	// The handlers are ended by this context: they may hang on purpose.
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if handlers.enter() {
				defer handlers.leave()
				s.ServeHTTP(w, r)
			}
		}),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // returns when stop closes the listener
	}()
	var once sync.Once
	return "http://" + listener.Addr().String(), func() {
		once.Do(func() {
			cancel()
			_ = server.Close() // the listener and the connections are gone either way
			<-served
			handlers.close()
		})
	}, nil
}

// gate counts the handlers that run, and lets none in once it is closed.
type gate struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Add(1)
	}
	return !g.closed
}

func (g *gate) leave() { g.running.Done() }

func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
