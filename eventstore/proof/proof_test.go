package proof_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/eventstore/proof"
)

// A tree that grows leaf by leaf is the one of RFC 6962, hash by hash.
func TestFrontier(t *testing.T) {
	var f proof.Frontier
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) (out []tlog.Hash, err error) {
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	})
	for n := range int64(300) {
		want, err := tlog.TreeHash(n, reader)
		if err != nil || f.Root() != want || f.Size() != n {
			t.Fatalf("%d leaves: root %v of %d, %v, want %v", n, f.Root(), f.Size(), err, want)
		}
		hash := sha256.Sum256([]byte{byte(n), byte(n >> 8)})
		hashes, err := tlog.StoredHashes(n, hash[:], reader)
		if err != nil {
			t.Fatal(err)
		}
		before := len(stored)
		stored = f.Append(stored, proof.Leaf(hash))
		for i, h := range hashes {
			if stored[before+i] != h {
				t.Fatalf("leaf %d: hash %d differs", n, before+i)
			}
		}
		if len(stored) != before+len(hashes) {
			t.Fatalf("leaf %d adds %d hashes, want %d", n, len(stored)-before, len(hashes))
		}
	}
}

func newKey(t testing.TB, origin string) proof.Key {
	t.Helper()
	key, made, err := proof.OpenKey(filepath.Join(t.TempDir(), "audit.key"), origin)
	if err != nil || !made {
		t.Fatal(made, err)
	}
	return key
}

func TestCheckpoint(t *testing.T) {
	key := newKey(t, proof.Origin("log_1"))
	head := proof.Head{Origin: proof.Origin("log_1"), Size: 12, Root: tlog.Hash(sha256.Sum256(nil))}
	signed, err := head.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(string(signed), "\n"); lines[0] != "hecate/log_1" || lines[1] != "12" || lines[3] != "" {
		t.Errorf("a checkpoint looks like\n%s", signed)
	}
	if got, err := proof.Open(signed, key.Public); got != head || err != nil {
		t.Errorf("opened: %+v, %v, want %+v", got, err, head)
	}
	if got, err := proof.Read(signed); got != head || err != nil {
		t.Errorf("read: %+v, %v, want %+v", got, err, head)
	}
	for name, c := range map[string]struct{ text, key string }{
		"another key of that name": {string(signed), newKey(t, proof.Origin("log_1")).Public},
		"another log's key":        {string(signed), newKey(t, proof.Origin("log_2")).Public},
		"no key":                   {string(signed), "hecate"},
		"another size":             {strings.Replace(string(signed), "12", "13", 1), key.Public},
		"no signature":             {strings.Join(strings.Split(string(signed), "\n")[:4], "\n") + "\n", key.Public},
	} {
		if _, err := proof.Open([]byte(c.text), c.key); !errors.Is(err, proof.ErrSignature) {
			t.Errorf("%s: %v, want ErrSignature", name, err)
		}
	}
	odd := proof.Head{Origin: proof.Origin("log_2"), Size: 12}
	if signed, err = odd.Sign(key); err != nil {
		t.Fatal(err)
	}
	if _, err := proof.Open(signed, key.Public); !errors.Is(err, proof.ErrSignature) {
		t.Errorf("a checkpoint of another log under this log's key: %v", err)
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.key")
	key, made, err := proof.OpenKey(path, "hecate/log_1")
	if err != nil || !made {
		t.Fatal(made, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	again, made, err := proof.OpenKey(path, "hecate/log_1")
	if err != nil || made || again.Public != key.Public {
		t.Errorf("opened again: %v, made %v, %v", again.Public, made, err)
	}
	if _, _, err := proof.OpenKey(path, "hecate/log_2"); err == nil || !strings.Contains(err.Error(), "log_1") {
		t.Errorf("as another log's key: %v", err)
	}
	if err := os.WriteFile(path, []byte("PRIVATE+KEY+x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := proof.OpenKey(path, "hecate/log_1"); err == nil {
		t.Error("a broken file was read")
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".key-*")); len(left) > 0 || err != nil {
		t.Error("left behind:", left, err)
	}
}

// What anybody hands in as a checkpoint is read or refused.
func FuzzCheckpoint(f *testing.F) {
	key := newKey(f, "hecate/log_1")
	signed, err := proof.Head{Origin: "hecate/log_1", Size: 7}.Sign(key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(signed)
	f.Add([]byte("hecate/log_1\n-1\nAAAA\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		head, err := proof.Read(raw)
		if err == nil && (head.Size < 0 || head.Origin == "") {
			t.Errorf("read as %+v", head)
		}
		for _, piece := range proof.Split(raw) {
			if len(piece) == 0 {
				t.Error("an empty piece")
			}
		}
		if opened, err := proof.Open(raw, key.Public); err == nil && opened.Origin != "hecate/log_1" {
			t.Errorf("opened as %+v", opened)
		}
	})
}

// Checkpoints that were strung together come apart as they were.
func TestSplit(t *testing.T) {
	key := newKey(t, "hecate/log_1")
	var all [][]byte
	for size := range int64(3) {
		signed, err := proof.Head{Origin: "hecate/log_1", Size: size}.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, signed)
	}
	for name, between := range map[string]string{"close together": "", "with empty lines": "\n", "with more of them": "\n\n"} {
		raw := between + string(all[0]) + between + string(all[1]) + between + string(all[2]) + between
		got := proof.Split([]byte(raw))
		if len(got) != 3 {
			t.Fatalf("%s: %d pieces", name, len(got))
		}
		for i := range all {
			if string(got[i]) != string(all[i]) {
				t.Errorf("%s: piece %d is %q", name, i, got[i])
			}
		}
	}
	if got := proof.Split(nil); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
	if got := proof.Split([]byte("no checkpoint")); len(got) != 1 {
		t.Errorf("of no checkpoint: %q", got)
	}
}
