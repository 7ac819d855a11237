package eventstore

import (
	"context"
	"errors"
)

// Tree keeps the hashes of the Merkle tree over the log, and what was signed about it.
// Both stores implement it; eventstore/proof fills it and says what the hashes mean.
type Tree interface {
	// LastSeal returns the newest checkpoint and the public key that it was signed under;
	// both are zero for a log that was never sealed.
	LastSeal(ctx context.Context) (Checkpoint, string, error)
	// LogKeys returns the public keys that checkpoints were signed under, in the order of
	// their use.
	LogKeys(ctx context.Context) ([]LogKey, error)
	// TreeHashes returns the hashes with the given indexes, in that order. It returns
	// an error that wraps ErrTampered if one is missing.
	TreeHashes(ctx context.Context, indexes []int64) ([][32]byte, error)
	// AddSeal makes hashes and checkpoint durable together. It returns an error that wraps
	// ErrSealed, and changes nothing, if the tree does not end where the hashes begin.
	AddSeal(ctx context.Context, s Seal) error
}

// Checkpoint is a signed statement about the first Size records of the log.
type Checkpoint struct {
	Size int64
	Note []byte // signed note in the form of C2SP tlog-checkpoint
}

// LogKey is a public key that signs checkpoints of the log.
type LogKey struct {
	Since  int64 // size of the first tree that it has signed
	Public string
}

// Seal is what one extension of the tree adds.
type Seal struct {
	Rows       []TreeRow
	Checkpoint Checkpoint
	Key        string // public; "" if it is that of the last seal
}

// TreeRow is a piece of the tree's hashes, which stand in the order of
// golang.org/x/mod/sumdb/tlog.
type TreeRow struct {
	Start  int64  // index of the first one
	Hashes []byte // 32 bytes each
}

// TreeRowMax is how many hashes one row holds at most: a reader of one hash reads the
// pages of one row.
const TreeRowMax = 512

// ErrSealed says that somebody else has extended the tree meanwhile.
var ErrSealed = errors.New("the tree was extended by another process")
