//go:build !linux && !darwin

package snapshot

import "io/fs"

// look returns how a file looks. Here a change that sets the time of modification back
// and keeps the size goes unnoticed.
func look(info fs.FileInfo) seen {
	x := seen{size: info.Size(), modified: info.ModTime().UnixNano()}
	x.changed = x.modified
	return x
}
