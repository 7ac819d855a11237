package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hecate/eventstore/proof"
)

// A witness is told again what it did not take, and not of what a newer checkpoint replaces.
func TestWitness(t *testing.T) {
	var mu sync.Mutex
	var got []string
	refused := false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if !refused {
			refused = true
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		got = append(got, string(body))
	}))
	defer s.Close()
	var log strings.Builder
	w := newWitness(strings.Replace(s.URL, "://", "://user:secret@", 1)+"/?token=secret", slog.New(slog.NewTextHandler(&log, nil)))
	ctx, stop := context.WithCancel(t.Context())
	w.tell([]byte("first"))
	w.tell([]byte("second"))
	ended := make(chan error, 1)
	go func() { ended <- w.run(ctx) }()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		mu.Lock()
		n := len(got)
		mu.Unlock()
		if n > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the witness has got nothing")
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	w.tell([]byte("last"))
	w.finish(ctx)
	if all := strings.Join(got, " "); all != "second last" {
		t.Errorf("the witness has got %q", all)
	}
	if !strings.Contains(log.String(), "502") || strings.Contains(log.String(), "secret") {
		t.Errorf("the log says %s", log.String())
	}
}

// A server seals what it records and tells its witness, so that the log can be held against
// that later.
func TestServerSeals(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(t.TempDir(), "kept.txt")
	n, err := startNode(t.Context(), []string{
		"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "HECATE_ADDRESS=127.0.0.1:0", "HECATE_DATA_DIR=" + dir, "HECATE_AUDIT_WITNESS=" + kept,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(n.BaseURL()+"/hecate/v1/tasks", "application/json", strings.NewReader(`{"prompt":"x","execution_kind":"agent_loop"}`))
	if err != nil || res.StatusCode >= 300 {
		t.Fatal(res, err)
	}
	res.Body.Close()
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer stop()
	if err := n.Close(ctx); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(kept)
	if err != nil || len(proof.Split(raw)) == 0 {
		t.Fatalf("kept: %q, %v", raw, err)
	}
	a, _, _ := testApp(t)
	out := auditing(t, a, exitCompleted, "the last one", "verify", dir, "--checkpoint", kept, "--key", filepath.Join(dir, auditKeyFile))
	if !strings.Contains(out, "fits") {
		t.Errorf("verify says\n%s", out)
	}
}

// An address that no checkpoint can be sent to is no name of a file.
func TestWitnessScheme(t *testing.T) {
	for target, bad := range map[string]bool{"ftp://x/y": true, "htp://x": true, "https://x/y": false, "kept.txt": false, "/a/b": false} {
		if _, err := readConfig([]string{"HECATE_DATA_DIR=" + t.TempDir(), "HECATE_AUDIT_WITNESS=" + target}); (err != nil) != bad {
			t.Errorf("%s: %v", target, err)
		}
	}
}
