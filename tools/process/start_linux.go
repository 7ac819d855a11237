package process

import (
	"bufio"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// executable is this program's file as it was when the program began.
var executable struct {
	path string
	info os.FileInfo
}

// self is the path to start this program again with. A file that has been replaced
// meanwhile is another program; the kernel still has the old one. (Going through
// /proc every time would work as well, but costs the kernel a millisecond.)
func self() string {
	if info, err := os.Stat(executable.path); err == nil && executable.info != nil && os.SameFile(info, executable.info) {
		return executable.path
	}
	return "/proc/self/exe"
}

// supervisorEnv keeps the supervisor small: one processor, no collector; and quick,
// if it was built with the race detector: that waits a second before it lets go of
// a process. It is not handed on to the command.
var supervisorEnv = []string{"GOMAXPROCS=1", "GOGC=off", "GORACE=atexit_sleep_ms=0"}

// supervised is a command below its supervisor.
type supervised struct {
	lease      *Lease
	supervisor *os.Process
	control    *os.File
	status     chan status
	all        chan struct{}
	killOnce   sync.Once
	group      *group       // nil if there is none
	session    atomic.Int64 // of a command with a terminal device, once it has begun; 0: the supervisor's
}

// start starts c below a supervisor, with the writers as its stdout and stderr.
func start(c Command, writers [2]*os.File) (child, error) {
	if !prepared.Load() {
		return nil, errors.New("process.SuperviseIfAsked was not called when the program began")
	}
	path, err := LookPath(c.Dir, c.Argv[0])
	if err != nil {
		return nil, err
	}
	input := c.input
	if input == nil {
		if input, err = os.Open(os.DevNull); err != nil {
			return nil, err
		}
		defer input.Close()
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer statusW.Close()
	s, control, err := newSupervised(c.Lease)
	if err != nil {
		statusR.Close()
		return nil, err
	}
	defer control.Close()
	name := supervisorName
	if c.tty != nil {
		name = ttySupervisorName
	}
	err = s.begin(append([]string{name, path}, c.Argv...), os.ProcAttr{
		Dir: c.Dir, Env: slices.Concat(supervisorEnv, c.Env, carried(c.Set)), Files: []*os.File{input, writers[0], writers[1], control, statusW},
	})
	if err != nil {
		s.kill()
		statusR.Close()
		return nil, err
	}
	go s.follow(statusR)
	return s, nil
}

// begin starts the supervisor, in a control group of its own if there can be one.
func (s *supervised) begin(argv []string, attr os.ProcAttr) (err error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	if s.group = newGroup(); s.group != nil {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(s.group.lock.Fd())
		if s.supervisor, err = os.StartProcess(self(), argv, &attr); err == nil {
			return nil
		}
		s.group.end() // whatever it was: the next try tells
		s.group, attr.Sys.UseCgroupFD = nil, false
	}
	s.supervisor, err = os.StartProcess(self(), argv, &attr)
	return err
}

// newSupervised opens the control pipe, whose other end it returns, and writes the
// first deadline into it. From here on the lease extends it.
func newSupervised(l *Lease) (*supervised, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	s := &supervised{lease: l, control: w, status: make(chan status, 1), all: make(chan struct{})}
	first := int64(noDeadline)
	if until, limited := l.follow(s); limited {
		first = deadline(until)
	}
	tell(w, first)
	return s, r, nil
}

// follow passes the command's status on and waits for the supervisor, which goes
// when nothing of the command is left.
func (s *supervised) follow(r *os.File) {
	defer close(s.all)
	defer r.Close()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		kind, number, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		if kind == "session" {
			s.session.Store(int64(n))
			continue
		}
		select {
		case s.status <- statusOf(kind, n):
		default: // only the first counts
		}
	}
	close(s.status)
	if state, err := s.supervisor.Wait(); err != nil || !state.Exited() {
		s.killSession() // the supervisor itself was killed
	}
	s.group.end()
}

func statusOf(kind string, n int) status {
	switch kind {
	case "failed":
		return status{code: -1, err: syscall.Errno(n)}
	case "late":
		return status{code: -1, err: ErrLeaseOver}
	case "over":
		return status{code: -1, over: true}
	case "signal":
		return status{code: -1, signal: syscall.Signal(n).String()}
	}
	return status{code: n} // "exit"
}

func (s *supervised) exited() <-chan status { return s.status }
func (s *supervised) gone() <-chan struct{} { return s.all }

func (s *supervised) extend(until time.Time) { tell(s.control, deadline(until)) }

func (s *supervised) kill() {
	s.killOnce.Do(func() {
		s.lease.leave(s)
		s.control.Close()
	})
}

// abandon ends a supervisor that is still there: it was stopped, or waits for a
// process that the kernel does not let go.
func (s *supervised) abandon() {
	s.kill()
	select {
	case <-s.all:
	default:
		killAll(descendants(s.supervisor.Pid))
		_ = s.supervisor.Kill()
		s.killSession()
		s.group.kill()
	}
}

// killSession ends what is still in the session of the supervisor or of its command: the
// best that can be done without the supervisor where there is no control group.
func (s *supervised) killSession() {
	own := int(s.session.Load())
	for p := range processes() {
		if p.session == s.supervisor.Pid || own != 0 && p.session == own {
			killAll([]int{p.pid})
		}
	}
}
