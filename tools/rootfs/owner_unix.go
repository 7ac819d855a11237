//go:build unix

package rootfs

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner of the file it is going to replace, as far as this
// process may: a server that runs as root must not take files from their users.
func keepOwner(f *os.File, like fs.FileInfo) {
	if st, ok := like.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}
