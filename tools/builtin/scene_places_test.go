package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/builtin"
	"hecate/tools/tooltest"
)

// project is a small workspace without a repository.
func project(t *testing.T, w *tooltest.Workspace) map[string]string {
	w.Write("notes.txt", "first line\nsecond line\n")
	w.Write("src/main.go", "package main\n\nfunc main() {}\n")
	w.Write("empty.txt", "")
	w.Write("data.bin", "a\x00b")
	w.Write("big.txt", strings.Repeat("a", 3<<20))
	w.Link("../elsewhere.txt", "link.txt")
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(w.Dir, "notes.txt"), when, when); err != nil {
		t.Fatal(err)
	}
	return nil
}

// repository has a commit whose id is the same each time, and changes of each kind.
func repository(t *testing.T, w *tooltest.Workspace) map[string]string {
	w.Write("notes.txt", "first line\nsecond line\n")
	w.Write("kept.txt", "one\ntwo\n")
	w.Write("staged.txt", "old\n")
	for _, c := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "Begin"}} {
		runGit(t, w.Dir, c...)
	}
	w.Write("staged.txt", "new\n")
	runGit(t, w.Dir, "add", "staged.txt")
	w.Write("notes.txt", "first line\n2nd line\n")
	w.Write("new.txt", "x\n")
	return nil
}

// runGit runs git as the same author at the same time.
func runGit(t testing.TB, dir string, line ...string) {
	t.Helper()
	cmd := exec.Command("git", line...)
	cmd.Dir = dir
	const when = "2026-01-02T03:04:05Z"
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE="+when, "GIT_COMMITTER_DATE="+when,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", line, err, out)
	}
}

// withoutRepository makes the call find none.
func withoutRepository(e *tools.Env) { _ = os.RemoveAll(filepath.Join(e.RootPath, ".git")) }

// terminalOf opens a terminal, and waits for its first line unless it reads at once.
func terminalOf(command string, line ...string) func(*testing.T, *tooltest.Workspace) map[string]string {
	return func(t *testing.T, w *tooltest.Workspace) map[string]string {
		id := opened(t, w, args{"command": command, "args": line})
		if strings.Contains(line[1], "echo ready") {
			shown(t, w, id, "ready")
		}
		return map[string]string{"terminal_1": id}
	}
}

// unhurried takes out what a program has or has not done yet.
func unhurried(r *tools.Result) {
	r.Text = strings.Replace(r.Text, "running=false exit_code=0", "running=true", 1)
	r.Text, _, _ = strings.Cut(r.Text, "\n--- output ---")
	if id, ok := r.Output["terminal_id"].(string); ok {
		r.Text = strings.ReplaceAll(r.Text, id, "terminal_1")
	}
}

// typeInto writes to the terminal that terminalOf opened.
func typeInto(e *tools.Env, text string) {
	if t, ok := e.Terminals.OpenedBy("step_1+"); ok {
		_ = t.Write(context.Background(), text)
	}
}

// awaitEnd waits for the program in the terminal that terminalOf opened.
func awaitEnd(e *tools.Env) {
	if t, ok := e.Terminals.OpenedBy("step_1+"); ok {
		t.Wait(context.Background(), patience)
	}
}

func artifacts(_ *testing.T, w *tooltest.Workspace) map[string]string {
	w.Env.Artifact = func(_ context.Context, id string) (tools.Artifact, bool, error) {
		a := tools.Artifact{ID: id, Kind: "stdout", Name: "shell-stdout.txt", Status: "ready", MIMEType: "text/plain", Content: "line 1\nline 2\n"}
		return a, id == "artifact_1", nil
	}
	return nil
}

func loopback() *at { return &at{addr: netip.MustParseAddr("127.0.0.1")} }

// website is one at http://example.com.
func website(t *testing.T, w *tooltest.Workspace) map[string]string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>T</title><h1>Title</h1><script>x()</script><p>See <a href="https://docs.example/">the docs</a>.</p>`)
		case "/data.json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"answer": 42}`)
		case "/echo":
			fmt.Fprint(w, r.Method+" of "+r.Header.Get("Content-Type"))
		case "/away":
			http.Redirect(w, r, "https://other.example/x", http.StatusFound)
		case "/long":
			fmt.Fprint(w, strings.Repeat("all work and no play ", 50))
		case "/image":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "\x89PNG\r\n")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	w.Env.Settings.HTTP.AllowPrivateIPs = true
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	return map[string]string{"http://example.com": "http://example.com:" + port, `"example.com"`: `"example.com:` + port + `"`}
}

// searchOf is web_search with a provider that knows three queries.
func searchOf(t *testing.T) tools.Tool {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("q") {
		case "go http":
			fmt.Fprint(w, `{"query":{"original":"go http","more_results_available":true},"web":{"results":[
				{"title":"net/http","url":"https://pkg.go.dev/net/http","description":"HTTP clients and servers.","extra_snippets":["Get, Head and Post make requests."]},
				{"title":"","url":"https://go.dev/doc/","description":"Documentation."}]}}`)
		case "nothing":
			fmt.Fprint(w, `{"web":{"results":[]}}`)
		default:
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":"slow down"}`)
		}
	}))
	t.Cleanup(s.Close)
	return builtin.WebSearch(builtin.Search{Provider: "brave", Key: searchKey, Endpoint: s.URL})
}

// permissionFiles are those of a user and a project, with one entry that can be taken out.
func permissionFiles(_ *testing.T, w *tooltest.Workspace) map[string]string {
	w.Env.EditConfig = func(_ context.Context, c permission.Change) (string, error) {
		switch {
		case c.Text == "exec(absent) args(*)":
			return "", errors.New("the list has no such entry")
		case c.Layer == permission.Layer("user"):
			return "/home/you/.config/hecate/config.toml", nil
		}
		return "/home/me/project/.hecate/config.toml", nil
	}
	return nil
}
