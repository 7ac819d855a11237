package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/storetest"
)

const patience = 2 * time.Minute

func mustOpen(t *testing.T, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func mustExec(t *testing.T, url, sql string) {
	t.Helper()
	if err := behind(t, url, sql); err != nil {
		t.Fatal(err)
	}
}

// Transactions dawdle under the log's lock and at the commit, and
// another client of the server never ends its own. Readers of three nodes see one
// dense order all the same.
func TestOrderWithSlowTransactions(t *testing.T) {
	url := pgtest.URL(t)
	stores := []eventstore.Store{mustOpen(t, url), mustOpen(t, url), mustOpen(t, url)}
	mustExec(t, url, `
		CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF random() < 0.02 THEN PERFORM pg_sleep(random() * 0.01); END IF; RETURN NULL; END $$;
		CREATE TRIGGER under_lock_too BEFORE INSERT ON hecate_log FOR EACH STATEMENT EXECUTE FUNCTION dawdle();
		CREATE TRIGGER under_lock AFTER INSERT ON hecate_payload FOR EACH STATEMENT EXECUTE FUNCTION dawdle();
		CREATE TABLE odd (n int);
		CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON hecate_log DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION dawdle();`)
	idle, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close(context.Background())
	if _, err := idle.Exec(t.Context(), "BEGIN; INSERT INTO odd VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	storetest.Order(t, stores, stores)
}

func TestPoison(t *testing.T) {
	url := pgtest.URL(t)
	s := mustOpen(t, url)
	mustExec(t, url, `ALTER TABLE hecate_log ADD CONSTRAINT poison CHECK (stream <> 'poison')`)
	storetest.Poisoned(t, s)
}

// The connection breaks before, during or behind the server's work. In any case the
// append ends with the truth, and is in the log once.
func TestLostAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		cut      fault
		expected int64
	}{
		"behind the commit, at a version":    {loseAnswer, 0},
		"behind the commit, at any version":  {loseAnswer, eventstore.AnyVersion},
		"before the request, at a version":   {loseRequest, 0},
		"before the request, at any version": {loseRequest, eventstore.AnyVersion},
		"in the request":                     {tearRequest, eventstore.AnyVersion},
		"behind the request":                 {loseRunning, eventstore.AnyVersion},
		"in the answer":                      {tearAnswer, eventstore.AnyVersion},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			p := newProxy(t, url)
			s, direct := mustOpen(t, p.url), mustOpen(t, url)
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			p.arm("run-cut", false, c.cut)
			a, err := s.Append(ctx, storetest.To("run-cut", c.expected, storetest.NewEvents(2)...))
			if want := (eventstore.Appended{First: 1, Last: 2}); err != nil || a != want {
				t.Fatalf("append: %+v, %v, want %+v", a, err, want)
			}
			if !p.wasCut() {
				t.Fatal("the connection was not cut")
			}
			for _, s := range []*postgres.Store{s, direct} {
				if err := storetest.Follow(ctx, s, 2); err != nil {
					t.Error(err)
				}
				if head, err := s.Head(ctx); head != 2 || err != nil {
					t.Errorf("head %d, %v, want 2", head, err)
				}
			}
		})
	}
}

// The call is lost to its client and reaches the server all the same, only later than
// the look-up and the second call. It must not be carried out any more.
func TestLateCall(t *testing.T) {
	for name, expected := range map[string]int64{"at a version": 1, "at any version": eventstore.AnyVersion} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			p := newProxy(t, url)
			s := mustOpen(t, p.url)
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			if _, err := s.Append(ctx, storetest.To("run-late", 0, storetest.NewEvents(1)...)); err != nil {
				t.Fatal(err)
			}
			p.arm("run-late", false, delayRequest)
			a, err := s.Append(ctx, storetest.To("run-late", expected, storetest.NewEvents(2)...))
			if want := (eventstore.Appended{First: 2, Last: 3}); err != nil || a != want {
				t.Errorf("append: %+v, %v, want %+v", a, err, want)
			}
			p.letGo()
			<-p.late
			if head, err := s.Head(ctx); head != 3 || err != nil {
				t.Errorf("head %d, %v, want 3", head, err)
			}
		})
	}
}

// The server commits and its answer takes its time. Others see the records before their
// writer knows, and write behind them; who waits in the queue can still withdraw.
func TestLateAnswer(t *testing.T) {
	url := pgtest.URL(t)
	p := newProxy(t, url)
	s, other := mustOpen(t, p.url), mustOpen(t, url)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	p.arm("run-late", false, delayAnswer)
	var late eventstore.Appended
	var g errgroup.Group
	g.Go(func() (err error) {
		late, err = s.Append(ctx, storetest.To("run-late", 0, storetest.NewEvents(2)...))
		return err
	})
	if err := other.Wait(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if !p.holding(ctx) {
		t.Fatal("the answer was not delayed")
	}
	if a, err := other.Append(ctx, storetest.To("run-late", 2, storetest.NewEvents(1)...)); err != nil || a.First != 3 {
		t.Errorf("append behind: %+v, %v", a, err)
	}
	impatient, leave := context.WithCancel(ctx)
	g.Go(func() error {
		_, err := s.Append(impatient, storetest.To("run-queued", 0, storetest.NewEvents(1)...))
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the impatient append: %w", err)
		}
		return nil
	})
	leave()
	p.letGo()
	if err := g.Wait(); err != nil || late != (eventstore.Appended{First: 1, Last: 2}) {
		t.Errorf("append: %+v, %v, want 1 to 2", late, err)
	}
	for _, s := range []*postgres.Store{s, other} {
		if err := storetest.Follow(ctx, s, 3); err != nil {
			t.Error(err)
		}
	}
}

// The server's disk is full. A group of appends fails as one, and all goes on when
// there is room again.
func TestDiskFull(t *testing.T) {
	url := pgtest.URL(t)
	s := mustOpen(t, url)
	storetest.DiskFull(t, s, func(t *testing.T) {
		mustExec(t, url, `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
			CREATE TRIGGER full_disk AFTER INSERT ON hecate_payload FOR EACH STATEMENT EXECUTE FUNCTION full_disk();`)
	}, func(t *testing.T) { mustExec(t, url, "DROP TRIGGER full_disk ON hecate_payload") })
}

// The connection breaks and the server is gone while the outcome is looked for.
// Nobody knows what is in the log, and nobody may be told that it is.
func TestOutcomeUnknown(t *testing.T) {
	for name, faults := range map[string][]fault{
		"before the request":       {loseRequest},
		"behind the commit":        {loseAnswer},
		"the second call":          {loseRequest, loseRequest},
		"behind the second commit": {loseRequest, loseAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			p := newProxy(t, url)
			s := mustOpen(t, p.url)
			s.SettleWithin(500 * time.Millisecond)
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			p.arm("test.happened", true, faults...)
			var g errgroup.Group
			for i := range 3 {
				g.Go(func() error {
					a, err := s.Append(ctx, storetest.To(fmt.Sprintf("run-%d", i), 0, storetest.NewEvents(2)...))
					if err == nil || a != (eventstore.Appended{}) {
						return fmt.Errorf("append: %+v, %w, want an error", a, err)
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				t.Error(err)
			}
			if !p.wasCut() {
				t.Error("the connections were not cut")
			}
		})
	}
}

// The server ends all sessions. Appends, waiting readers and leases find that out
// by themselves.
func TestSessionsEnd(t *testing.T) {
	url := pgtest.URL(t)
	s, other := mustOpen(t, url), mustOpen(t, url)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	mustRegister(t, s, "w1")
	for n := range int64(3) {
		mustExec(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		if _, err := s.Append(ctx, storetest.To("run-1", n, storetest.NewEvents(1)...)); err != nil {
			t.Fatal(err)
		}
		if err := other.Wait(ctx, n); err != nil {
			t.Fatal(err)
		}
		if err := renewAgain(ctx, s, "w1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := storetest.Follow(ctx, other, 3); err != nil {
		t.Error(err)
	}
}

// An operator keeps the numbers of records that were archived from being given
// out again.
func TestFloor(t *testing.T) {
	url := pgtest.URL(t)
	mustOpen(t, url)
	mustExec(t, url, "UPDATE hecate_log_state SET floor = 1000")
	s := mustOpen(t, url)
	a, err := s.Append(t.Context(), storetest.To("run-1", 0, storetest.NewEvents(1)...))
	if err != nil || a.First != 1001 {
		t.Errorf("appended at %+v, %v, want 1001", a, err)
	}
}

// What a node remembers of a stream is out of date. It must neither write on the
// strength of it nor report it.
func TestStaleMemory(t *testing.T) {
	url := pgtest.URL(t)
	a, b := mustOpen(t, url), mustOpen(t, url)
	append1 := func(s *postgres.Store, batch eventstore.Batch) error {
		_, err := s.Append(t.Context(), batch)
		return err
	}
	events := storetest.NewEvents
	if err := append1(a, storetest.To("run-1", 0, events(1)...)); err != nil {
		t.Fatal(err)
	}
	if err := append1(b, storetest.To("run-1", 1, events(2)...)); err != nil { // a remembers 1
		t.Fatal(err)
	}
	var conflict *eventstore.ConflictError
	if err := append1(a, storetest.To("run-1", 1, events(1)...)); !errors.As(err, &conflict) || conflict.Actual != 3 {
		t.Errorf("an old version: %v, want a conflict with version 3", err)
	}
	if err := append1(b, storetest.To("run-1", 3, events(1)...)); err != nil { // a remembers 1 or 3
		t.Fatal(err)
	}
	if err := append1(a, storetest.To("run-1", eventstore.AnyVersion, events(1)...)); err != nil {
		t.Errorf("any version: %v", err)
	}
	if err := append1(b, storetest.To("run-1", 5, events(1)...)); err != nil { // b remembers 4
		t.Errorf("a newer version than remembered: %v", err)
	}
	if err := storetest.Follow(t.Context(), a, 6); err != nil {
		t.Error(err)
	}
}
