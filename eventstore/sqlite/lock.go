package sqlite

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"hecate/eventstore"
)

// fileLock is the mark of the one process that may use a database. The operating
// system drops it when the process ends, however it ends; the file stays.
type fileLock struct{ file *os.File }

// A child that a killed process was just starting holds the lock until its program
// begins. That takes a moment; waiting for it is bounded by these.
const (
	lockTries = 100
	lockPause = 20 * time.Millisecond
)

// lockFile locks the file beside the database at path. It waits only for a holder
// that is dead already.
func lockFile(path string) (*fileLock, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	l := &fileLock{f}
	for try := 1; ; try++ {
		err := lockExclusively(f)
		if err == nil {
			break
		}
		holder := l.holder()
		if try < lockTries && gone(holder) {
			time.Sleep(lockPause)
			continue
		}
		_ = f.Close()
		return nil, fmt.Errorf("%w (process %s): stop it, or use another data directory: %w", eventstore.ErrInUse, orUnknown(holder), err)
	}
	if err := l.sign(); err != nil {
		_ = l.release()
		return nil, err
	}
	return l, nil
}

// holder is the id of the process that signed last.
func (l *fileLock) holder() string {
	b := make([]byte, 32)
	n, _ := l.file.ReadAt(b, 0) // at the end of the file there is nothing more to say
	return strings.TrimSpace(string(b[:n]))
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
