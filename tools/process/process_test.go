package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hecate/tools/process"
)

func TestMain(m *testing.M) {
	process.SuperviseIfAsked()
	if dir := os.Getenv("HECATE_TEST_SERVER"); dir != "" {
		serve(dir)
		return
	}
	os.Exit(m.Run())
}

// serve runs one command as a server does. With HECATE_TEST_LEASE it gives it so much
// time when the command first writes something, and stops itself at once.
func serve(dir string) {
	c := process.Command{Argv: []string{"sh", "-c", os.Getenv("HECATE_TEST_COMMAND")}, Dir: dir, Lease: process.NewLease()}
	limit, err := time.ParseDuration(os.Getenv("HECATE_TEST_LEASE"))
	limited := err == nil
	c.Output = func(_ string, data []byte) error {
		if limited {
			c.Lease.Extend(time.Now().Add(limit))
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
		_, err := os.Stdout.Write(data)
		return err
	}
	if os.Getenv("HECATE_TEST_SESSION") != "" {
		if s, err := process.Start(c); err == nil {
			<-s.Done()
		}
		return
	}
	if r := process.Run(context.Background(), c); limited {
		fmt.Println(r.Err)
	}
}

// shell runs a script and returns its result with its output.
func shell(t testing.TB, ctx context.Context, c process.Command, script string) (r process.Result, stdout, stderr string) {
	t.Helper()
	c.Argv = []string{"sh", "-c", script}
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	var out, errs strings.Builder
	c.Output = func(stream string, data []byte) error {
		if stream == process.Stdout {
			out.Write(data)
		} else {
			errs.Write(data)
		}
		return nil
	}
	r = process.Run(ctx, c)
	return r, out.String(), errs.String()
}

func TestResultSaysHowTheCommandEnded(t *testing.T) {
	for script, want := range map[string]struct {
		code                int
		signal, err, stdout string
	}{
		"echo hi":       {stdout: "hi\n"},
		"exit 3":        {code: 3, err: "exit status 3"},
		"kill -9 $$":    {code: -1, signal: "killed", err: "signal: killed"},
		"kill -TERM $$": {code: -1, signal: "terminated", err: "signal: terminated"},
		"cat":           {}, // standard input is empty
		"tty":           {code: 1, err: "exit status 1", stdout: "not a tty\n"},
		"echo $((1+1)); no-such-program 2>/dev/null": {code: 127, err: "exit status 127", stdout: "2\n"},
	} {
		r, stdout, _ := shell(t, t.Context(), process.Command{}, script)
		if r.ExitCode != want.code || r.Signal != want.signal || text(r.Err) != want.err || stdout != want.stdout {
			t.Errorf("%s: got %+v, stdout %q", script, r, stdout)
		}
		if r.TimedOut || r.Cancelled || r.Truncated || r.Stdout != int64(len(stdout)) {
			t.Errorf("%s: got %+v", script, r)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "noexec")
	if err := os.WriteFile(script, []byte("garbage"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		c    process.Command
		want string
	}{
		{process.Command{Argv: []string{"no-such-program"}, Dir: dir}, "start no-such-program: executable file not found in $PATH"},
		{process.Command{Argv: []string{script}, Dir: dir}, "start " + script + ": exec format error"},
		{process.Command{Argv: []string{"sh"}, Dir: dir + "/gone"}, "start sh: no such file or directory"},
	} {
		if r := process.Run(t.Context(), c.c); text(r.Err) != c.want || r.ExitCode != -1 {
			t.Errorf("got %+v, want %s", r, c.want)
		}
	}
}

func TestEnvironmentHoldsNothingOfTheServer(t *testing.T) {
	t.Setenv("PROVIDER_API_KEY", "s3cret")
	t.Setenv("GIT_DIR", "/elsewhere")
	t.Setenv("GIT_AUTHOR_NAME", "A U Thor")
	t.Setenv("LC_ALL", "C")
	if _, parent, _ := shell(t, t.Context(), process.Command{}, `cat /proc/$PPID/environ`); strings.Contains(parent, "s3cret") || parent == "" {
		t.Errorf("the supervisor has %q", parent)
	}
	_, stdout, _ := shell(t, t.Context(), process.Command{}, `env`)
	if strings.Contains(stdout, "s3cret") || strings.Contains(stdout, "GIT_DIR") || !strings.Contains(stdout, "GIT_AUTHOR_NAME=A U Thor") {
		t.Error(stdout)
	}
	var names []string
	for l := range strings.Lines(stdout) {
		if name, _, ok := strings.Cut(l, "="); ok && strings.ToUpper(name) == name && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, n := range names { // sh itself adds these
		if !slices.ContainsFunc(process.Environ(), func(v string) bool { return strings.HasPrefix(v, n+"=") }) && n != "PWD" && n != "OLDPWD" && n != "_" && n != "SHLVL" {
			t.Errorf("the command sees %s", n)
		}
	}
}

// A command finds the server above its supervisor; what the server was given in
// its environment stays closed to it, unless it runs as root.
func TestTheServersEnvironmentIsClosed(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "server")
	content, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, content, 0o755); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(program)
	if os.Getuid() == 0 {
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		server.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	server.Dir = dir
	server.Env = append(os.Environ(), "PROVIDER_API_KEY=s3cret", "HECATE_TEST_SERVER="+dir,
		`HECATE_TEST_COMMAND=server=$(cut -d" " -f4 /proc/$PPID/stat); id -u; tr "\0" " " </proc/$server/cmdline; cat /proc/$server/environ 2>&1`)
	out, err := server.CombinedOutput()
	if err != nil || !strings.Contains(string(out), program) || strings.Contains(string(out), "s3cret") || !strings.Contains(string(out), "ermission denied") {
		t.Errorf("%v: %q", err, out)
	}
}

func TestOutputEndsAtItsLimit(t *testing.T) {
	r, stdout, stderr := shell(t, t.Context(), process.Command{OutputMax: 1000}, "yes >&2 & yes")
	if !r.Truncated || r.ExitCode != -1 || len(stdout)+len(stderr) != 1000 || r.Stdout+r.Stderr != 1000 ||
		text(r.Err) != "command output exceeded limit of 1000 bytes; configure HECATE_TASK_MAX_OUTPUT_BYTES to widen" {
		t.Errorf("got %+v with %d bytes", r, len(stdout)+len(stderr))
	}
	if r, stdout, _ := shell(t, t.Context(), process.Command{OutputMax: 3}, "printf abc"); r.Err != nil || stdout != "abc" {
		t.Errorf("exactly the limit: got %+v", r)
	}
	if r, stdout, _ := shell(t, t.Context(), process.Command{OutputMax: 3}, "printf abcd"); !r.Truncated || stdout != "abc" {
		t.Errorf("one more than the limit: got %+v", r)
	}
}

func TestAnErrorOfTheReaderEndsTheCommand(t *testing.T) {
	lost := errors.New("lease lost")
	r := process.Run(t.Context(), process.Command{
		Argv: []string{"yes"}, Dir: t.TempDir(), Output: func(string, []byte) error { return lost },
	})
	if !errors.Is(r.Err, lost) || r.ExitCode != -1 {
		t.Errorf("got %+v", r)
	}
}

// escapes are commands that try to leave something behind. Each writes the ids of
// its processes to the file pids.
var escapes = map[string]string{
	"plain":       `sleep 300 & echo $! >>pids; echo $$ >>pids; %s`,
	"setsid":      `setsid sh -c 'echo $$ >>pids; exec sleep 300' </dev/null >/dev/null 2>&1 & %s`,
	"double fork": `(setsid sh -c '(sh -c "trap \"\" TERM HUP INT; echo \$\$ >>pids; exec sleep 300" &) ' &) ; %s`,
	"nohup":       `nohup sh -c 'echo $$ >>pids; exec sleep 300' >/dev/null 2>&1 & %s`,
	"output kept": `(sleep 300; echo late) & echo $! >>pids; %s`,
}

// waitForPids makes the script go on only when the escaped process has said its id.
const waitForPids = `until [ -s pids ]; do :; done; `

func TestNothingIsLeftBehind(t *testing.T) {
	for name, script := range escapes {
		t.Run(name+"/after an exit", func(t *testing.T) {
			dir := t.TempDir()
			begun := time.Now()
			r, _, _ := shell(t, t.Context(), process.Command{Dir: dir, Timeout: 4 * time.Minute}, fmt.Sprintf(script, waitForPids+"echo started; exit 3"))
			if r.ExitCode != 3 || text(r.Err) != "exit status 3" || r.TimedOut {
				t.Errorf("got %+v", r)
			}
			if took := time.Since(begun); took > patience {
				t.Errorf("took %v", took)
			}
			allGone(t, dir)
		})
		t.Run(name+"/after a timeout", func(t *testing.T) {
			r, dir := timedOut(t, fmt.Sprintf(script, waitForPids+"sleep 300"))
			if !r.TimedOut || r.ExitCode != -1 || text(r.Err) != "context deadline exceeded" {
				t.Errorf("got %+v", r)
			}
			allGone(t, dir)
		})
		t.Run(name+"/after a cancel", func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			c := process.Command{
				Argv: []string{"sh", "-c", fmt.Sprintf(script, waitForPids+"echo ready; sleep 300")}, Dir: dir,
				Output: func(string, []byte) error { cancel(); return nil },
			}
			if r := process.Run(ctx, c); !r.Cancelled || text(r.Err) != "context canceled" || r.ExitCode != -1 {
				t.Errorf("got %+v", r)
			}
			allGone(t, dir)
		})
		t.Run(name+"/after the server's death", func(t *testing.T) {
			dir := t.TempDir()
			server := exec.Command(os.Args[0])
			server.Env = append(os.Environ(), "HECATE_TEST_SERVER="+dir, "HECATE_TEST_COMMAND="+fmt.Sprintf(script, "sleep 300"))
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "the command has begun", func() bool { return len(pids(dir)) > 0 })
			_ = server.Process.Kill()
			_ = server.Wait()
			until(t, "its processes are gone", func() bool { return !slices.ContainsFunc(pids(dir), alive) })
		})
	}
}

// A command that kills its own supervisor gains nothing for itself.
func TestAKilledSupervisorIsNoticed(t *testing.T) {
	dir := t.TempDir()
	r, _, _ := shell(t, t.Context(), process.Command{Dir: dir, Timeout: 4 * time.Minute}, `echo $$ >>pids; sleep 300 & echo $! >>pids; kill -9 $PPID; sleep 300`)
	if text(r.Err) != "the command's supervisor was killed" {
		t.Errorf("got %+v", r)
	}
	until(t, "its processes are gone", func() bool { return !slices.ContainsFunc(pids(dir), alive) })
}

func TestAStoppedSupervisorDoesNotHoldTheCall(t *testing.T) {
	dir := t.TempDir()
	begun := time.Now()
	r, _, _ := shell(t, t.Context(), process.Command{Dir: dir, Timeout: 200 * time.Millisecond}, `echo $$ >>pids; kill -STOP $PPID; sleep 300`)
	if took := time.Since(begun); !r.TimedOut || took > patience {
		t.Errorf("took %v: %+v", took, r)
	}
	until(t, "its processes are gone", func() bool { return !slices.ContainsFunc(pids(dir), alive) })
}

// A script that forks faster than it can be killed one by one is ended all the same.
func TestForkingDoesNotOutrunTheKill(t *testing.T) {
	r, dir := timedOut(t,
		`f() { while :; do (setsid sh -c 'echo $$ >>pids; while :; do sleep 0.001; done' &); sleep 0.01; done; }; f & f`)
	if !r.TimedOut {
		t.Errorf("got %+v", r)
	}
	allGone(t, dir)
}

// timedOut runs a script into its time limit, with more time if it did not get as
// far as writing a process id: how long that takes is up to the machine.
func timedOut(t *testing.T, script string) (process.Result, string) {
	t.Helper()
	for limit := 100 * time.Millisecond; ; limit *= 3 {
		dir := t.TempDir()
		r, _, _ := shell(t, t.Context(), process.Command{Dir: dir, Timeout: limit}, script)
		if len(pids(dir)) > 0 || limit > 10*time.Second {
			return r, dir
		}
	}
}

func allGone(t *testing.T, dir string) {
	t.Helper()
	all := pids(dir)
	if len(all) == 0 {
		t.Error("the script wrote no process id")
	}
	for _, pid := range all {
		if alive(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

func pids(dir string) []int {
	f, err := os.Open(filepath.Join(dir, "pids"))
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []int
	for s := bufio.NewScanner(f); s.Scan(); {
		if pid, err := strconv.Atoi(s.Text()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// alive reports whether the process exists and is more than a zombie that
// somebody else has yet to collect.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// patience is how long something may take that takes a moment on an idle machine. What these
// commands would do by themselves takes five times as long.
const patience = time.Minute

// until polls for something that another process does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// BenchmarkRun shows what supervision costs: compare it with BenchmarkExec.
func BenchmarkRun(b *testing.B) { benchmarkRun(b, nil) }

// BenchmarkRunUnderLease shows what a deadline adds to BenchmarkRun.
func BenchmarkRunUnderLease(b *testing.B) {
	lease := process.NewLease()
	lease.Extend(time.Now().Add(time.Hour))
	defer lease.End()
	benchmarkRun(b, lease)
}

func benchmarkRun(b *testing.B, lease *process.Lease) {
	dir := b.TempDir()
	for b.Loop() {
		if r := process.Run(b.Context(), process.Command{Argv: []string{"true"}, Dir: dir, Lease: lease}); r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}

func BenchmarkExec(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// Who takes the output slowly gets all of it: a busy disk must not cut off what a
// command wrote before it ended.
func TestASlowReaderGetsEverything(t *testing.T) {
	got := 0
	c := process.Command{Argv: []string{"sh", "-c", "head -c 120000 /dev/zero"}, Dir: t.TempDir(), Output: func(_ string, data []byte) error {
		time.Sleep(300 * time.Millisecond)
		got += len(data)
		return nil
	}}
	if r := process.Run(t.Context(), c); r.Err != nil || got != 120000 || r.Stdout != 120000 {
		t.Errorf("%d of 120000 bytes were handed on, %d counted: %v", got, r.Stdout, r.Err)
	}
}
