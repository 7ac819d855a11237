//go:build !linux && !darwin

package process

import "syscall"

// killSession ends the process group of a session's leader: the system has no list of the
// others that this program could read.
func killSession(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }
