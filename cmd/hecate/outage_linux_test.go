package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hecate/cmd/hecate/internal/operators"
)

// severable stands before a server, and can be cut off from it.
type severable struct {
	*httptest.Server
	gone atomic.Bool // nothing gets through
	deaf atomic.Bool // nothing that would change something does
}

func newSeverable(t *testing.T, base string) *severable {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	s, through := &severable{}, httputil.NewSingleHostReverseProxy(to)
	through.FlushInterval = -1
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.gone.Load() || s.deaf.Load() && r.Method == http.MethodPost {
			panic(http.ErrAbortHandler)
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// waitForTimes returns once the command has said a text so often.
func (s *terminalSession) waitForTimes(t *testing.T, text string, n int) {
	t.Helper()
	waitFor(t, text, func() (bool, bool) { return true, strings.Count(s.output(), text) >= n })
}

// Who answers while the server is away hears that nothing was answered, and is asked anew
// once it is back: in a dialog, line by line, and where the run was begun.
func TestTerminalServerAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		term, asks, enter string
		attach            bool
	}{
		"attached": {"xterm", asksNow, "", true}, "attached, in lines": {"dumb", "n, N or q: ", "\n", true}, "run": {"xterm", asksNow, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ, server, r := served(t)
			between := newSeverable(t, server.BaseURL())
			data := ""
			for _, e := range environ {
				if value, ok := strings.CutPrefix(e, "HECATE_DATA_DIR="); ok {
					data = value
				}
			}
			token, err := operators.ReadToken(filepath.Join(data, operators.TokenFile))
			if err != nil {
				t.Fatal(err)
			}
			environ = append(environ, "TERM="+c.term, operatorTokenEnv+"="+token)
			args := []string{"attach", "--server", between.URL, r.ID}
			if !c.attach {
				args = []string{"run", "--server", between.URL, "--dir", t.TempDir(), "gated: make a file"}
			}
			s := onPTY(t, environ, args...)
			s.waitForTimes(t, c.asks, 1)

			between.deaf.Store(true)
			s.typeIn(t, "y"+c.enter)
			s.waitFor(t, "cannot be reached")
			s.waitFor(t, "whether your answer arrived is not known; trying again, and asking anew once it is back")
			between.deaf.Store(false)
			s.waitForTimes(t, "the server answers again", 1)
			s.waitForTimes(t, c.asks, 2)

			between.gone.Store(true)
			between.CloseClientConnections()
			s.waitFor(t, "nothing was answered; trying again, and asking anew once it is back")
			s.typeIn(t, "y"+c.enter) // to nothing
			s.taken(t)
			between.gone.Store(false)
			s.waitForTimes(t, "the server answers again", 2)
			s.waitForTimes(t, c.asks, 3)
			s.typeIn(t, "y"+c.enter)
			if code := s.exitCode(); code != exitCompleted {
				t.Fatalf("exit code %d:\n%s", code, s.output())
			}
			check(t, s.output(), []string{"the server at http://127.0.0.1:", "The file is there."})
		})
	}
}
