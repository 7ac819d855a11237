// Package proof makes the log tamper-evident.
//
// The hashes of all records are the leaves of a Merkle tree as RFC 6962 describes it. The
// leaf of the record at position p has index p − 1, and its text is the 32 bytes of the
// record's hash (see eventstore.Canonical), so a leaf binds what a record says and its
// place. A Sealer extends the tree behind the appends and signs a checkpoint: how many
// records there are and the root over them. Whoever keeps a checkpoint elsewhere can tell
// later, from the log alone, whether any of those records was changed, removed, inserted
// or moved.
//
// Checkpoints have the form of C2SP tlog-checkpoint, signed notes under an Ed25519 key, so
// other programs can read them. Hashes are numbered as golang.org/x/mod/sumdb/tlog does.
package proof

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// NoteMax is the size in bytes that no checkpoint exceeds, with signatures of witnesses.
const NoteMax = 64 << 10

// sizeMax is more than any log will have; beyond it, numbers of hashes could overflow.
const sizeMax = 1 << 48

// Errors about checkpoints and keys, told apart with errors.Is.
var (
	ErrForm      = errors.New("this is no checkpoint")
	ErrSignature = errors.New("the checkpoint is not signed by the key")
	ErrOtherKey  = errors.New("the log is sealed under another key")
)

// Origin is the name of a log in its checkpoints and keys.
func Origin(logID string) string { return "hecate/" + logID }

// Leaf is the leaf of the tree for a record with that hash.
func Leaf(hash [32]byte) tlog.Hash { return tlog.RecordHash(hash[:]) }

// Head is what a checkpoint says: the log, how many records it has and the root of the
// tree over them.
type Head struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// Sign returns the checkpoint.
func (h Head) Sign(key Key) ([]byte, error) {
	text := fmt.Sprintf("%s\n%d\n%s\n", h.Origin, h.Size, base64.StdEncoding.EncodeToString(h.Root[:]))
	signed, err := note.Sign(&note.Note{Text: text}, key.signer)
	if err != nil {
		return nil, fmt.Errorf("sign checkpoint %d: %w", h.Size, err)
	}
	return signed, nil
}

// Open reads a checkpoint whose signature by the public key it has checked. Signatures of
// others are ignored. It returns an error that wraps ErrForm or ErrSignature.
func Open(checkpoint []byte, public string) (Head, error) {
	if len(checkpoint) > NoteMax {
		return Head{}, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrForm, len(checkpoint), NoteMax)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		return Head{}, fmt.Errorf("%w: the public key %.100q cannot be read: %w", ErrSignature, public, err)
	}
	signed, err := note.Open(checkpoint, note.VerifierList(verifier))
	if err != nil {
		return Head{}, fmt.Errorf("%w %s: %w", ErrSignature, verifier.Name(), err)
	}
	head, err := parse(signed.Text)
	if err != nil {
		return Head{}, err
	}
	if head.Origin != verifier.Name() {
		return Head{}, fmt.Errorf("%w: it is about %.100q, the key is that of %.100q", ErrSignature, head.Origin, verifier.Name())
	}
	return head, nil
}

// Read reads a checkpoint without a look at its signatures.
func Read(checkpoint []byte) (Head, error) {
	text, _, signed := bytes.Cut(checkpoint, []byte("\n\n"))
	if !signed || len(checkpoint) > NoteMax {
		return Head{}, fmt.Errorf("%w: a text, an empty line and signatures are expected", ErrForm)
	}
	return parse(string(text) + "\n")
}

// parse reads the text of a checkpoint. Lines behind the third one are for others.
func parse(text string) (Head, error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 || lines[0] == "" {
		return Head{}, fmt.Errorf("%w: origin, size and root are expected", ErrForm)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || size > sizeMax || strconv.FormatInt(size, 10) != lines[1] {
		return Head{}, fmt.Errorf("%w: the size is %.40q", ErrForm, lines[1])
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return Head{}, fmt.Errorf("%w: the root is %.60q", ErrForm, lines[2])
	}
	return Head{Origin: lines[0], Size: size, Root: tlog.Hash(root)}, nil
}

// Split divides a file of checkpoints that were strung together, with or without empty
// lines between them.
func Split(raw []byte) (list [][]byte) {
	for len(bytes.TrimSpace(raw)) > 0 {
		raw = bytes.TrimLeft(raw, "\n")
		end := bytes.Index(raw, []byte("\n\n"))
		if end < 0 {
			return append(list, raw)
		}
		for end += 2; end < len(raw) && bytes.HasPrefix(raw[end:], []byte("— ")); {
			line := bytes.IndexByte(raw[end:], '\n')
			if line < 0 {
				end = len(raw)
				break
			}
			end += line + 1
		}
		list, raw = append(list, raw[:end]), raw[end:]
	}
	return list
}
