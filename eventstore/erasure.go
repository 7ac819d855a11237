package eventstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"hecate/domain/erasure"
	"hecate/domain/event"
)

// ErrErased is wrapped by the error about a large content that was erased.
var ErrErased = event.ErrErased

// Erasure is what an append takes away in its transaction. The batch consists of the one
// event, of type erasure.Erased, that names it all.
type Erasure struct {
	Records  []ErasedRecord
	Contents []string // digests of large contents
}

// ErasedRecord is a record whose data gives way to its erased form.
type ErasedRecord struct {
	Position int64
	Salt     [16]byte // as it was read: a record that was erased meanwhile is not erased again
	Digest   [32]byte // of salt and data
	Form     []byte   // JSON
}

// DataDigest returns the SHA-256 over the salt and data of a record, also of one whose data was erased.
func (r *Record) DataDigest() [32]byte {
	if r.Erased != 0 {
		return r.ErasedDigest
	}
	return dataDigest(r.Salt, r.Data)
}

// erasedSaltSize is the length of what stands in the place of a salt that was erased: the
// digest of salt and data, and the position of the record that says so.
const erasedSaltSize = 32 + 8

// SetSalt takes the salt of a record as it is stored. It reports false for bytes that no
// store writes.
func (r *Record) SetSalt(stored []byte) bool {
	switch len(stored) {
	case len(r.Salt):
		copy(r.Salt[:], stored)
		return true
	case erasedSaltSize:
		copy(r.ErasedDigest[:], stored)
		r.Erased = int64(binary.BigEndian.Uint64(stored[len(r.ErasedDigest):]))
		return r.Erased > 0
	}
	return false
}

// ErasedSalt is what is stored in the place of the salt of a record that was erased.
func ErasedSalt(digest [32]byte, by int64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, erasedSaltSize), digest[:]...), uint64(by))
}

// FormDigest is how an erasure names the erased form of a record.
func FormDigest(form []byte) string {
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
}

// validateErasure checks that what a batch erases is named by its event as far as the log can tell.
func (b Batch) validateErasure() error {
	if b.Erase == nil {
		return nil
	}
	if len(b.Streams) != 1 || len(b.Streams[0].Events) != 1 || b.Streams[0].Events[0].Type != erasure.Type || b.Streams[0].Stream != erasure.Stream {
		return invalid("an erasure is one event of type %s in the stream %s", erasure.Type, erasure.Stream)
	}
	if b.Streams[0].Expected == AnyVersion {
		return invalid("an erasure expects a version of its stream")
	}
	if len(b.Erase.Records) > erasure.RecordsMax || len(b.Erase.Contents) > erasure.ContentsMax {
		return invalid("an erasure of %d records and %d contents, at most %d and %d", len(b.Erase.Records), len(b.Erase.Contents), erasure.RecordsMax, erasure.ContentsMax)
	}
	last := int64(0)
	for _, r := range b.Erase.Records {
		if r.Position <= last {
			return invalid("an erasure of record %d behind record %d", r.Position, last)
		}
		if len(r.Form) == 0 || len(r.Form) > DataMax {
			return invalid("the erased form of record %d has %d bytes", r.Position, len(r.Form))
		}
		last = r.Position
	}
	return nil
}
