package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/cmd/hecate/internal/client"
	"hecate/domain/run"
)

// completes is what a shell offers for the last of some words, through the script that it
// has been given. lookup says how to ask it.
type completes struct {
	shell, lookup string
}

// zshParts stand for what only zsh's line editor has.
const zshParts = `compdef() {}; compadd() { print -rl -- ${(P)2}; }; _files() { print -rl -- *(N${1:+/}); }
`

var shells = []completes{
	{"bash", `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hecate; printf '%s\n' "${COMPREPLY[@]}"`},
	{"zsh", `words=("$@"); CURRENT=$#; _hecate | grep -e "^${words[-1]}"`},
	{"fish", `complete -C "$argv"`},
}

func (c completes) of(t *testing.T, environ []string, dir, words string) []string {
	t.Helper()
	path, err := exec.LookPath(c.shell)
	if err != nil {
		if os.Getenv("HECATE_TEST_REQUIRE_ALL") != "" {
			t.Fatal(c.shell + " is not installed")
		}
		t.Skip(c.shell + " is not installed: its completion is not checked")
	}
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	_ = os.Symlink(os.Args[0], filepath.Join(bin, "hecate")) // it may be there
	script := filepath.Join(bin, "script")
	if err := os.WriteFile(script, []byte(hecate(t, environ, "completion", c.shell)), 0o600); err != nil {
		t.Fatal(err)
	}
	parts := ""
	if c.shell == "zsh" {
		parts = zshParts
	}
	args := append([]string{"-c", parts + ". " + script + "\n" + c.lookup, "shell"}, strings.Split(words, " ")...)
	if c.shell == "fish" {
		args = []string{"--no-config", "-c", "source " + script + "\n" + c.lookup, words}
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = dir, append(environ, asHecate+"=1", "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if errs.Len() > 0 {
		t.Errorf("%s: %v, and in the prompt stands %q", words, err, errs.String())
	}
	var offered []string
	for line := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
		name, _, _ := strings.Cut(line, "\t")
		offered = append(offered, strings.TrimSuffix(name, "/"))
	}
	slices.Sort(offered)
	return offered
}

// Commands, flags, their values and files are completed without a server, and where
// there is nothing to offer the prompt stays clean.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range shells {
		t.Run(c.shell, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range []string{"sub one", "other"} {
				if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "sum.toml"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "HECATE_DATA_DIR=" + dir, "HECATE_BASE_URL=http://127.0.0.1:1"}
			for words, want := range map[string]string{
				"hecate re":                         "reject restore resume retry",
				"hecate permissions e":              "explain",
				"hecate run --pro":                  "--project-config --provider",
				"hecate tasks --status a":           "awaiting_approval",
				"hecate completion f":               "fish",
				"hecate run --dir su":               "sub one",
				"hecate run --yes --dir other --re": "--ref --repo",
				"hecate log run_":                   "",
				"hecate run x":                      "",
			} {
				got := strings.Join(c.of(t, environ, dir, words), " ")
				if got = strings.ReplaceAll(got, `\`, ""); got != want { // one of the shells quotes
					t.Errorf("%s: %q, want %s", words, got, want)
				}
			}
			if c.shell != "bash" {
				return
			}
			for words, want := range map[string]string{"hecate run --dir = o": "other", "hecate run --dir =": "bin other sub one", "hecate run --project-config su": "sub one sum.toml"} {
				if got := strings.Join(c.of(t, environ, dir, words), " "); got != want {
					t.Errorf("%s: %s, want %s", words, got, want)
				}
			}
		})
	}
}

// Ids come from a server that runs: also of runs that another followed, and none a second time.
func TestCompletionOfIDs(t *testing.T) {
	t.Parallel()
	environ, server, r := served(t)
	question := func(of client.Run) string {
		return waitFor(t, "the question", func() (string, bool) {
			approvals, err := server.Approvals(t.Context(), r.TaskID)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range approvals {
				if p.RunID == of.ID && p.Status == "pending" {
					return p.ID, true
				}
			}
			return "", false
		})
	}
	question(r)
	if _, err := server.CancelRun(t.Context(), r.TaskID, r.ID, "to be followed"); err != nil {
		t.Fatal(err)
	}
	again, err := server.RetryRun(t.Context(), r, "", run.Ahead{})
	if err != nil {
		t.Fatal(err)
	}
	approval := question(again)
	both := []string{r.ID, again.ID}
	slices.Sort(both)
	for _, c := range shells {
		t.Run(c.shell, func(t *testing.T) {
			dir := t.TempDir()
			for words, want := range map[string]string{
				"hecate attach run_": strings.Join(both, " "), "hecate tasks task_": r.TaskID, "hecate approve app": approval, "hecate permissions list --task task": r.TaskID,
				"hecate log " + again.ID[:12]: again.ID,
			} {
				got := waitFor(t, words, func() (string, bool) { // a server that is slow to answer is not waited for
					offered := strings.Join(c.of(t, environ, dir, words), " ")
					return offered, offered != ""
				})
				if got != want {
					t.Errorf("%s: %s, want %s", words, got, want)
				}
			}
			if got := c.of(t, environ, dir, "hecate approve "+approval+" app"); strings.Join(got, "") != "" {
				t.Errorf("an approval that is named is offered again: %s", got)
			}
		})
	}
}
