package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"hecate/tools"
	"hecate/tools/rootfs"
)

// errNotRegular is said of devices, sockets and pipes: opening one could block or act.
var errNotRegular = errors.New("is not a regular file")

// openRegular opens a regular file below the root for reading. It does not block
// on a pipe that took the file's place after the check.
func openRegular(root *os.Root, rel string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// readable cleans a path for a reading tool and refuses links.
func readable(env *tools.Env, name string) (string, error) {
	rel, err := rootfs.Relative(name)
	if err != nil {
		return "", err
	}
	return rel, rootfs.NoLinks(env.Root, rel)
}

// about is an error text with the path it is about.
func about(name string, err error) string {
	if errors.Is(err, errNotRegular) {
		return fmt.Sprintf("%q %v", name, err)
	}
	return fmt.Sprintf("%q: %s", name, rootfs.Cause(err))
}
