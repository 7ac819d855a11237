package snapshot

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// stagingPrefix begins the name of the directory in a target in which new contents wait.
// Snapshots leave it out.
const stagingPrefix = ".hecate-landing-"

// journal is what has to be known to finish a landing, or to undo it, after a crash. It
// stands in the store. It is written before anything is done in the target, and again,
// with Committing, when all that is left to do is to move files.
type journal struct {
	Target     string
	Staging    string // directory in the target
	Committing bool
	Steps      []step
}

// step is one file of a landing. What is new waits as new-<number> in the staging
// directory until it is moved; what was there goes to, or is linked as, old-<number>.
type step struct {
	Path     string
	Old, New content
	Made     []string // directories that have to be made, parents first
}

func journalKey(realTarget string) string { return keyOf(realTarget, false) }

func (s *Store) saveJournal(j journal) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(j); err != nil {
		return err
	}
	return s.replace(filepath.Join("journal", journalKey(j.Target)), b.Bytes(), true)
}

func (s *Store) dropJournal(target string) error {
	return os.Remove(filepath.Join(s.dir, "journal", journalKey(target)))
}

// Recover finishes or undoes every landing that a crash interrupted. Land and Restore
// do so for their own target.
func (s *Store) Recover(ctx context.Context) error {
	s.landing.Lock()
	defer s.landing.Unlock()
	names, err := os.ReadDir(filepath.Join(s.dir, "journal"))
	for _, n := range names {
		err = errors.Join(err, s.recover(ctx, n.Name()))
	}
	if err != nil {
		return fmt.Errorf("recover landings: %w", err)
	}
	return nil
}

func (s *Store) recover(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "journal", key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var j journal
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&j); err != nil {
		return fmt.Errorf("read the journal of an interrupted landing: %w", err)
	}
	root, err := os.OpenRoot(j.Target)
	if errors.Is(err, fs.ErrNotExist) {
		return s.dropJournal(j.Target) // nothing is left to finish
	} else if err != nil {
		return fmt.Errorf("finish an interrupted landing: %w", err)
	}
	defer root.Close()
	c := &commit{s: s, root: root, journal: j}
	if !j.Committing {
		return c.end()
	}
	if err := c.run(); err != nil && !errors.As(err, new(*undone)) {
		return fmt.Errorf("finish an interrupted landing: %w", err)
	}
	return nil
}
