package main

import (
	"bytes"
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

// A server that was stopped meanwhile does not sign another history: neither of an older
// state that was put back, nor of one whose seal was taken out.
func TestSealingAfterARewind(t *testing.T) {
	for name, forgery := range map[string]func(t *testing.T, path string, older []byte){
		"an older state": func(t *testing.T, path string, older []byte) {
			if err := os.WriteFile(path, older, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"the seal taken out": func(t *testing.T, path string, _ []byte) {
			for _, table := range []string{"tree", "checkpoints", "log_keys"} {
				forge(t, path, "DROP TRIGGER hecate_"+table+"_no_delete; DELETE FROM hecate_"+table)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := configAt(t, t.TempDir())
			sealedLog(t, c, 3)
			older, err := os.ReadFile(c.SQLitePath)
			if err != nil {
				t.Fatal(err)
			}
			sealedLog(t, c, 4)
			forgery(t, c.SQLitePath, older)
			store, err := sqlite.Open(t.Context(), sqlite.Options{Path: c.SQLitePath})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if _, err := store.Append(t.Context(), storetest.To("run-9", 0, storetest.NewEvents(9)...)); err != nil {
				t.Fatal(err)
			}
			var told bytes.Buffer
			sealer, err := openSealer(t.Context(), c, store, slog.New(slog.NewTextHandler(&told, nil)))
			if err != nil {
				t.Fatal(err)
			}
			if err := sealer.Seal(t.Context()); !errors.Is(err, eventstore.ErrTampered) || !strings.Contains(told.String(), sealedPath(c.DataDir)) {
				t.Errorf("%v; told:\n%s", err, told.String())
			}
			if err := os.Remove(sealedPath(c.DataDir)); err != nil { // on purpose
				t.Fatal(err)
			}
			if sealer, err = openSealer(t.Context(), c, store, slog.New(slog.DiscardHandler)); err == nil {
				err = sealer.Seal(t.Context())
			}
			if err != nil {
				t.Errorf("put back on purpose: %v", err)
			}
		})
	}
}
