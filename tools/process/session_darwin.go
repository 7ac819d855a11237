package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sweeps is how often a session is looked through at most: while its processes are ended,
// others of them may still begin.
const sweeps = 8

// killSession ends the processes of a session. A shell with a terminal device gives each of
// its jobs a process group of its own, so that ending the leader's group misses them.
func killSession(leader int) {
	_ = syscall.Kill(-leader, syscall.SIGKILL)
	for range sweeps {
		all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
		if err != nil {
			return
		}
		found := false
		for _, p := range all {
			pid := int(p.Proc.P_pid)
			if sid, err := unix.Getsid(pid); err == nil && sid == leader && pid != leader {
				found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
			}
		}
		if !found {
			return
		}
	}
}
