package sandbox_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/tools/sandbox"
)

var update = flag.Bool("update", false, "write the golden files anew")

// homeFolder makes a home folder with what people have in theirs.
func homeFolder(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		".ssh/id", ".aws/credentials", ".netrc", ".gitconfig", ".config/gh/hosts.yml", ".config/git/ignore", ".cargo/bin/x", ".cargo/credentials.toml", ".unheard-of", ".local/share/keyrings/k", ".local/share/uv/x",
		".tool/bin/x", "Library/Keychains/k", "Library/Caches/go-build/x", "project/main.go",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", filepath.Join(home, ".tool/bin")+":/usr/bin")
	return home
}

// portable is a text without what differs between machines.
func portable(home, text string) string {
	var out []string
	for line := range strings.Lines(strings.ReplaceAll(text, home, "/HOME")) {
		if strings.Contains(line, `"/root`) || strings.Contains(line, `"/etc/`) || strings.Contains(line, `"/home/`) || strings.Contains(line, `"/Users/`) {
			continue // of who runs the test
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}

// Nobody has tried these profiles where they count. They are here to be read.
func TestSeatbeltProfiles(t *testing.T) {
	home := homeFolder(t)
	var b strings.Builder
	for _, c := range []struct {
		name string
		sandbox.Confine
	}{
		{"a task", sandbox.Confine{Root: home + "/project", Cache: "/cache", Hidden: []string{"/data"}}},
		{"with network", sandbox.Confine{Root: "/ws", Network: true}},
		{"read-only, with the data in the workspace", sandbox.Confine{Root: `/w "s\`, ReadOnly: true, Hidden: []string{`/w "s\/.data`}}},
	} {
		b.WriteString("; " + c.name + "\n" + portable(home, c.Profile()) + "\n")
	}
	file := filepath.Join("testdata", "seatbelt.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Error(d)
	}
}

func TestSandboxExec(t *testing.T) {
	homeFolder(t)
	w := sandbox.Wrapper{Kind: sandbox.WrapperSandboxExec, Path: "/usr/bin/sandbox-exec"}
	got := w.Wrap([]string{"sh", "-c", "x"}, sandbox.Confine{Root: "/ws", Cache: "/c", Set: []string{"A=b c", "TMPDIR=/x"}})
	if strings.Join(got[:2], " ") != "/usr/bin/sandbox-exec -p" || !strings.HasPrefix(got[2], "(version 1)\n") ||
		strings.Join(got[3:], "|") != "/usr/bin/env|A=b c|TMPDIR=/x|XDG_CACHE_HOME=/c|GOCACHE=/c/go-build|TMPDIR=/c|sh|-c|x" {
		t.Errorf("got %q", got)
	}
	if got := (sandbox.Wrapper{}).Wrap([]string{"sh"}, sandbox.Confine{Root: "/ws"}); strings.Join(got, " ") != "sh" {
		t.Errorf("no wrapper: %q", got)
	}
}

// What bubblewrap is told to hide of a home folder.
func TestHomeFoldersAreHidden(t *testing.T) {
	home := homeFolder(t)
	w := sandbox.Wrapper{Kind: sandbox.WrapperBwrap, Path: "bwrap"}
	got := strings.ReplaceAll(strings.Join(w.Wrap([]string{"x"}, sandbox.Confine{Root: home + "/project", Dir: home + "/project", Hidden: []string{home + "/project"}}), " "), home, "~")
	for _, want := range []string{
		" --tmpfs ~/.ssh ", " --tmpfs ~/.aws ", " --ro-bind /dev/null ~/.netrc ", " --ro-bind /dev/null ~/.unheard-of ", " --ro-bind /dev/null ~/.cargo/credentials.toml ",
		" --tmpfs ~/.config --ro-bind ~/.config/git ~/.config/git ", " --tmpfs ~/.local/share --ro-bind ~/.local/share/uv ~/.local/share/uv ", " --tmpfs ~/.tool --", " --ro-bind ~/.tool ~/.tool ", " --bind ~/project ~/project ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q: %s", want, got)
		}
	}
	for _, not := range []string{"~/.gitconfig", "~/.cargo ", "~/.cargo/bin"} {
		if strings.Contains(got, not) {
			t.Errorf("it speaks of %s: %s", not, got)
		}
	}
	// A home folder that is the workspace itself shows no more than others.
	got = strings.ReplaceAll(strings.Join(w.Wrap([]string{"x"}, sandbox.Confine{Root: home, Dir: home}), " "), home, "~")
	if i, j := strings.Index(got, " --bind ~ ~ "), strings.Index(got, " --tmpfs ~/.ssh "); i < 0 || j < i {
		t.Errorf("the workspace shows credentials: %s", got)
	}
}

// What is held, and what is said where it is not.
func TestHolds(t *testing.T) {
	none := sandbox.Wrapper{Kind: sandbox.WrapperNone, Reason: "it is not installed"}
	bwrap := sandbox.Wrapper{Kind: sandbox.WrapperBwrap}
	online := sandbox.Wrapper{Kind: sandbox.WrapperBwrap, Online: true, Reason: "no namespaces"}
	for _, c := range []struct {
		w                         sandbox.Wrapper
		readOnly, network, strict bool
		want                      string
	}{
		{bwrap, true, false, true, ""},
		{bwrap, false, true, true, ""},
		{none, false, false, false, ""},
		{none, false, true, false, ""},
		{online, false, false, false, ""},
		{online, true, true, true, ""},
		{none, true, false, false, "keeps a command from changing files, so a read-only task runs none (it is not installed)"},
		{sandbox.Wrapper{}, true, true, false, "changing files"},
		{none, false, true, true, "HECATE_TASK_SANDBOX=required"},
		{none, false, false, true, "holds a command to its workspace"},
		{online, false, false, true, "takes the network from a command"},
	} {
		err := c.w.Holds(c.readOnly, c.network, c.strict)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "sandbox policy denied: nothing on this machine ") || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
