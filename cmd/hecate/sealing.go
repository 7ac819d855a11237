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

// openSealer returns what seals the log; nil for a log that is gone at the end, and for one
// that is sealed under a key that this process does not have: then others seal it. On
// PostgreSQL all nodes are given the same file.
func openSealer(ctx context.Context, c config, store eventstore.Store, log *slog.Logger) (*proof.Sealer, error) {
	sealed, ok := store.(proof.Log)
	if c.Backend == "memory" || !ok {
		return nil, nil //nolint:nilnil // nothing to seal is no failure
	}
	id, err := store.LogID(ctx)
	if err != nil {
		return nil, err
	}
	_, public, err := sealed.LastSeal(ctx)
	if err != nil {
		return nil, err
	}
	key, err := sealingKey(c.AuditKeyFile, proof.Origin(id), public, log)
	switch {
	case public != "" && (errors.Is(err, fs.ErrNotExist) || err == nil && key.Public != public):
		log.Warn("this process does not seal the log: it was sealed under another key; give HECATE_AUDIT_KEY_FILE the file of that one",
			"file", c.AuditKeyFile, "public", public)
		return nil, nil //nolint:nilnil // see above
	case err != nil:
		return nil, err
	}
	return proof.NewSealer(ctx, sealed, key, 0, log)
}

// sealingKey reads the key, and makes one only for a log that was never sealed: a second one
// would be of no use, and hide that the first is missing.
func sealingKey(path, origin, public string, log *slog.Logger) (proof.Key, error) {
	if public != "" {
		return proof.ReadKey(path, origin)
	}
	key, made, err := proof.OpenKey(path, origin)
	if made {
		log.Info("made the key that signs checkpoints of the log", "file", path, "public", key.Public)
	}
	return key, err
}

// auditKeyPath is where the key is unless HECATE_AUDIT_KEY_FILE says otherwise.
func auditKeyPath(dataDir string) string { return filepath.Join(dataDir, auditKeyFile) }
