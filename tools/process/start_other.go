//go:build !linux

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// SuperviseIfAsked does nothing here: there is no supervisor on this system. So a
// lease, like the context, ends a command only while this process runs: whoever stops
// or kills it leaves the command alive.
func SuperviseIfAsked() {}

// Grouped reports whether each command gets a control group of its own; here never.
func Grouped() bool { return false }

// grouped is a command in a session and process group of its own.
type grouped struct {
	cmd    *exec.Cmd
	status chan status
	all    chan struct{}
}

// start starts c in a session of its own, with the writers as its stdout and stderr.
func start(c Command, writers [2]*os.File) (child, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, overridden(c.Env, c.Set)
	if c.input != nil {
		cmd.Stdin = c.input
	}
	cmd.Stdout, cmd.Stderr = writers[0], writers[1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: c.tty != nil} // of file 0
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &grouped{cmd: cmd, status: make(chan status, 1), all: make(chan struct{})}
	go func() {
		defer close(g.all)
		defer close(g.status)
		_ = cmd.Wait() // the status says it all
		s := status{code: cmd.ProcessState.ExitCode()}
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			s = status{code: -1, signal: ws.Signal().String()}
		}
		g.status <- s
	}()
	return g, nil
}

func (g *grouped) exited() <-chan status { return g.status }
func (g *grouped) gone() <-chan struct{} { return g.all }
func (g *grouped) kill()                 { killSession(g.cmd.Process.Pid) }
func (g *grouped) abandon()              {}
