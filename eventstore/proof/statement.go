package proof

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
)

// ErrStatement says that a key does not vouch for the one that is said to follow it.
var ErrStatement = errors.New("the old key does not vouch for the next one")

// StatementMax is the size in bytes that no statement exceeds.
const StatementMax = 8 << 10

// rotation is what a key says about the one that follows it. Its first line is no name of a
// log, so that it can never be taken for a checkpoint, nor a checkpoint for it.
func rotation(origin, old, next string) string {
	return fmt.Sprintf("hecate.key-rotation.v1\n%s\n%s\n%s\n", origin, old, next)
}

// Vouch signs the statement that the log is sealed under the next key after this one.
func (k Key) Vouch(next string) (string, error) {
	signed, err := note.Sign(&note.Note{Text: rotation(k.signer.Name(), k.Public, next)}, k.signer)
	if err != nil {
		return "", fmt.Errorf("sign the statement about the next key: %w", err)
	}
	return string(signed), nil
}

// CheckStatement checks that the old key of a log vouches for the next one. There is nothing to
// read in a statement: it says what it must, to the letter, or it is none. The error wraps ErrStatement.
func CheckStatement(statement, origin, old, next string) error {
	if len(statement) > StatementMax {
		return fmt.Errorf("%w: the statement has %d bytes", ErrStatement, len(statement))
	}
	verifier, err := verifierOf(old, origin)
	if err != nil {
		return fmt.Errorf("%w: the old key: %w", ErrStatement, err)
	}
	if _, err := verifierOf(next, origin); err != nil {
		return fmt.Errorf("%w: the next key: %w", ErrStatement, err)
	}
	signed, err := note.Open([]byte(statement), note.VerifierList(verifier))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStatement, err)
	}
	if signed.Text != rotation(origin, old, next) {
		return fmt.Errorf("%w: it has signed something else", ErrStatement)
	}
	return nil
}

// verifierOf reads a public key of a log.
func verifierOf(public, origin string) (note.Verifier, error) {
	v, err := note.NewVerifier(public)
	if err != nil {
		return nil, fmt.Errorf("the public key %.100q cannot be read: %w", public, err)
	}
	if v.Name() != origin {
		return nil, fmt.Errorf("it is that of %.100q, not of %q", v.Name(), origin)
	}
	return v, nil
}
