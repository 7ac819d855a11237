package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The token of a server goes to the operation of the API that answers checkpoints, and nowhere else.
func TestCheckpointOfServer(t *testing.T) {
	a, _, _ := testApp(t)
	c := configAt(t, a.getenv("HECATE_DATA_DIR"))
	sealedLog(t, c, 5)
	checkpoint := auditing(t, a, exitCompleted, "\n5\n", "checkpoint")
	const token = "a-token-of-twenty-four-signs"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Get("X-Hecate-Runtime-Token")
		switch {
		case r.URL.Path != "/hecate/v1/audit/checkpoint":
			if sent != "" {
				t.Error("the token was sent to", r.URL.Path)
			}
			fmt.Fprint(w, checkpoint)
		case r.URL.RawQuery == "away":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case sent != token:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprintf(w, `{"data":{"checkpoint":%q}}`, checkpoint)
		}
	}))
	defer server.Close()
	at := server.URL + "/hecate/v1/audit/checkpoint"
	auditing(t, a, exitFailed, "set HECATE_RUNTIME_TOKEN", "verify", "--checkpoint", at)
	environ := a.environ
	a.environ = append(environ, "HECATE_RUNTIME_TOKEN=another-token-of-twenty-four-signs")
	auditing(t, a, exitFailed, "not the token of that server", "verify", "--checkpoint", at)
	a.environ = append(environ, "HECATE_RUNTIME_TOKEN="+token)
	auditing(t, a, exitCompleted, "the checkpoint for 5 records fits", "verify", "--checkpoint", at)
	auditing(t, a, exitCompleted, "the checkpoint for 5 records fits", "verify", "--checkpoint", server.URL+"/kept.txt")
	auditing(t, a, exitFailed, "302", "verify", "--checkpoint", at+"?away")
	t.Chdir(t.TempDir())
	auditing(t, a, exitCompleted, "5 records", "export", "--from", "1", "--to", "5", "--checkpoint", at)
}
