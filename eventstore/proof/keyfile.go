package proof

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// KeyFile is the file with the key of a log. While the key is changed, the next one stands in
// a second file beside it: it is there before the log says that it signs, and takes the place
// of the old one after that. So whoever finds either in the log finds the key for it here,
// wherever a change was cut off. The old key goes with its file: nothing that it could sign
// from then on would be right.
type KeyFile struct {
	Path   string
	Origin string // of the log
}

// next is where the key stands that is to follow.
func (f KeyFile) next() string { return f.Path + ".next" }

// Holding returns the key of a log that the log names by its public key; "" asks for the one
// in the file, whichever. A next key that is asked for takes its place in the file. An error
// that wraps ErrOtherKey says that neither is the key.
func (f KeyFile) Holding(public string) (Key, error) {
	for range 2 { // another process may put the next key into its place meanwhile
		key, err := ReadKey(f.Path, f.Origin)
		if err == nil && (public == "" || key.Public == public) {
			return key, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Key{}, err
		}
		key, err = ReadKey(f.next(), f.Origin)
		if err == nil && key.Public == public {
			return key, f.install()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Key{}, err
		}
	}
	return Key{}, fmt.Errorf("%w, %.200s, and %s does not hold it: give HECATE_AUDIT_KEY_FILE the same key file as those who seal", ErrOtherKey, public, f.Path)
}

// Prepare makes the key that is to follow, or returns the one that was made before. Its file
// belongs to the owner of the old one, or of the folder: who seals is to read it.
func (f KeyFile) Prepare() (Key, error) {
	key, _, err := OpenKey(f.next(), f.Origin)
	if err != nil {
		return key, err
	}
	like := f.Path
	if _, err := os.Stat(like); errors.Is(err, fs.ErrNotExist) {
		like = filepath.Dir(like)
	}
	if err := giveTo(f.next(), like); err != nil {
		return key, fmt.Errorf("let the next key of %s belong to the owner of %s: %w; do this as that user", f.Origin, like, err)
	}
	return key, nil
}

// install puts the next key into the place of the old one, which is gone then.
func (f KeyFile) install() error {
	err := os.Rename(f.next(), f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // else another process has done it
		return fmt.Errorf("put the next key of %s into its place: %w", f.Origin, err)
	}
	return syncFolder(f.Path)
}

// syncFolder makes the name of a file durable.
func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
