// Package operators keeps the list of a server's operators and their tokens.
//
// An operator is a name with a token. The list holds a digest of each token, so that
// whoever reads it can be nobody; the token itself is shown once. It is one JSON file,
// replaced as a whole, which servers read and the command line edits: nodes of one log
// may share it.
package operators

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"hecate/api/auth"
)

// Files of a data directory.
const (
	ListFile  = "operators.json" // the list, unless it stands elsewhere
	TokenFile = "operator.token" // the token of the first operator, for the command line
)

// listMax bounds the file, in bytes.
const listMax = 1 << 20

// Operator is one entry of the list. A revoked one stays, so that its name in the log
// can be explained.
type Operator struct {
	Name    string    `json:"name"`
	Token   string    `json:"token_sha256"` // lower-case hexadecimal digits
	Created time.Time `json:"created"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// Active reports whether the operator's token is accepted.
func (o Operator) Active() bool { return o.Revoked.IsZero() }

// Owns reports whether a token is the operator's, revoked or not.
func (o Operator) Owns(token string) bool { return o.Token == digest(token) }

// Read returns the list at path. A list that does not exist is an error that wraps
// fs.ErrNotExist.
func Read(path string) ([]Operator, error) {
	raw, err := load(path)
	if err != nil {
		return nil, err
	}
	return parse(path, raw)
}

func load(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the list of operators: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, listMax+1))
	if err != nil {
		return nil, fmt.Errorf("read the list of operators: %w", err)
	}
	if len(raw) > listMax {
		return nil, fmt.Errorf("read the list of operators: %s is larger than %d KiB", path, listMax>>10)
	}
	return raw, nil
}

// file is the list as it stands on disk.
type file struct {
	Operators []Operator `json:"operators"`
}

// parse takes all of a list or nothing: with a part of it, somebody could be missing,
// or still be there.
func parse(path string, raw []byte) ([]Operator, error) {
	var f file
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("read the list of operators %s: %w", path, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the list of operators %s: something follows it", path)
	}
	active := map[string]bool{}
	for i, o := range f.Operators {
		sum, err := hex.DecodeString(o.Token)
		switch {
		case !Sane(o.Name):
			return nil, fmt.Errorf("read the list of operators %s: entry %d: %w", path, i+1, errName)
		case err != nil || len(sum) != sha256.Size || hex.EncodeToString(sum) != o.Token:
			return nil, fmt.Errorf("read the list of operators %s: entry %d (%s): token_sha256 must be 64 lower-case hexadecimal digits", path, i+1, o.Name)
		case o.Active() && active[o.Name]:
			return nil, fmt.Errorf("read the list of operators %s: entry %d: there are two active operators %s", path, i+1, o.Name)
		}
		active[o.Name] = active[o.Name] || o.Active()
	}
	return f.Operators, nil
}

var errName = errors.New("a name is 1 to 64 letters, digits or . _ @ - and not " + auth.RuntimeTokenName)

// Sane reports whether an operator may have the name.
func Sane(name string) bool { return auth.SaneName(name) && name != auth.RuntimeTokenName }

// newToken returns 32 random bytes as 43 characters that need no quoting.
func newToken() string {
	var b [32]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// ReadToken returns the token that a file holds; "" if there is no such file.
func ReadToken(path string) (string, error) {
	raw, err := load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return string(bytes.TrimSpace(raw)), nil
}
