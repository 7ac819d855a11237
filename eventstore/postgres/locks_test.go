package postgres_test

import (
	"context"
	"errors"
	"testing"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
)

var (
	mine   = eventstore.Holder{Run: "run-1", Call: "call-1"}
	theirs = eventstore.Holder{Run: "run-2", Call: "call-1"}
)

func mustTake(t *testing.T, s *postgres.Store, instance string, h eventstore.Holder, names ...string) {
	t.Helper()
	if err := s.TakeLocks(t.Context(), instance, h, names); err != nil {
		t.Fatal(err)
	}
}

func isLocked(err error, by eventstore.Holder) bool {
	var locked *eventstore.LockedError
	return errors.As(err, &locked) && locked.By == by
}

// Whoever has the log's lock does not hold up those who take locks, and they don't hold
// up appends.
func TestLocksWhileAppendsWait(t *testing.T) {
	url := pgtest.URL(t)
	s := mustOpen(t, url)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	mustOpenWork(t, s, "run-1")
	mustRegister(t, s, "w1")
	tx := behindTx(t, url, takeLogLock)
	mustTake(t, s, "w1", mine, "db")
	if err := s.TakeLocks(ctx, "w1", theirs, []string{"db"}); !isLocked(err, mine) {
		t.Errorf("take: %v, want that it is locked", err)
	}
	if err := s.DropLocks(ctx, mine); err != nil {
		t.Error(err)
	}
	if all, err := s.HeldLocks(ctx); len(all) > 0 || err != nil {
		t.Errorf("held: %v, %v", all, err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}

	tx = behindTx(t, url, `SELECT pg_advisory_xact_lock(hashtextextended('hecate_locks', 0))`)
	taken := make(chan error, 1)
	go func() { taken <- s.TakeLocks(ctx, "w1", mine, []string{"db"}) }()
	awaitWaiting(ctx, t, url, 1)
	if _, err := s.Append(ctx, under("run-1", mustClaim(t, s, "w1", "run-1"))); err != nil {
		t.Error(err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-taken; err != nil {
		t.Error(err)
	}
}

// The holder's renewal is under way when somebody finds that its lease has run out: it
// counts if it began in time, and else the locks are free.
func TestLocksAwaitRenewal(t *testing.T) {
	url := pgtest.URL(t)
	s := mustOpen(t, url)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for name, renewed := range map[string]bool{"renewed": true, "not renewed": false} {
		mustRegister(t, s, "holder", "heir")
		mustTake(t, s, "holder", mine, "db")
		mustExec(t, url, "UPDATE hecate_workers SET expires_at = clock_timestamp() WHERE instance = 'holder'")
		tx := behindTx(t, url, "UPDATE hecate_workers SET expires_at = clock_timestamp() + ttl WHERE instance = 'holder'")
		answer := make(chan error, 1)
		go func() { answer <- s.TakeLocks(ctx, "heir", theirs, []string{"db"}) }()
		awaitWaiting(ctx, t, url, 1)
		end := tx.Rollback
		if renewed {
			end = tx.Commit
		}
		if err := end(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-answer; isLocked(err, mine) != renewed || err != nil && !renewed {
			t.Errorf("%s: take: %v", name, err)
		}
	}
}

// What counts is whose leases hold when it is one's turn.
func TestLocksJudgeInTurn(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile string
		want      func(error) bool
	}{
		"the taker's lease is lost": {
			"UPDATE hecate_workers SET expires_at = clock_timestamp() WHERE instance = 'taker'",
			func(err error) bool { return errors.Is(err, eventstore.ErrLeaseLost) },
		},
		"the holder is released": {
			"SELECT hecate_release('holder')",
			func(err error) bool { return err == nil },
		},
		"the holder's node is back": {
			"SELECT hecate_register('another', 'node-holder', '{}', '1 hour')",
			func(err error) bool { return err == nil },
		},
		"all hold": {"SELECT 1", func(err error) bool { return isLocked(err, theirs) }},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			s := mustOpen(t, url)
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			mustRegister(t, s, "holder", "taker")
			mustTake(t, s, "holder", theirs, "db")
			tx := behindTx(t, url, takeLogLock+`; SELECT pg_advisory_xact_lock(hashtextextended('hecate_locks', 0))`)
			answer := make(chan error, 1)
			go func() { answer <- s.TakeLocks(ctx, "taker", mine, []string{"db"}) }()
			awaitWaiting(ctx, t, url, 1)
			if _, err := tx.Exec(ctx, c.meanwhile); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			if err := <-answer; !c.want(err) {
				t.Errorf("take: %v", err)
			}
		})
	}
}

// Leases end while a run gives its locks back, and each meets the rows in another order.
func TestDropLocksInTurn(t *testing.T) {
	url := pgtest.URL(t)
	s := mustOpen(t, url)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	mustRegister(t, s, "w1", "w2")
	mustTake(t, s, "w1", mine, "a")
	mustTake(t, s, "w2", mine, "b")
	tx := behindTx(t, url, takeLogLock+`; SELECT hecate_release('w2')`)
	dropped := make(chan error, 1)
	go func() { dropped <- s.DropRunLocks(ctx, mine.Run) }()
	awaitWaiting(ctx, t, url, 1)
	if _, err := tx.Exec(ctx, `SELECT hecate_release('w1')`); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
	if err := <-dropped; err != nil {
		t.Error(err)
	}
}

// The answer to a take is lost, or the call arrives late. The holder gives back what it
// may have, and nothing is taken behind its back.
func TestLostTake(t *testing.T) {
	for name, f := range map[string]fault{"lost on the way": loseRequest, "answer lost": loseAnswer, "late": delayRequest, "answer late": delayAnswer} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			p := newProxy(t, url)
			s := mustOpen(t, p.url)
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			mustRegister(t, s, "w1", "w2")
			mustTake(t, s, "w1", mine, "net")
			p.arm("db-late", false, f)
			once, cancel := context.WithCancel(ctx)
			go func() {
				if p.holding(ctx) {
					cancel() // the caller waits no longer
				}
			}()
			if err := s.TakeLocks(once, "w1", mine, []string{"db-late"}); err == nil {
				t.Fatal("the take was answered")
			}
			cancel()
			if err := s.DropLocks(ctx, mine); err != nil {
				t.Fatal(err)
			}
			p.letGo()
			mustTake(t, s, "w2", theirs, "net", "db-late")
			if all, err := s.HeldLocks(ctx); len(all) != 2 || err != nil {
				t.Errorf("held: %v, %v, want two", all, err)
			}
		})
	}
}

// Locks are as safe as the leases: a crash of the server takes neither.
func TestLocksOutliveACrash(t *testing.T) {
	s := mustOpen(t, pgtest.URL(t))
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	mustRegister(t, s, "w1", "w2")
	mustTake(t, s, "w1", mine, "db")
	pgtest.Crash(t)
	if err := renewAgain(ctx, s, "w2"); err != nil {
		t.Fatal(err)
	}
	if err := s.TakeLocks(ctx, "w2", theirs, []string{"db"}); !isLocked(err, mine) {
		t.Errorf("take: %v, want that it is locked", err)
	}
}
