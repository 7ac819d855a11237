package sqlite

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockExclusively takes the file for this process, or fails at once. The locked
// byte is far behind the text, which others must be able to read.
func lockExclusively(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
}

// gone reports whether a process has ended for certain. Windows closes the handles
// of a process with it, so there is nobody to wait for.
func gone(string) bool { return false }
