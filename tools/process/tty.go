package process

import (
	"errors"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// The size of the terminal device that a command with TTY gets, in characters. It does not
// change: nobody looks at it.
const (
	TTYColumns = 120
	TTYRows    = 40
)

// openTTY opens a terminal device: our end of it, and the command's.
func openTTY() (ours, theirs *os.File, err error) {
	master, theirs, err := pty.Open()
	if err != nil {
		return nil, nil, plain(err)
	}
	defer master.Close()
	err = pty.Setsize(master, &pty.Winsize{Cols: TTYColumns, Rows: TTYRows})
	if err == nil {
		ours, err = pollable(master)
	}
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// pollable is another file of the same device, of which reads and writes can be given up:
// the library leaves its own one in a state in which they cannot.
func pollable(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// CheckTTY reports why a command cannot have a terminal device here; nil if it can.
func CheckTTY() error {
	ours, theirs, err := openTTY()
	if err != nil {
		return err
	}
	return errors.Join(ours.Close(), theirs.Close())
}
