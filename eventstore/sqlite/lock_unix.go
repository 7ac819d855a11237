//go:build unix

package sqlite

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lockExclusively takes the whole file for this process, or fails at once.
func lockExclusively(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// gone reports whether a process has ended for certain.
func gone(process string) bool {
	pid, err := strconv.Atoi(process)
	return err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}
