package snapshot

import (
	"io/fs"
	"syscall"
)

// look returns how a file looks.
func look(info fs.FileInfo) seen {
	x := seen{size: info.Size(), modified: info.ModTime().UnixNano()}
	x.changed = x.modified
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		x.changed, x.inode = st.Ctimespec.Nano(), st.Ino
	}
	return x
}
