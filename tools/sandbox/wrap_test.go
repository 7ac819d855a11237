package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hecate/tools/sandbox"
)

// private is what is hidden of the machine that the test runs on.
var private = regexp.MustCompile(`(--tmpfs|--ro-bind(-try)? \S+) (/root|/home|/etc|/run)/\S+ `)

func wrapped(w sandbox.Wrapper, c sandbox.Confine) string {
	return strings.Join(w.Wrap([]string{"sh", "-lc", "x"}, c), " ")
}

func TestWrapAsksForNoMoreThanItMust(t *testing.T) {
	t.Setenv("TMPDIR", "")
	hidden := t.TempDir()
	got := wrapped(sandbox.Wrapper{Kind: sandbox.WrapperBwrap, Path: "/usr/bin/bwrap"}, sandbox.Confine{Root: "/ws", Dir: "/ws/a", Hidden: []string{hidden, "/no/such"}})
	want := "/usr/bin/bwrap --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp --ro-bind-try /proc/sys /proc/sys --tmpfs /run --tmpfs " + hidden + " --bind /ws /ws --chdir /ws/a" +
		" --unshare-user-try --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net --cap-drop ALL --die-with-parent --new-session -- sh -lc x"
	got = private.ReplaceAllString(got, "")
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	bwrap := sandbox.Wrapper{Kind: sandbox.WrapperBwrap, Path: "b"}
	got = wrapped(bwrap, sandbox.Confine{Root: "/ws", Dir: "/ws", ReadOnly: true, Network: true})
	if strings.Contains(got, "--unshare-net") || !strings.Contains(got, "--ro-bind /ws /ws") {
		t.Error(got)
	}
}

// A variable of the command is set by bwrap, not for it, and does not count against ours.
func TestWrapSetsVariablesInside(t *testing.T) {
	t.Setenv("TMPDIR", "/x")
	got := wrapped(sandbox.Wrapper{Kind: sandbox.WrapperBwrap, Path: "b"}, sandbox.Confine{Root: "/ws", Dir: "/ws", Cache: "/c", Set: []string{"LD_PRELOAD=a=b", "TMPDIR=/y"}})
	if !strings.Contains(got, "--setenv LD_PRELOAD a=b --setenv TMPDIR /y") || strings.LastIndex(got, "TMPDIR /tmp") < strings.Index(got, "TMPDIR /y") {
		t.Error(got)
	}
}

// What bubblewrap promises, on machines that have it.
func TestBwrapConfines(t *testing.T) {
	wrapper := sandbox.Detect()
	if wrapper.Kind == sandbox.WrapperNone {
		t.Skip("bubblewrap is not installed, or user namespaces are switched off: the confinement is not tested")
	}
	base := t.TempDir()
	root, hidden := filepath.Join(base, "ws"), filepath.Join(base, "data")
	for _, dir := range []string{root, hidden} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(hidden, "key"), []byte("s3cret"), 0o644); err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(base, "beside")
	run := func(c sandbox.Confine, script string) string {
		t.Helper()
		c.Root, c.Dir, c.Hidden = root, root, []string{hidden}
		argv := wrapper.Wrap([]string{"sh", "-c", script}, c)
		out, _ := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		return string(out)
	}
	if out := run(sandbox.Confine{}, "echo x >f; cat f; pwd"); out != "x\n"+root+"\n" {
		t.Errorf("the workspace: %s", out)
	}
	if out := run(sandbox.Confine{ReadOnly: true}, "echo y >f || true; cat f"); !strings.HasSuffix(out, "x\n") {
		t.Errorf("the read-only workspace: %s", out)
	}
	_ = run(sandbox.Confine{}, "echo x >"+beside+"; mount -o remount,bind,rw / ; mount -o remount,rw /; echo x >"+beside+
		"; unshare -Urm sh -c 'mount -o remount,bind,rw /; echo x >"+beside+"'; echo x >/usr/hecate-was-here")
	for _, p := range []string{beside, "/usr/hecate-was-here"} {
		if _, err := os.Stat(p); err == nil {
			t.Errorf("%s was written from inside", p)
		}
	}
	if out := run(sandbox.Confine{}, "cat "+hidden+"/key; ls -A "+hidden); strings.Contains(out, "s3cret") || strings.Contains(out, "key\n") && !strings.Contains(out, "No such") {
		t.Errorf("the hidden directory shows: %s", out)
	}
	// Data of the server that stands in the workspace, as it does for work in place.
	inner := filepath.Join(root, ".data")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inner, "key"), []byte("s3cret"), 0o644); err != nil {
		t.Fatal(err)
	}
	hidden = inner
	for _, c := range []sandbox.Confine{{}, {ReadOnly: true}} {
		if out := run(c, "cat .data/key; echo planted >.data/key; ls -A .data"); strings.Contains(out, "s3cret") {
			t.Errorf("the hidden directory in the workspace shows: %s", out)
		}
	}
	if left, err := os.ReadFile(filepath.Join(inner, "key")); err != nil || string(left) != "s3cret" {
		t.Errorf("the hidden directory in the workspace was changed: %q, %v", left, err)
	}
	if out := run(sandbox.Confine{}, "grep CapEff /proc/self/status; cat /proc/net/route | wc -l; ls /proc | grep -c '^[0-9]'"); !strings.Contains(out, "0000000000000000\n1\n") {
		t.Errorf("capabilities, routes, processes: %s", out)
	}
}
