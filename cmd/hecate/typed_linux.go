package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropTyped forgets what was typed at a terminal and not read yet: an answer must
// come after its question. On anything else than a terminal it does nothing.
func dropTyped(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // fails where there is no terminal
}
