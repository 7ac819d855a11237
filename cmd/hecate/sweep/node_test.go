//go:build linux

package sweep_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	pollEvery = 10 * time.Millisecond
	patience  = 90 * time.Second // for what takes a second on an idle machine
)

// node is an installation: an address, a data directory and a place for workspaces.
// Its processes follow each other.
type node struct {
	base string // URL
	data string // directory
	temp string // directory of workspaces, as the node names it
	env  []string
	wrap []string // a command that the server is the tail of
	log  string   // file with what the processes print

	traces []string // a file for each process: the points that it reached
	cmd    *exec.Cmd
	exited chan struct{}
}

var nextPort atomic.Int64

// freePort hands out every port once, outside the range from which the system takes
// the local ports of connections, and other tests theirs.
func freePort() string {
	for {
		addr := fmt.Sprintf("127.0.0.1:%d", 30100+(int64(os.Getpid())*89+nextPort.Add(1))%2600)
		if ln, err := net.Listen("tcp", addr); err == nil {
			_ = ln.Close() // nothing was accepted
			return addr
		}
	}
}

// newNode makes a node below dir that has not been started. NAME=VALUE pairs are
// added to its environment.
func newNode(dir string, env ...string) (*node, error) {
	addr := freePort()
	n := &node{
		base: "http://" + addr, data: filepath.Join(dir, "data"), temp: filepath.Join(dir, "tmp"), log: filepath.Join(dir, "log"),
	}
	n.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8",
		"HECATE_ADDRESS=" + addr, "HECATE_DATA_DIR=" + n.data,
		"HECATE_TASK_SANDBOX=none", "HECATE_OPERATOR_TOKEN_REQUIRED=never", "HECATE_TASK_RECONCILE_INTERVAL=300ms",
	}, env...)
	return n, os.MkdirAll(n.temp, 0o755)
}

// start starts a process that ends at the given point, or at none if that is "". It
// does not wait for it to serve: some points come before.
func (n *node) start(crashAt string) error {
	out, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	trace := fmt.Sprintf("%s-trace-%d", n.log, len(n.traces))
	n.traces = append(n.traces, trace)
	argv := append(slices.Clone(n.wrap), binary, "serve")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(slices.Clone(n.env), "TMPDIR="+n.temp, "HECATE_CRASH_TRACE="+trace, "HECATE_CRASH_AT="+crashAt)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(n.log), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	n.cmd, n.exited = cmd, exited
	go func() { _ = cmd.Wait(); close(exited) }() // how it ended is read from the state
	return nil
}

// serves waits until the process answers.
func (n *node) serves() error {
	hc := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for end := time.Now().Add(patience); ; time.Sleep(pollEvery) {
		if resp, err := hc.Get(n.base + "/healthz"); err == nil {
			_ = resp.Body.Close() // only the status counts
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-n.exited:
			return fmt.Errorf("the server ended: %s\n%s", n.cmd.ProcessState, n.printed())
		default:
		}
		if time.Now().After(end) {
			return errors.New("the server does not answer:\n" + n.printed())
		}
	}
}

// printed is the end of what the processes wrote to standard output and error.
func (n *node) printed() string {
	raw, _ := os.ReadFile(n.log) // no file: nothing was printed
	return string(raw[max(0, len(raw)-3000):])
}

// kill ends the process at once. Nothing happens if none runs.
func (n *node) kill() {
	if n.cmd != nil {
		_ = n.cmd.Process.Kill() // it may have ended by itself
		<-n.exited
	}
}

// end asks the process, if one runs, to end, and waits.
func (n *node) end() error {
	if n.cmd == nil {
		return nil
	}
	if err := n.cmd.Process.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	select {
	case <-n.exited:
		return nil
	case <-time.After(patience):
		n.kill()
		return errors.New("the server did not end when it was told to:\n" + n.printed())
	}
}

// crashed reports whether the process, which has ended, ended at the point.
func (n *node) crashed(point string) error {
	status, ok := n.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("the server ended by itself (%s):\n%s", n.cmd.ProcessState, n.printed())
	}
	reached, err := readTrace(n.traces[len(n.traces)-1])
	if err != nil {
		return err
	}
	if len(reached) == 0 || reached[len(reached)-1].point != point {
		return fmt.Errorf("the server died, but not at %q", point)
	}
	return nil
}

// reached is one line of a trace.
type reached struct {
	point string // name and number
	about string // what it was about: a run and a call, say
}

// pointName is the point without its number.
func pointName(point string) string {
	name, _, _ := strings.Cut(point, " #")
	return name
}

func readTrace(path string) (out []reached, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // the process ended before its first point
	}
	for line := range strings.Lines(string(raw)) {
		point, about, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		out = append(out, reached{point, about})
	}
	return out, err
}
