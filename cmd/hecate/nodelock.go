package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"hecate/eventstore"
)

// nodeFile is the lock on a data directory. The operating system drops it with the
// process, however that ends; so who has it knows that earlier processes of the
// node are gone, and takes their runs back at once.
const nodeFile = "hecate.node.lock"

// A child that a killed process was just starting holds the lock for a moment.
const (
	nodeLockTries = 50
	nodeLockPause = 20 * time.Millisecond
)

// lockNode makes this process the one that uses the data directory. The error of a
// directory that is in use wraps eventstore.ErrInUse.
func lockNode(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, nodeFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	for try := 1; ; try++ {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || try == nodeLockTries {
			_ = f.Close()
			return nil, fmt.Errorf("data directory %s: %w: each node needs one of its own: %w", dir, eventstore.ErrInUse, err)
		}
		time.Sleep(nodeLockPause)
	}
}
