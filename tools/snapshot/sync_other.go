//go:build !linux

package snapshot

import "errors"

// syncAll says that there is no way to ask for all files at once.
func syncAll(string) error { return errors.ErrUnsupported }
