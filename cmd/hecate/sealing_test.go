package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

// sealedLog is a log in a data directory, with records that are sealed under its key.
func sealedLog(t *testing.T, c config, records int) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: c.SQLitePath})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Append(t.Context(), storetest.To("run-1", eventstore.AnyVersion, storetest.NewEvents(records)...)); err != nil {
		t.Fatal(err)
	}
	sealer, err := openSealer(t.Context(), c, s, slog.New(slog.DiscardHandler))
	if err != nil || sealer == nil {
		t.Fatal(sealer, err)
	}
	if err := sealer.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func configAt(t *testing.T, dir string, more ...string) config {
	t.Helper()
	c, err := readConfig(append(more, "HECATE_DATA_DIR="+dir))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The key is made once. A process without it runs, and leaves the log unsealed.
func TestSealingKey(t *testing.T) {
	c := configAt(t, t.TempDir())
	sealedLog(t, c, 3)
	sealedLog(t, c, 2)
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: c.SQLitePath})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	key, err := os.ReadFile(c.AuditKeyFile)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := c
	elsewhere.AuditKeyFile = filepath.Join(t.TempDir(), "shared.key")
	if err := os.WriteFile(elsewhere.AuditKeyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	seal := func(c config) error {
		sealer, err := openSealer(context.Background(), c, store, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		return sealer.Seal(t.Context())
	}
	if err := seal(elsewhere); err != nil {
		t.Error("the same key elsewhere does not seal:", err)
	}
	if err := os.Remove(c.AuditKeyFile); err != nil {
		t.Fatal(err)
	}
	if err := seal(c); !errors.Is(err, proof.ErrOtherKey) || !strings.Contains(err.Error(), "HECATE_AUDIT_KEY_FILE") {
		t.Errorf("seals without the key: %v", err)
	}
	if _, err := os.Stat(c.AuditKeyFile); err == nil {
		t.Error("a second key was made")
	}
	if err := os.WriteFile(c.AuditKeyFile, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSealer(context.Background(), c, store, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a broken key file was taken")
	}
}
