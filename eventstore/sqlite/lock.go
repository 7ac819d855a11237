package sqlite

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"hecate/eventstore"
)

// fileLock is the mark of the one process that may use a database. The operating
// system drops it when the process ends, however it ends; the file stays.
type fileLock struct{ file *os.File }

// lockFile locks the file beside the database at path.
func lockFile(path string) (*fileLock, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockExclusively(f); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 32)) // only for the message
		_ = f.Close()
		return nil, fmt.Errorf("%w (process %s): stop it, or use another data directory: %w",
			eventstore.ErrInUse, orUnknown(strings.TrimSpace(string(holder))), err)
	}
	l := &fileLock{f}
	if err := l.sign(); err != nil {
		_ = l.release()
		return nil, err
	}
	return l, nil
}

// sign writes down who holds the lock.
func (l *fileLock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func (l *fileLock) release() error { return l.file.Close() }

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
