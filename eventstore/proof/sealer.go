package proof

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/eventstore"
)

const (
	sealPages   = 8   // read for one seal at most
	sealPage    = 512 // records
	sealTries   = 3   // of one seal, where others seal too
	intervalMin = time.Second
	pauseMax    = time.Minute // after failures
	finishMax   = 5 * time.Second
)

// Log is what a Sealer needs of the log.
type Log interface {
	eventstore.Tree
	LogID(ctx context.Context) (string, error)
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error)
	ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error)
	Wait(ctx context.Context, after int64) error
}

// Holder has keys that sign.
type Holder interface {
	// Holding returns the key with that public part, any if it is "". An error that wraps
	// ErrOtherKey says that there is no such key here.
	Holding(public string) (Key, error)
}

// Sealer extends the tree of a log and signs checkpoints. Any number of processes may seal
// one log under the same key: of two that extend the same tree at once the log lets one
// through. A Sealer never signs a tree that the last signed one is not the beginning of, and
// none with a record that names a later key than the one it signs with: see signing.go.
type Sealer struct {
	log      Log
	keys     Holder
	origin   string
	interval time.Duration
	logger   *slog.Logger
	tree     Frontier // as this process knows it
	last     Head     // the newest checkpoint that it knows to be sound
	known    string   // the public key of that one
	signing  signing
	loaded   bool
	told     bool // that others seal

	// Signed, if not nil, is called with each checkpoint that this sealer has signed, once
	// it is in the log. It must return at once.
	Signed func(checkpoint []byte)
}

// NewSealer returns a sealer that signs at most once in each interval (one second if it is
// shorter), with the keys that the log names.
func NewSealer(ctx context.Context, log Log, keys Holder, interval time.Duration, logger *slog.Logger) (*Sealer, error) {
	id, err := log.LogID(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin sealing: %w", err)
	}
	return &Sealer{log: log, keys: keys, origin: Origin(id), interval: max(interval, intervalMin), logger: logger}, nil
}

// Recall tells the sealer what was signed about the log before, as somebody has kept it apart from
// the log. Call it before anything is sealed.
func (s *Sealer) Recall(signed Head) {
	if signed.Origin == s.origin {
		s.last = signed
	}
}

// Run seals what is appended until ctx ends. A failure is logged and tried again: records
// that are not sealed yet are still in the log. Where other processes seal under a key that
// is not held here, it says so, and looks from time to time whether that is still so.
func (s *Sealer) Run(ctx context.Context) error {
	pause := s.interval
	for ctx.Err() == nil {
		err := s.log.Wait(ctx, s.last.Size)
		if err == nil {
			err = s.Seal(ctx)
		}
		if errors.Is(err, eventstore.ErrClosed) {
			return nil
		}
		if pause = s.pauseAfter(ctx, err, pause); ctx.Err() == nil {
			wait(ctx, pause)
		}
	}
	return nil
}

// Finish seals what Run has left. Call it when nothing is appended any more.
func (s *Sealer) Finish(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), finishMax)
	defer stop()
	if err := s.Seal(ctx); err != nil && !errors.Is(err, eventstore.ErrClosed) && !errors.Is(err, ErrOtherKey) {
		s.logger.Warn("the end of the log is not sealed", "sealed", s.last.Size, "error", err)
	}
}

// pauseAfter says how long to wait before the next seal: longer after each failure.
func (s *Sealer) pauseAfter(ctx context.Context, err error, before time.Duration) time.Duration {
	if errors.Is(err, ErrOtherKey) {
		if !s.told {
			s.logger.Warn("this process does not seal the log", "error", err)
		}
		s.told = true
		return pauseMax
	}
	s.told = false
	if err == nil || ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed) || errors.Is(err, eventstore.ErrSealed) {
		return s.interval
	}
	if errors.Is(err, eventstore.ErrTampered) || errors.Is(err, ErrSignature) {
		s.logger.Error("the log is not sealed, because it is not what was sealed before; see: hecate audit verify", "sealed", s.last.Size, "error", err)
	} else {
		s.logger.Warn("could not seal the log", "sealed", s.last.Size, "error", err)
	}
	return min(2*before, pauseMax)
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Seal extends the tree over all records that are in the log. It returns an error that
// wraps eventstore.ErrTampered or ErrSignature, and signs nothing, if the tree is not the
// one that was signed before; ErrOtherKey if others seal under another key.
func (s *Sealer) Seal(ctx context.Context) error {
	for tries := 1; ; {
		more, err := s.extend(ctx)
		switch {
		case errors.Is(err, eventstore.ErrSealed) && tries < sealTries:
			tries++ // another process was quicker: go on from what it has sealed
		case err != nil:
			s.loaded = false
			return fmt.Errorf("seal the log after %d: %w", s.last.Size, err)
		case !more:
			return nil
		}
	}
}

// extend seals the next records. It reports whether there may be more.
func (s *Sealer) extend(ctx context.Context) (more bool, err error) {
	if err := s.load(ctx); err != nil {
		return false, err
	}
	next := s.tree.clone()
	var hashes []tlog.Hash
	for pages := 0; pages < sealPages || next.size < s.signing.from; pages++ {
		page, err := s.log.ReadAll(ctx, next.size, sealPage)
		if err != nil {
			return false, err
		}
		for i := range page {
			if page[i].Position != next.size+1 {
				return false, fmt.Errorf("%w: position %d is followed by %d", eventstore.ErrTampered, next.size, page[i].Position)
			}
			if s.signing.ends(&page[i]) { // another key signs from here on
				s.loaded = false
				return true, s.add(ctx, next, hashes)
			}
			hashes = next.Append(hashes, Leaf(page[i].Hash))
		}
		if more = len(page) == sealPage; !more {
			break
		}
	}
	return more, s.add(ctx, next, hashes)
}

// add signs the extended tree and stores it.
func (s *Sealer) add(ctx context.Context, next Frontier, hashes []tlog.Hash) error {
	if len(hashes) == 0 || next.size < s.signing.from {
		return nil
	}
	head := Head{Origin: s.origin, Size: next.size, Root: next.Root()}
	signed, err := head.Sign(s.signing.key)
	if err != nil {
		return err
	}
	seal := eventstore.Seal{
		Rows:       rowsOf(tlog.StoredHashCount(s.tree.size), hashes),
		Checkpoint: eventstore.Checkpoint{Size: head.Size, Note: signed},
	}
	if s.known != s.signing.key.Public {
		seal.Key = s.signing.key.Public
	}
	if err := s.log.AddSeal(ctx, seal); err != nil {
		return err
	}
	s.tree, s.last, s.known = next, head, s.signing.key.Public
	if s.Signed != nil {
		s.Signed(signed)
	}
	return nil
}

func rowsOf(start int64, hashes []tlog.Hash) (rows []eventstore.TreeRow) {
	for len(hashes) > 0 {
		n := min(len(hashes), eventstore.TreeRowMax)
		row := eventstore.TreeRow{Start: start, Hashes: make([]byte, 0, n*tlog.HashSize)}
		for _, h := range hashes[:n] {
			row.Hashes = append(row.Hashes, h[:]...)
		}
		rows, hashes, start = append(rows, row), hashes[n:], start+int64(n)
	}
	return rows
}

// load brings what is known up to what the log says was sealed, and checks that it is the
// same tree, grown.
func (s *Sealer) load(ctx context.Context) error {
	sealed, public, err := s.log.LastSeal(ctx)
	if err != nil {
		return err
	}
	if s.loaded && sealed.Size == s.last.Size {
		return nil
	}
	if sealed.Size < s.last.Size {
		return fmt.Errorf("%w: checkpoint %d was signed, and the newest in the log is %d", eventstore.ErrTampered, s.last.Size, sealed.Size)
	}
	if sealed.Size > 0 {
		head, err := Open(sealed.Note, public)
		if err != nil {
			return err
		}
		if head.Size != sealed.Size || head.Origin != s.origin {
			return fmt.Errorf("%w: the checkpoint for size %d is about size %d of %s", eventstore.ErrTampered, sealed.Size, head.Size, head.Origin)
		}
		if err := s.follow(ctx, head); err != nil {
			return err
		}
	}
	s.known = public
	if err := s.sign(ctx); err != nil {
		return err
	}
	s.loaded = true
	return nil
}

// follow takes over a tree that another process has signed.
func (s *Sealer) follow(ctx context.Context, head Head) error {
	reader := Hashes(ctx, s.log)
	tree, err := frontierOf(head.Size, reader)
	if err != nil {
		return err
	}
	if tree.Root() != head.Root {
		return fmt.Errorf("%w: the hashes of the tree do not add up to checkpoint %d", eventstore.ErrTampered, head.Size)
	}
	if s.last.Size > 0 {
		grown, err := tlog.ProveTree(head.Size, s.last.Size, reader)
		if err == nil {
			err = tlog.CheckTree(grown, head.Size, head.Root, s.last.Size, s.last.Root)
		}
		if err != nil {
			return fmt.Errorf("%w: checkpoint %d does not go on from checkpoint %d: %w", eventstore.ErrTampered, head.Size, s.last.Size, err)
		}
	}
	s.tree, s.last = tree, head
	return nil
}

// Hashes reads the hashes of a stored tree.
func Hashes(ctx context.Context, tree eventstore.Tree) tlog.HashReader {
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found, err := tree.TreeHashes(ctx, indexes)
		out := make([]tlog.Hash, len(found))
		for i, h := range found {
			out[i] = h
		}
		return out, err
	})
}
