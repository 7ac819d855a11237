package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/storetest"
	"hecate/migrations"
)

func mustRegister(t *testing.T, s *postgres.Store, instances ...string) {
	t.Helper()
	for _, i := range instances {
		if err := s.Register(t.Context(), eventstore.Worker{Instance: i, Node: "node-" + i, TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
}

func mustOpenWork(t *testing.T, s *postgres.Store, streams ...string) {
	t.Helper()
	for _, stream := range streams {
		b := storetest.To(stream, eventstore.AnyVersion, storetest.NewEvents(1)...)
		b.Streams[0].Work = eventstore.WorkOpen
		if _, err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
}

func mustClaim(t *testing.T, s *postgres.Store, instance, stream string) int64 {
	t.Helper()
	epoch, err := s.Claim(t.Context(), instance, stream, 0)
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}

func under(stream string, epoch int64) eventstore.Batch {
	b := storetest.To(stream, eventstore.AnyVersion, storetest.NewEvents(1)...)
	b.Streams[0].Epoch = epoch
	return b
}

// behindTx begins a transaction as any other client would.
func behindTx(t *testing.T, url, sql string) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	return tx
}

const takeLogLock = `SELECT pg_advisory_xact_lock(hashtextextended('hecate_log', 0))`

// awaitWaiting returns when so many sessions of the database wait for a lock.
func awaitWaiting(ctx context.Context, t *testing.T, url string, sessions int) {
	t.Helper()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for waiting := 0; waiting < sessions; {
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Appends and claims wait for the log's lock, readers for a table. Renewals don't.
func TestRenewWhileAllElseWaits(t *testing.T) {
	url := pgtest.URL(t)
	s, err := postgres.Open(t.Context(), postgres.Options{URL: url, ReadersMax: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	mustRegister(t, s, "w1")
	const claims = 6
	for i := range claims {
		mustOpenWork(t, s, fmt.Sprintf("run-%d", i))
	}
	tx := behindTx(t, url, takeLogLock+"; LOCK TABLE hecate_payload")
	var g errgroup.Group
	for i := range claims {
		g.Go(func() error {
			_, err := s.Claim(ctx, "w1", fmt.Sprintf("run-%d", i), 0)
			return err
		})
		g.Go(func() error {
			_, err := s.Append(ctx, storetest.To(fmt.Sprintf("run-%d", i), 1, storetest.NewEvents(1)...))
			return err
		})
		g.Go(func() error {
			_, err := s.ReadStream(ctx, "run-1", 0, 1)
			return err
		})
	}
	awaitWaiting(ctx, t, url, 3+1+1) // all for claims, the appender, the reader
	for range 3 {
		if err := s.Renew(ctx, "w1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A claim waits for the log's lock. What counts is whose leases hold when it gets it.
func TestClaimJudgesUnderTheLock(t *testing.T) {
	for name, c := range map[string]struct {
		lost string // whose lease runs out meanwhile
		want error
	}{
		"the claimer's lease is lost": {"heir", eventstore.ErrLeaseLost},
		"the holder's lease is lost":  {"holder", nil},
		"all hold":                    {"nobody", eventstore.ErrClaimed},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			s := mustOpen(t, url)
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			mustOpenWork(t, s, "run-1")
			mustRegister(t, s, "holder", "heir")
			mustClaim(t, s, "holder", "run-1")
			tx := behindTx(t, url, takeLogLock)
			answer := make(chan error, 1)
			go func() {
				_, err := s.Claim(ctx, "heir", "run-1", 0)
				answer <- err
			}()
			awaitWaiting(ctx, t, url, 1)
			mustExec(t, url, fmt.Sprintf("UPDATE hecate_workers SET expires_at = clock_timestamp() WHERE instance = '%s'", c.lost))
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			if err := <-answer; !errors.Is(err, c.want) {
				t.Errorf("claim: %v, want %v", err, c.want)
			}
		})
	}
}

// An append waits for the log's lock, whose holder takes its stream over. What it had
// known before does not help it.
func TestFenceIsLookedUpUnderTheLock(t *testing.T) {
	for name, expected := range map[string]int64{"at a version": 1, "at any version": eventstore.AnyVersion} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			s := mustOpen(t, url)
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			mustOpenWork(t, s, "run-1")
			mustRegister(t, s, "w1")
			b := under("run-1", mustClaim(t, s, "w1", "run-1"))
			b.Streams[0].Expected = expected
			tx := behindTx(t, url, takeLogLock+"; UPDATE hecate_open_work SET owner = 'w2', epoch = epoch + 1")
			answer := make(chan error, 1)
			go func() {
				_, err := s.Append(ctx, b)
				answer <- err
			}()
			awaitWaiting(ctx, t, url, 1)
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			var fenced *eventstore.FencedError
			if err := <-answer; !errors.As(err, &fenced) {
				t.Errorf("append: %v, want that the claim has ended", err)
			}
		})
	}
}

// The holder's renewal is under way when somebody finds that its lease has run out:
// the renewal counts if it began in time, and else the claim does.
func TestClaimAwaitsRenewal(t *testing.T) {
	url := pgtest.URL(t)
	s := mustOpen(t, url)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	mustRegister(t, s, "holder", "heir")
	for name, renewed := range map[string]bool{"renewed": true, "not renewed": false} {
		mustOpenWork(t, s, name)
		mustRegister(t, s, "holder")
		epoch := mustClaim(t, s, "holder", name)
		mustExec(t, url, "UPDATE hecate_workers SET expires_at = clock_timestamp() WHERE instance = 'holder'")
		tx := behindTx(t, url, "UPDATE hecate_workers SET expires_at = clock_timestamp() + ttl WHERE instance = 'holder'")
		answer := make(chan error, 1)
		go func() {
			_, err := s.Claim(ctx, "heir", name, 0)
			answer <- err
		}()
		awaitWaiting(ctx, t, url, 1)
		end, want := tx.Rollback, error(nil)
		if renewed {
			end, want = tx.Commit, eventstore.ErrClaimed
		}
		if err := end(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-answer; !errors.Is(err, want) {
			t.Errorf("%s: claim: %v, want %v", name, err, want)
		}
		if _, err := s.Append(ctx, under(name, epoch)); (err == nil) != renewed {
			t.Errorf("%s: append by the holder: %v", name, err)
		}
	}
}

// The answer to a claim is lost, or the call arrives late. The worker asks again and
// has the stream, and nothing happens behind its back.
func TestLostClaim(t *testing.T) {
	for name, f := range map[string]fault{"lost on the way": loseRequest, "answer lost": loseAnswer, "late": delayRequest, "answer late": delayAnswer} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			p := newProxy(t, url)
			s := mustOpen(t, p.url)
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			mustOpenWork(t, s, "run-1", "run-late")
			mustRegister(t, s, "w1", "w2")
			mustClaim(t, s, "w1", "run-1")
			p.arm("run-late", false, f)
			once, cancel := context.WithCancel(ctx)
			go func() {
				if p.holding(ctx) {
					cancel() // the caller waits no longer
				}
			}()
			if _, err := s.Claim(once, "w1", "run-late", 0); err == nil {
				t.Fatal("the claim was answered")
			}
			cancel()
			epoch := mustClaim(t, s, "w1", "run-late")
			p.letGo()
			if _, err := s.Append(ctx, under("run-late", epoch)); err != nil {
				t.Error(err)
			}
			if _, err := s.Claim(ctx, "w2", "run-late", 0); !errors.Is(err, eventstore.ErrClaimed) {
				t.Errorf("claim by another: %v, want ErrClaimed", err)
			}
		})
	}
}

// Two nodes write under claims while the server crashes. What was acknowledged is
// there, claims and leases hold, and no epoch is given out twice.
func TestServerCrash(t *testing.T) {
	url := pgtest.URL(t)
	nodes := []*postgres.Store{mustOpen(t, url), mustOpen(t, url)}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	epochs := make([]int64, 4)
	for i := range epochs {
		name := fmt.Sprintf("%d", i)
		mustOpenWork(t, nodes[0], "run-"+name)
		mustRegister(t, nodes[i%2], "w-"+name)
		epochs[i] = mustClaim(t, nodes[i%2], "w-"+name, "run-"+name)
	}
	if err := nodes[0].PutProgress(ctx, "run-0", "half", 1); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	written, begun := make([]int64, len(epochs)), make(chan struct{}, len(epochs))
	var g errgroup.Group
	for i, epoch := range epochs {
		g.Go(func() error {
			for version := int64(1); ; version++ {
				b := under(fmt.Sprintf("run-%d", i), epoch)
				b.Streams[0].Expected = version
				if _, err := nodes[i%2].Append(ctx, b); err != nil {
					return fmt.Errorf("append: %w", err)
				}
				written[i] = version + 1
				select {
				case begun <- struct{}{}:
				case <-done:
					return nil
				default:
				}
			}
		})
	}
	for range epochs {
		<-begun
	}
	pgtest.Crash(t)
	for i := range epochs {
		if err := renewAgain(ctx, nodes[i%2], fmt.Sprintf("w-%d", i)); err != nil {
			t.Error(err)
		}
	}
	close(done)
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	next := mustClaim(t, nodes[0], "w-0", "run-0") // without a second try
	if next <= epochs[3] {
		t.Errorf("epoch %d after %d", next, epochs[3])
	}
	total := int64(0)
	for i, want := range written {
		records, err := nodes[0].ReadStream(ctx, fmt.Sprintf("run-%d", i), 0, 1<<20)
		if err != nil || int64(len(records)) != want {
			t.Errorf("run-%d: %d events, %v, want %d", i, len(records), err, want)
		}
		total += want
	}
	if err := storetest.Follow(ctx, nodes[1], total); err != nil {
		t.Error(err)
	}
	if text, version, err := nodes[1].Progress(ctx, "run-0"); text != "" || version != 0 || err != nil {
		t.Errorf("progress after the crash: %q, %d, %v", text, version, err)
	}
}

// renewAgain renews until the server answers.
func renewAgain(ctx context.Context, s *postgres.Store, instance string) error {
	for {
		err := s.Renew(ctx, instance)
		if err == nil || errors.Is(err, eventstore.ErrLeaseLost) || ctx.Err() != nil {
			return err
		}
	}
}

// What a node remembers of a stream is out of date, and the claim it writes under has
// ended. The append was carried out before: that is what it must be told.
func TestStaleMemoryUnderClaim(t *testing.T) {
	url := pgtest.URL(t)
	a, b := mustOpen(t, url), mustOpen(t, url)
	mustOpenWork(t, a, "run-1") // a remembers 1
	mustRegister(t, a, "w1")
	last := under("run-1", mustClaim(t, a, "w1", "run-1"))
	last.Streams[0].Expected, last.Streams[0].Work = 1, eventstore.WorkClose
	if _, err := b.Append(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Append(t.Context(), last); err != nil || got != (eventstore.Appended{First: 2, Last: 2, Repeated: true}) {
		t.Errorf("the same events again: %+v, %v, want 2, repeated", got, err)
	}
	other := under("run-1", last.Streams[0].Epoch)
	other.Streams[0].Expected = 1
	var conflict *eventstore.ConflictError
	if _, err := a.Append(t.Context(), other); !errors.As(err, &conflict) || conflict.Actual != 2 {
		t.Errorf("other events: %v, want a conflict with version 2", err)
	}
}

func TestProgress(t *testing.T) {
	url := pgtest.URL(t)
	a, b := mustOpen(t, url), mustOpen(t, url)
	want := func(runID, text string, version int64) {
		t.Helper()
		gotText, gotVersion, err := b.Progress(t.Context(), runID)
		if gotText != text || gotVersion != version || err != nil {
			t.Errorf("%s: %q, %d, %v, want %q, %d", runID, gotText, gotVersion, err, text, version)
		}
	}
	want("run-1", "", 0)
	for version, text := range []string{"", "a\x00b\xff", "a\x00b\xffc", "x"} {
		if err := a.PutProgress(t.Context(), "run-1", text, int64(version)+1); err != nil {
			t.Fatal(err)
		}
		want("run-1", text, int64(version)+1)
	}
	if err := b.PutProgress(t.Context(), "run-1", "anew", 1); err != nil { // after a takeover
		t.Fatal(err)
	}
	want("run-1", "anew", 1)
	want("run-2", "", 0)
	if all, err := a.ProgressVersions(t.Context()); err != nil || len(all) != 1 || all["run-1"] != 1 {
		t.Errorf("all that is shown: %v, %v", all, err)
	}
	for range 2 {
		if err := a.DropProgress(t.Context(), "run-1"); err != nil {
			t.Fatal(err)
		}
		want("run-1", "", 0)
	}
}

// A log that an earlier build made, with work in it, can be claimed.
func TestUpgrade(t *testing.T) {
	url := pgtest.URL(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	old := migrations.Set{Name: "log", Files: fstest.MapFS{}}
	for _, name := range []string{"0001_log.sql", "0002_append.sql"} {
		sql, err := fs.ReadFile(migrations.PostgresLog().Files, name)
		if err != nil {
			t.Fatal(err)
		}
		old.Files.(fstest.MapFS)[name] = &fstest.MapFile{Data: sql}
	}
	if err := migrations.Postgres(t.Context(), conn, old, ""); err != nil {
		t.Fatal(err)
	}
	mustExec(t, url, "INSERT INTO hecate_open_work VALUES ('run-1', 7)")
	s := mustOpen(t, url)
	mustRegister(t, s, "w1")
	if _, err := s.Append(t.Context(), under("run-1", mustClaim(t, s, "w1", "run-1"))); err != nil {
		t.Error(err)
	}
}
