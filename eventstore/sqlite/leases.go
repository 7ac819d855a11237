package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hecate/domain/clock"
	"hecate/eventstore"
)

// epochBits is how many bits of an epoch count the claims since the log was opened;
// those above count how often it was opened. The latter is on disk before anything is
// claimed, so epochs grow over restarts although claims are not written down.
const epochBits = 32

// pageMin is how many open streams are looked at together.
const pageMin = 256

// Register begins the lease of a worker, see eventstore.Leases.
func (s *Store) Register(ctx context.Context, w eventstore.Worker) error {
	if err := w.Validate(); err != nil {
		return fmt.Errorf("register worker: %w", err)
	}
	return s.ordered(ctx, func() { s.leases.Register(w) })
}

// Renew makes the instance's lease hold for its TTL from now.
func (s *Store) Renew(ctx context.Context, instance string) error {
	if err := s.alive(ctx); err != nil {
		return err
	}
	return s.leases.Renew(instance)
}

// Release ends the lease and all claims and locks of the instance.
func (s *Store) Release(ctx context.Context, instance string) error {
	return s.ordered(ctx, func() { s.leases.Release(instance) })
}

// Unclaim gives one stream back.
func (s *Store) Unclaim(ctx context.Context, instance, stream string) error {
	return s.ordered(ctx, func() { s.leases.Unclaim(instance, stream) })
}

// Claim takes an open stream for the instance, see eventstore.Leases.
func (s *Store) Claim(ctx context.Context, instance, stream string, claimsMax int) (epoch int64, err error) {
	orderErr := s.ordered(ctx, func() {
		var open bool
		if open, err = s.isOpen(ctx, stream); err == nil {
			epoch, err = s.leases.Claim(instance, stream, open, claimsMax)
		}
	})
	return epoch, errors.Join(orderErr, err)
}

// ordered does something to the claims while no append is under way.
func (s *Store) ordered(ctx context.Context, do func()) error {
	s.leases.Order.Lock()
	defer s.leases.Order.Unlock()
	if err := s.alive(ctx); err != nil {
		return err
	}
	do()
	return nil
}

func (s *Store) isOpen(ctx context.Context, stream string) (bool, error) {
	var one int
	err := s.reads.isOpen.QueryRowContext(ctx, stream).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up open work of %s: %w", stream, s.closedOr(err))
	}
	return true, nil
}

// Claimable returns open streams that no live worker holds, oldest mark first.
func (s *Store) Claimable(ctx context.Context, after int64, limit int) ([]eventstore.OpenStream, error) {
	var out []eventstore.OpenStream
	for size := max(limit, pageMin); len(out) < limit; {
		page, err := s.OpenWork(ctx, after, size)
		if err != nil {
			return nil, err
		}
		for _, o := range page {
			if len(out) < limit && !s.leases.Held(o.Stream) {
				out = append(out, o)
			}
		}
		if len(page) < size {
			break
		}
		after = page[len(page)-1].Since
	}
	return out, s.alive(ctx)
}

// Workers returns the workers whose leases hold, by node.
func (s *Store) Workers(ctx context.Context) ([]eventstore.LiveWorker, error) {
	if err := s.alive(ctx); err != nil {
		return nil, err
	}
	return s.leases.Workers(), nil
}

// WorkStats counts the open work.
func (s *Store) WorkStats(ctx context.Context) (stats eventstore.WorkStats, err error) {
	orderErr := s.ordered(ctx, func() { stats, err = s.workStats(ctx) })
	return stats, errors.Join(orderErr, err)
}

func (s *Store) workStats(ctx context.Context) (stats eventstore.WorkStats, err error) {
	var open int
	if err := s.reads.countOpen.QueryRowContext(ctx).Scan(&open); err != nil {
		return stats, fmt.Errorf("count open work: %w", s.closedOr(err))
	}
	stats.Claimed, stats.OldestClaimed = s.leases.Claims()
	stats.Waiting = open - stats.Claimed
	oldest, err := s.Claimable(ctx, 0, 1)
	if err != nil || len(oldest) == 0 {
		return stats, err
	}
	var micros int64
	if err := s.reads.at.QueryRowContext(ctx, oldest[0].Since).Scan(&micros); err != nil {
		return stats, fmt.Errorf("read when %s was opened: %w", oldest[0].Stream, s.closedOr(err))
	}
	stats.OldestWaiting = max(0, clock.System{}.Now().Sub(time.UnixMicro(micros)))
	return stats, nil
}
