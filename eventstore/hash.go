package eventstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// canonicalTag opens every canonical record and names this version of the
// encoding. A new encoding gets a new tag, so old hashes keep their meaning.
const canonicalTag = "hecate.record.v1"

// ErrTampered is wrapped by the errors of Verify and VerifyAll.
var ErrTampered = errors.New("the log was altered")

// Canonical returns the bytes that a record's hash is taken over:
//
//	text    tag "hecate.record.v1"
//	text    stream
//	16      event id
//	text    type
//	int     schema
//	int     at, microseconds since 1970-01-01 UTC
//	text    actor kind, actor name, actor organisation
//	int     caused by (position)
//	text    command id
//	text    trace
//	32      SHA-256 over salt and data
//	int     version
//
// A text is its length in bytes (4 bytes) and its bytes, an int is 8 bytes, both
// big-endian. The version stands last because a database may be the one that
// knows it. The position is not part of it: a record's place in the whole order
// is bound by the tree that is built over the hashes.
func Canonical(r Record) []byte {
	return appendCanonical(make([]byte, 0, 192+len(r.Stream)+len(r.Type)+len(r.Actor.Name)+len(r.CommandID)+len(r.Trace)), &r)
}

func appendCanonical(b []byte, r *Record) []byte {
	b = appendText(b, canonicalTag)
	b = appendText(b, r.Stream)
	b = append(b, r.ID[:]...)
	b = appendText(b, r.Type)
	b = appendInt(b, int64(r.Schema))
	b = appendInt(b, r.At.UnixMicro())
	b = appendText(b, r.Actor.Kind)
	b = appendText(b, r.Actor.Name)
	b = appendText(b, r.Actor.Org)
	b = appendInt(b, r.CausedBy)
	b = appendText(b, r.CommandID)
	b = appendText(b, r.Trace)
	digest := r.DataDigest()
	b = append(b, digest[:]...)
	return appendInt(b, r.Version)
}

// Hash returns the SHA-256 over the canonical form of r.
func Hash(r Record) [32]byte {
	var room [512]byte // on the stack, and enough for nearly all
	return sha256.Sum256(appendCanonical(room[:0], &r))
}

// Verify recomputes the hash of r and returns an error that wraps ErrTampered
// if r carries another one.
func Verify(r Record) error {
	if Hash(r) != r.Hash {
		return fmt.Errorf("%w: record %d (%s version %d) does not match its hash", ErrTampered, r.Position, r.Stream, r.Version)
	}
	return nil
}

// StoredReader reads records as the database holds them now. ReadAll may answer
// from memory and would not see what was changed behind the store's back.
type StoredReader interface {
	ReadStored(ctx context.Context, after int64, limit int) ([]Record, error)
}

// verifyPage is how many records VerifyAll reads at a time.
const verifyPage = 500

// VerifyAll checks every record after the given position: that positions and
// each stream's versions follow each other without gaps and that every hash
// matches. It returns the last position that was found good; an error that wraps
// ErrTampered says what is wrong behind it.
func VerifyAll(ctx context.Context, s StoredReader, after int64) (int64, error) {
	versions := map[string]int64{}
	for {
		page, err := s.ReadStored(ctx, after, verifyPage)
		if err != nil {
			return after, fmt.Errorf("read the log after %d: %w", after, err)
		}
		if len(page) == 0 {
			return after, nil
		}
		for _, r := range page {
			if r.Position != after+1 {
				return after, fmt.Errorf("%w: position %d is followed by %d", ErrTampered, after, r.Position)
			}
			if last, seen := versions[r.Stream]; seen && r.Version != last+1 {
				return after, fmt.Errorf("%w: version %d of %s is followed by %d", ErrTampered, last, r.Stream, r.Version)
			}
			if err := Verify(r); err != nil {
				return after, err
			}
			versions[r.Stream] = r.Version
			after = r.Position
		}
	}
}

func dataDigest(salt [16]byte, data []byte) [32]byte {
	h := sha256.New()
	h.Write(salt[:])
	h.Write(data)
	var out [32]byte
	h.Sum(out[:0])
	return out
}

func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

func appendInt(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }
