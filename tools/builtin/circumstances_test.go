package builtin_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hecate/tools"
	"hecate/tools/tooltest"
)

// Circumstances in which the suite of all tools makes its calls.

type (
	setting = func(t *testing.T, w *tooltest.Workspace, a map[string]any)
	long    = func(t *testing.T, w *tooltest.Workspace) map[string]any
	slow    = func(t *testing.T, w *tooltest.Workspace) tooltest.Slow
)

func always(a args) long {
	return func(*testing.T, *tooltest.Workspace) map[string]any { return a }
}

// withFile is a call where there is a file of many lines.
func withFile(name string, size int, a args) long {
	return func(_ *testing.T, w *tooltest.Workspace) map[string]any {
		w.Write(name, strings.Repeat("xxxxxxxxx\n", size/10))
		return a
	}
}

func withFiles(n int, a args) long {
	return func(_ *testing.T, w *tooltest.Workspace) map[string]any {
		for i := range n {
			w.Write(fmt.Sprint("file", i), "")
		}
		return a
	}
}

func inRepository(t *testing.T, w *tooltest.Workspace, _ map[string]any) {
	for _, c := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "Begin"}} {
		runGit(t, w.Dir, c...)
	}
}

func withUntracked(n int, a args) long { return withFiles(n, a) }

// withDiff is a call where a long file is committed and changed.
func withDiff(a args) long {
	return func(t *testing.T, w *tooltest.Workspace) map[string]any {
		w.Write("long", strings.Repeat(strings.Repeat("x", 99)+"\n", 2000))
		runGit(t, w.Dir, "add", "-A")
		runGit(t, w.Dir, "commit", "-q", "-m", "Go on")
		w.Write("long", strings.Repeat(strings.Repeat("y", 99)+"\n", 2000))
		return a
	}
}

// terminalIn opens a terminal and puts its id into the call.
func terminalIn(command string) setting {
	return func(t *testing.T, w *tooltest.Workspace, a map[string]any) {
		a["terminal_id"] = opened(t, w, args{"command": command})
	}
}

// terminalThatShows is a call to a terminal that has shown more than a result holds.
func terminalThatShows(a args) long {
	return func(t *testing.T, w *tooltest.Workspace) map[string]any {
		id := opened(t, w, args{"command": "sh", "args": []string{"-c", "seq 20000; exec cat"}})
		shown(t, w, id, "20000\n")
		a = maps.Clone(a)
		a["terminal_id"] = id
		return a
	}
}

// slowCommand is a command that detaches from its shell and sleeps.
func slowCommand(call func(script string) args) slow {
	return func(t *testing.T, w *tooltest.Workspace) tooltest.Slow {
		fifo := filepath.Join(w.Dir, "..", "begun")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		begun, pids := make(chan struct{}), ""
		go func() {
			b, _ := os.ReadFile(fifo) // ends when the command has written to it
			pids = string(b)
			close(begun)
		}()
		return tooltest.Slow{
			Args:  call("(trap '' TERM HUP INT; exec sleep 300) & echo $$ $! >../begun; sleep 300"),
			Begun: begun,
			Left: func() string {
				for _, pid := range strings.Fields(pids) {
					if lives(pid) {
						return "process " + pid
					}
				}
				if pids == "" {
					return "nobody knows which processes"
				}
				return ""
			},
		}
	}
}

func slowWait(t *testing.T, w *tooltest.Workspace) tooltest.Slow {
	begun := make(chan struct{})
	time.AfterFunc(10*time.Millisecond, func() { close(begun) })
	return tooltest.Slow{Args: args{"terminal_id": opened(t, w, args{"command": "cat"}), "timeout_ms": 60000}, Begun: begun}
}

func slowArtifact(_ *testing.T, w *tooltest.Workspace) tooltest.Slow {
	begun := make(chan struct{})
	w.Env.Artifact = func(ctx context.Context, _ string) (tools.Artifact, bool, error) {
		close(begun)
		<-ctx.Done()
		return tools.Artifact{}, false, ctx.Err()
	}
	return tooltest.Slow{Args: args{"artifact_id": "artifact_1"}, Begun: begun}
}

func longArtifact(_ *testing.T, w *tooltest.Workspace) map[string]any {
	w.Env.Artifact = func(_ context.Context, id string) (tools.Artifact, bool, error) {
		return tools.Artifact{ID: id, Content: strings.Repeat("é", 1<<20)}, true, nil
	}
	return args{"artifact_id": "artifact_1"}
}

// slowSite is a server that begins an answer and never ends it, until its client is gone.
func slowSite(t *testing.T, w *tooltest.Workspace) tooltest.Slow {
	begun, gone := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "a beginning")
		w.(http.Flusher).Flush()
		close(begun)
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(s.Close)
	w.Env.Settings.HTTP.AllowPrivateIPs = true
	return tooltest.Slow{Args: args{"url": s.URL}, Begun: begun, Left: func() string {
		select {
		case <-gone:
			return ""
		case <-time.After(patience):
			return "a connection"
		}
	}}
}

func longSite(t *testing.T, w *tooltest.Workspace) map[string]any {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, strings.Repeat("é", 1<<20))
	}))
	t.Cleanup(s.Close)
	w.Env.Settings.HTTP.AllowPrivateIPs = true
	return args{"url": s.URL}
}
