package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// The argv[0] under which the executable supervises a command: one with pipes, and one whose
// file 0 is a terminal device.
const (
	supervisorName    = "hecate-supervise"
	ttySupervisorName = "hecate-supervise-tty"
)

// The supervisor's files beside 0, 1 and 2.
const (
	controlFD = 3 // deadlines; its end means: end the command
	statusFD  = 4 // lines for the server, the first of which counts: failed ERRNO, late 0, over 0, exit CODE or signal NUMBER; and session NUMBER
)

// prepared says that this executable can be started as a supervisor.
var prepared atomic.Bool

// Every command waits for its supervisor to begin. To do so in main would be soon
// enough for correctness; but the rest of the program's packages, which are
// initialised after this one, take several milliseconds to get there.
func init() { //nolint:gochecknoinits // see above
	if asked() {
		becomeSupervisor()
	}
}

func asked() bool {
	return len(os.Args) >= 3 && (os.Args[0] == supervisorName || os.Args[0] == ttySupervisorName)
}

func becomeSupervisor() {
	// A parent-death signal is tied to the thread that forks: this one lives as long as the process.
	runtime.LockOSThread()
	os.Exit(supervise(os.Args[1], os.Args[2:]))
}

// SuperviseIfAsked turns the process into the supervisor of one command if Run
// started it as such, and does not return then. Call it first in main, and in
// TestMain of every package whose tests run commands: it says that this program
// may be started again without doing anything else.
//
// It also closes this process's environment and memory to its commands, which run
// as the same user and could read them below /proc. Against root that is no help.
func SuperviseIfAsked() {
	if asked() {
		becomeSupervisor()
	}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if path, err := os.Executable(); err == nil {
		executable.path = path
		executable.info, _ = os.Stat(path)
	}
	prepared.Store(true)
}

// supervise starts path with argv and stays until it and all its descendants are gone.
func supervise(path string, argv []string) int {
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(statusFD)
	// Orphans of the command become children of this process instead of init's.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return report("failed %d", unix.ENOSYS)
	}
	// Caught rather than ignored: the command must not inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGALRM)
	f, err := newFuse()
	switch {
	case err != nil:
		return report("failed %d", int(errno(err)))
	case f == nil:
		return 1
	case f.over():
		return report("late %d", 0)
	}
	limit()
	// The session is the supervisor's own, so that the server knows its number.
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Args[0] == ttySupervisorName {
		// A shell controls jobs only in a session that it leads and whose terminal it has.
		attr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0, Pdeathsig: syscall.SIGKILL}
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: commandEnv(os.Environ()[len(supervisorEnv):]), Files: []uintptr{0, 1, 2}, Sys: attr})
	if err != nil {
		return report("failed %d", int(errno(err)))
	}
	if attr.Setsid {
		report("session %d", pid)
	}
	letGo()

	var ending atomic.Bool
	go func() {
		if f.wait() {
			report("over %d", 0) // before the command can be seen to have been killed
		}
		ending.Store(true)
		killDescendants()
	}()
	reap(pid, &ending)
	return 0
}

// letGo leaves the pipes for input and output to the command alone: whoever reads or
// writes the other end must see when it has closed them.
func letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil {
			_ = unix.Close(fd)
			continue
		}
		_ = unix.Dup3(null, fd, 0)
	}
}

// reap collects children until none is left. Once the command is ending, it kills
// again after each: a child that was forked while the others were being killed is
// handed over by then.
func reap(pid int, ending *atomic.Bool) {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return // no children left
		case got == pid && ws.Signaled():
			report("signal %d", int(ws.Signal()))
			ending.Store(true)
		case got == pid:
			report("exit %d", ws.ExitStatus())
			ending.Store(true)
		}
		// Most commands leave nothing behind, and then there is nothing to look for.
		if ending.Load() && hasChildren() {
			killDescendants()
		}
	}
}

func hasChildren() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	return err != unix.ECHILD
}

func report(format string, args ...any) int {
	_, _ = unix.Write(statusFD, fmt.Appendf(nil, format+"\n", args...))
	return 1
}

func errno(err error) syscall.Errno {
	n := syscall.EINVAL
	errors.As(err, &n)
	return n
}

// killDescendants ends every process below this one.
func killDescendants() { killAll(descendants(os.Getpid())) }

func killAll(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// descendants lists the processes below pid, parents first.
func descendants(pid int) []int {
	of := childrenByTask
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		of = childrenByScan()
	}
	var out []int
	for next := of(pid); len(next) > 0; {
		out = append(out, next...)
		var below []int
		for _, p := range next {
			below = append(below, of(p)...)
		}
		next = below
	}
	return out
}

// childrenByTask asks the kernel for the children of each thread of pid.
func childrenByTask(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	tasks, _ := os.ReadDir(dir)
	var out []int
	for _, t := range tasks {
		b, _ := os.ReadFile(dir + t.Name() + "/children")
		for _, f := range strings.Fields(string(b)) {
			if p, err := strconv.Atoi(f); err == nil {
				out = append(out, p)
			}
		}
	}
	return out
}

// childrenByScan looks through all processes once, for kernels that do not list children.
func childrenByScan() func(int) []int {
	byParent := map[int][]int{}
	for p := range processes() {
		byParent[p.parent] = append(byParent[p.parent], p.pid)
	}
	return func(pid int) []int { return byParent[pid] }
}

// proc is one process as /proc/PID/stat shows it.
type proc struct{ pid, parent, session int }

func processes() func(yield func(proc) bool) {
	return func(yield func(proc) bool) {
		all, _ := os.ReadDir("/proc")
		for _, e := range all {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			b, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
			// The name may hold blanks and parentheses: the fields begin after the last one.
			_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
			f := strings.Fields(rest)
			if len(f) < 4 {
				continue
			}
			parent, _ := strconv.Atoi(f[1])
			session, _ := strconv.Atoi(f[3])
			if !yield(proc{pid, parent, session}) {
				return
			}
		}
	}
}
