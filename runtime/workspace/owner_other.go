//go:build !unix

package workspace

import "io/fs"

// ours is true: here the temporary directory is each user's own.
func ours(fs.FileInfo) bool { return true }
