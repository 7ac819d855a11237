package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"hecate/eventstore"
	"hecate/eventstore/proof"
)

// auditKeyFile is where the key that signs checkpoints is, in the data directory.
const auditKeyFile = "audit.key"

// openSealer returns what seals the log; nil for a log that is gone at the end. Without the
// key that the log is sealed under it leaves that to others. On PostgreSQL all nodes are given
// the same file.
func openSealer(ctx context.Context, c config, store eventstore.Store, log *slog.Logger) (*proof.Sealer, error) {
	sealed, ok := store.(proof.Log)
	if c.Backend == "memory" || !ok {
		return nil, nil //nolint:nilnil // nothing to seal is no failure
	}
	file, err := auditKeyOf(ctx, c, sealed)
	if err != nil {
		return nil, err
	}
	_, public, err := sealed.LastSeal(ctx)
	if err != nil {
		return nil, err
	}
	if err := file.check(public, log); err != nil {
		return nil, err
	}
	memory := sealedMemory{sealedPath(c.DataDir), log}
	signed, err := memory.recall(file.Origin)
	if err == nil {
		err = memory.against(ctx, sealed, signed)
	}
	if err != nil {
		return nil, err
	}
	s, err := proof.NewSealer(ctx, sealed, file.KeyFile, 0, log)
	if err == nil {
		s.Recall(signed)
		s.Signed = memory.keep
	}
	return s, err
}

// keyFile is the file with the key that signs checkpoints.
type keyFile struct{ proof.KeyFile }

// auditKeyOf is where the key of a log is.
func auditKeyOf(ctx context.Context, c config, log proof.Log) (keyFile, error) {
	id, err := log.LogID(ctx)
	return keyFile{proof.KeyFile{Path: c.AuditKeyFile, Origin: proof.Origin(id)}}, err
}

// check reads the key, and makes one only for a log that was never sealed: a second one would
// be of no use, and hide that the first is missing. public is the one that the log names.
func (f keyFile) check(public string, log *slog.Logger) error {
	if public != "" {
		if _, err := proof.ReadKey(f.Path, f.Origin); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	key, made, err := proof.OpenKey(f.Path, f.Origin)
	if made {
		log.Info("made the key that signs checkpoints of the log", "file", f.Path, "public", key.Public)
	}
	return err
}

// auditKeyPath is where the key is unless HECATE_AUDIT_KEY_FILE says otherwise.
func auditKeyPath(dataDir string) string { return filepath.Join(dataDir, auditKeyFile) }
