//go:build unix

package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockExclusively takes the whole file for this process, or fails at once.
func lockExclusively(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
