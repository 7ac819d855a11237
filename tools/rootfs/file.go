package rootfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Unfit says why something cannot be used as a file: "is a directory". The text
// goes after the name.
type Unfit string

func (u Unfit) Error() string { return string(u) }

// What a path may be instead of a file.
const (
	Directory  Unfit = "is a directory"
	NotRegular Unfit = "is not a regular file" // opening a device, socket or pipe could block or act
)

// TooLarge is the refusal of a file of size bytes.
func TooLarge(size, limit int64) error {
	return Unfit(fmt.Sprintf("is too large (%d bytes; the limit is %d)", size, limit))
}

// Open opens a regular file or a directory below the root for reading. It does
// not block on a pipe that took the file's place after a check.
func Open(root *os.Root, rel string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = NotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// File is what stood at a path when it was read: a regular file, or nothing.
type File struct {
	Path   string // below the root, from Writable
	Exists bool
	Data   []byte
	info   fs.FileInfo
}

// Load reads the file at rel, which may be missing, in order to change it. What is
// no regular file or larger than limit bytes is refused.
func Load(root *os.Root, rel string, limit int64) (File, error) {
	f, info, err := Open(root, rel)
	if errors.Is(err, fs.ErrNotExist) {
		return File{Path: rel}, nil
	} else if err != nil {
		return File{}, err
	}
	defer f.Close()
	if info.IsDir() {
		return File{}, Directory
	}
	if info.Size() > limit {
		return File{}, TooLarge(info.Size(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return File{}, err
	}
	if int64(len(data)) > limit {
		return File{}, TooLarge(int64(len(data)), limit)
	}
	return File{Path: rel, Exists: true, Data: data, info: info}, nil
}

// Perm are the permissions of the file; 0 if there is none.
func (f File) Perm() fs.FileMode {
	if f.info == nil {
		return 0
	}
	return f.info.Mode().Perm()
}

// unchanged reports whether info, which is nil for nothing, is still what was read.
func (f File) unchanged(info fs.FileInfo) bool {
	if f.info == nil || info == nil {
		return f.info == nil && info == nil
	}
	return os.SameFile(f.info, info) && f.info.Size() == info.Size() && f.info.ModTime().Equal(info.ModTime())
}
