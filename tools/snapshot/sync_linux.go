package snapshot

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncAll makes everything on the file system of dir durable.
func syncAll(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Syncfs(int(d.Fd()))
}
