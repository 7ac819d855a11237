package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hecate/cmd/hecate/internal/operators"
	"hecate/domain/clock"
)

// A token goes to the server that it belongs to, or where it was told to go, and there
// only with requests to the API.
func TestWhoGetsTheOperatorsToken(t *testing.T) {
	const theirs, named = "token-in-the-data-directory", "token-of-the-environment"
	for name, c := range map[string]struct {
		running bool // the data directory says that the server runs
		pid     int
		args    []string
		environ []string
		want    string
	}{
		"found in the data directory": {true, os.Getpid(), nil, nil, theirs},
		"named, and found there":      {true, os.Getpid(), []string{"--server", "URL"}, nil, theirs},
		"named with a slash":          {true, os.Getpid(), []string{"--server", "URL/"}, nil, theirs},
		"named, and another one":      {false, 0, []string{"--server", "URL"}, nil, ""},
		"left over from a killed one": {true, 1 << 30, nil, nil, ""},
		"without a process":           {true, 0, nil, nil, ""},
		"the environment's":           {true, os.Getpid(), nil, []string{"HECATE_OPERATOR_TOKEN=" + named}, named},
		"the environment's, named":    {false, 0, []string{"--server", "URL"}, []string{"HECATE_OPERATOR_TOKEN=" + named}, named},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			sent := map[string][]string{}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				kind := "api"
				if r.URL.Path == "/healthz" {
					kind = "health"
					fmt.Fprint(w, `{"status":"ok"}`)
				} else {
					fmt.Fprint(w, `{"object":"tasks","data":[]}`)
				}
				sent[kind] = append(sent[kind], r.Header.Get("X-Hecate-Operator-Token"))
			}))
			defer s.Close()
			a, out, errs := testApp(t)
			dir := a.getenv("HECATE_DATA_DIR")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, operators.TokenFile), []byte(theirs+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.running {
				if err := writeJSON(filepath.Join(dir, runtimeFile), map[string]any{"base_url": s.URL, "pid": c.pid}); err != nil {
					t.Fatal(err)
				}
			}
			a.environ = append(a.environ, c.environ...)
			args := []string{"tasks"}
			for _, arg := range c.args {
				args = append(args, strings.Replace(arg, "URL", s.URL, 1))
			}
			if code := a.run(args); code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			if slices.ContainsFunc(sent["health"], func(token string) bool { return token != "" }) || len(sent["api"]) == 0 {
				t.Errorf("sent %q", sent)
			}
			for _, token := range sent["api"] {
				if token != c.want {
					t.Errorf("sent %q, want %q", token, c.want)
				}
			}
			if printed := out.String() + errs.String(); strings.Contains(printed, theirs) || strings.Contains(printed, named) {
				t.Errorf("printed a token: %s", printed)
			}
		})
	}
}

// A server says at its start that it asks for no proof, makes its first operator once,
// and does not start with a setting that means nothing.
func TestOperatorsAtTheStart(t *testing.T) {
	dir := t.TempDir()
	environ := []string{"HECATE_BACKEND=memory", "HECATE_ADDRESS=127.0.0.1:0", "HECATE_DATA_DIR=" + dir, "TMPDIR=" + t.TempDir(), "HECATE_TASK_SANDBOX=none"}
	start := func(more ...string) (string, error) {
		var log bytes.Buffer
		n, err := startNode(t.Context(), append(environ, more...), slog.New(slog.NewJSONHandler(&log, nil)))
		if err == nil {
			err = n.Close(t.Context())
		}
		return log.String(), err
	}
	first, err := start()
	if err != nil || !strings.Contains(first, "made the first operator") || strings.Contains(first, "whoever reaches the API") {
		t.Errorf("%v %s", err, first)
	}
	token, err := operators.ReadToken(filepath.Join(dir, operators.TokenFile))
	if err != nil || len(token) != 43 || strings.Contains(first, token) {
		t.Errorf("token of %d characters, %v; the log: %s", len(token), err, first)
	}
	again, err := start("HECATE_OPERATOR_TOKEN_REQUIRED=never")
	if err != nil || strings.Contains(again, "made the first") || !strings.Contains(again, "whoever reaches the API may answer approvals") {
		t.Errorf("%v %s", err, again)
	}
	if _, err := start("HECATE_OPERATOR_TOKEN_REQUIRED=sometimes"); err == nil || !strings.Contains(err.Error(), "HECATE_OPERATOR_TOKEN_REQUIRED") {
		t.Errorf("%v", err)
	}
	// A list that is there already is shared, and no token of its own is made.
	shared, other := filepath.Join(t.TempDir(), "team.json"), t.TempDir()
	if _, err := operators.Add(shared, "jane", clock.System{}.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := start("HECATE_OPERATORS_FILE="+shared, "HECATE_DATA_DIR="+other); err != nil {
		t.Fatal(err)
	}
	if token, err := operators.ReadToken(filepath.Join(other, operators.TokenFile)); token != "" || err != nil {
		t.Errorf("made a token beside a shared list, or %v", err)
	}
}
