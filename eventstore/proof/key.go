package proof

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Key signs the checkpoints of one log.
type Key struct {
	signer note.Signer
	Public string // as golang.org/x/mod/sumdb/note writes it: name, hash and key
}

// OpenKey reads the key of a log from a file, and makes both if there is no file yet; the
// file is the owner's alone. It returns an error if the key is that of another log.
func OpenKey(path, origin string) (key Key, made bool, err error) {
	key, err = ReadKey(path, origin)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	secret, _, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		return Key{}, false, fmt.Errorf("make key of %s: %w", origin, err)
	}
	if err := create(path, secret+"\n"); err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, false, fmt.Errorf("keep key of %s: %w", origin, err)
	}
	key, err = ReadKey(path, origin) // of two processes at once, both read what one has made
	return key, err == nil, err
}

// create writes a file that was not there, all or nothing.
func create(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // a second name of the key, or an unfinished one
	_, err = f.WriteString(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// Holding returns the key itself if it is the one that is asked for; "" asks for any.
func (k Key) Holding(public string) (Key, error) {
	if public != "" && public != k.Public {
		return Key{}, fmt.Errorf("%w, %.200s: give this process the same key file", ErrOtherKey, public)
	}
	return k, nil
}

// OriginOf returns the name of the log that a public key belongs to, or an error if the text is no
// public key.
func OriginOf(public string) (string, error) {
	v, err := note.NewVerifier(public)
	if err != nil {
		return "", fmt.Errorf("the public key %.100q cannot be read: %w", public, err)
	}
	return v.Name(), nil
}

// ReadKey reads the key of a log from a file.
func ReadKey(path, origin string) (Key, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("read key of %s: %w", origin, err)
	}
	secret := strings.TrimSpace(string(raw))
	signer, err := note.NewSigner(secret)
	if err != nil {
		return Key{}, fmt.Errorf("read key of %s from %s: %w", origin, path, err)
	}
	if signer.Name() != origin {
		return Key{}, fmt.Errorf("the key in %s is that of %s, not of %s: give this log the file of its own", path, signer.Name(), origin)
	}
	public, err := publicOf(secret, origin)
	if err != nil {
		return Key{}, fmt.Errorf("read key of %s from %s: %w", origin, path, err)
	}
	return Key{signer: signer, Public: public}, nil
}

// publicOf derives the public key of a secret one that note has read already:
// PRIVATE+KEY+name+hash+data, where data may hold the sign that separates the parts.
func publicOf(secret, origin string) (string, error) {
	parts := strings.SplitN(secret, "+", 5)
	raw, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(raw) != 1+ed25519.SeedSize { // a byte for the kind of key
		return "", errors.New("the secret part has another form")
	}
	public, _ := ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey)
	return note.NewEd25519VerifierKey(origin, public)
}
