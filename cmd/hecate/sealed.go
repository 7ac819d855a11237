package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"hecate/eventstore/proof"
)

// sealedFile keeps the newest checkpoint that this data directory's server has signed, apart
// from the database: whoever can change only that cannot make the server sign another history.
const sealedFile = "audit.sealed"

// sealedMemory is that file.
type sealedMemory struct {
	path string
	log  *slog.Logger
}

// recall returns what was signed last about a log, the zero value for nothing.
func (m sealedMemory) recall(origin string) (proof.Head, error) {
	raw, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return proof.Head{}, nil
	}
	if err != nil {
		return proof.Head{}, fmt.Errorf("read what was signed last: %w", err)
	}
	head, err := proof.Read(raw)
	if err != nil {
		return proof.Head{}, advise(fmt.Errorf("read what was signed last from %s: %w", m.path, err), "if the log is sound (hecate audit verify), remove that file")
	}
	if head.Origin != origin { // of another log that this directory's server has had
		return proof.Head{}, nil
	}
	return head, nil
}

// keep notes a checkpoint. One that cannot be kept is only missed at the next start.
func (m sealedMemory) keep(checkpoint []byte) {
	next := m.path + ".next"
	err := os.WriteFile(next, checkpoint, 0o600)
	if err == nil {
		err = os.Rename(next, m.path)
	}
	if err != nil {
		m.log.Warn("could not note what was signed; an older state of the log that is put back would not be noticed", "file", m.path, "error", err)
	}
}

// against tells of a log that is not as long any more as what was signed about it.
func (m sealedMemory) against(ctx context.Context, log proof.Log, signed proof.Head) error {
	last, _, err := log.LastSeal(ctx)
	if err == nil && last.Size < signed.Size {
		m.log.Error("the log is not sealed: this server has signed more of it than there is. Was an older state put back, or the seal taken out? See hecate audit verify, "+
			"with a checkpoint that was kept. If it was put back on purpose, remove the file and start again", "file", m.path, "signed", signed.Size, "newest", last.Size)
	}
	return err
}

func sealedPath(dataDir string) string { return filepath.Join(dataDir, sealedFile) }
