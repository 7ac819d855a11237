// Package forward carries the log out of the process: to brokers, and to whoever wants
// to be called.
//
// A Sender follows the log through the relay from a checkpoint of its own and gives what
// it reads to a Sink. The checkpoint moves after the sink is done, so what is sent is sent
// at least once and in order; what is sent again has the same id. Of several processes one
// sends, under a lease. A sink that fails is tried again after a pause that grows up to a
// bound, and keeps nobody else waiting.
//
// Events is the sink that publishes the public events, through any Publisher of
// Watermill; forward/jetstream and forward/kafka are those for the brokers.
package forward

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hecate/eventstore"
	"hecate/eventstore/relay"
	"hecate/projections/readdb"
)

const (
	batchRecords = 256 // read from the log at a time
	retryFirst   = 500 * time.Millisecond
	retryMax     = 30 * time.Second
	settleMax    = 3 * time.Second // how long writing the checkpoint may take when the process ends
)

// Log is what a Sender needs of the log.
type Log interface {
	relay.Log
	Head(ctx context.Context) (int64, error)
	LogID(ctx context.Context) (string, error)
}

// Sink is where records go. It is used by one goroutine at a time.
type Sink interface {
	// Send hands on what matters of the records, in order. It returns how many of them it is
	// done with; after an error the others are given to it again, after a pause. The error
	// may have a method RetryAfter() time.Duration that asks for a longer one.
	Send(ctx context.Context, records []eventstore.Record) (Done, error)
}

// Done is what a sink has done with records.
type Done struct {
	Records  int // of those it was given, from the first one on
	Messages int // that were accepted on the other side
	GivenUp  int // that were not, and are not tried again
}

// Config says what goes where.
type Config struct {
	Name    string // of the target, without credentials; the checkpoint is kept under it
	FromNow bool   // without a checkpoint, begin behind the newest event instead of at the first one
	Log     Log
	DB      *readdb.DB // keeps the checkpoint
	Owner   string     // this process, another one after each start
	Logger  *slog.Logger

	RetryFirst, RetryMax time.Duration // the pauses after failures; half a second and 30 s if zero
	LeaseTTL             time.Duration // after which others take over from a process that died; 15 s if zero
}

// Status is where a Sender stands.
type Status struct {
	Name     string
	Position int64  // everything up to here was sent
	Lag      int64  // records of the log after that
	Messages int64  // sent by this process
	GivenUp  int64  // by this process
	Trouble  string // why nothing is sent at the moment, or why the last message was given up; "" if all is well
}

// Sender moves the log into a sink. Run and Status may be called concurrently.
type Sender struct {
	c      Config
	sink   Sink
	cursor *cursor
	lease  lease

	mu      sync.Mutex
	status  Status
	gaveUp  bool // Trouble is about a message that was given up
	sending bool // this process has the lease
}

// New finds the checkpoint, or makes it. Nothing is sent before Run.
func New(ctx context.Context, c Config, sink Sink) (*Sender, error) {
	if c.RetryFirst <= 0 {
		c.RetryFirst = retryFirst
	}
	if c.RetryMax <= 0 {
		c.RetryMax = retryMax
	}
	if c.LeaseTTL <= 0 {
		c.LeaseTTL = leaseTTL
	}
	id, err := c.Log.LogID(ctx)
	if err != nil {
		return nil, err
	}
	s := &Sender{
		c: c, sink: sink, status: Status{Name: c.Name},
		cursor: &cursor{db: c.DB, log: c.Log, name: c.Name, logID: id, fromNow: c.FromNow},
		lease:  lease{db: c.DB, name: c.Name, owner: c.Owner, ttl: c.LeaseTTL},
	}
	at, reason, err := s.cursor.load(ctx)
	if err != nil {
		return nil, err
	}
	if reason != "" {
		c.Logger.Info("sending from a fresh checkpoint", "target", c.Name, "after", at, "reason", reason)
	}
	return s, nil
}

// Run sends until ctx ends. What goes wrong is logged, shown by Status and tried again; it
// returns no error.
func (s *Sender) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		held, err := s.lease.take(ctx)
		if held {
			err = s.own(ctx)
		}
		if err != nil {
			s.failed(ctx, err)
		}
		wait(ctx, s.c.LeaseTTL/leaseParts)
	}
	return nil
}

// own sends while the lease holds.
func (s *Sender) own(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.owns(true)
	var keeping sync.WaitGroup
	keeping.Go(func() {
		defer stop()
		s.lease.keep(ctx)
	})
	err := s.follow(ctx)
	stop()
	keeping.Wait()
	s.owns(false)
	settling, settled := context.WithTimeout(context.WithoutCancel(ctx), settleMax)
	defer settled()
	return errors.Join(err, s.lease.drop(settling))
}

func (s *Sender) follow(ctx context.Context) error {
	source := relay.New(s.c.Log, s.checkpoint, relay.Options{BatchMax: batchRecords})
	messages, err := source.Subscribe(ctx, s.c.Name)
	if err != nil {
		return err
	}
	for m := range messages {
		records, _ := relay.Batch(m)
		if err := s.deliver(ctx, records); err != nil {
			s.failed(ctx, err)
			m.Nack()
			continue
		}
		m.Ack()
	}
	settling, settled := context.WithTimeout(context.WithoutCancel(ctx), settleMax)
	defer settled()
	return errors.Join(source.Close(), s.cursor.save(settling))
}

// checkpoint is where the relay goes on.
func (s *Sender) checkpoint(ctx context.Context, _ string) (int64, error) {
	at, _, err := s.cursor.load(ctx)
	if err != nil {
		s.failed(ctx, err)
	}
	return at, err
}

// deliver gives records to the sink until it has taken all, or returns an error if the
// checkpoint cannot be moved or ctx ends.
func (s *Sender) deliver(ctx context.Context, records []eventstore.Record) error {
	pause := s.c.RetryFirst
	for {
		done, err := s.sink.Send(ctx, records)
		s.count(done, err) // before the position shows that it is done
		if err != nil {
			s.failed(ctx, err)
		}
		if done.Records > 0 {
			acted := done.Messages+done.GivenUp > 0
			if err := s.cursor.move(ctx, records[done.Records-1], acted); err != nil {
				return err
			}
			records, pause = records[done.Records:], s.c.RetryFirst
		}
		if len(records) == 0 {
			return nil
		}
		if err != nil {
			wait(ctx, max(pause, asked(err)))
			pause = min(2*pause, s.c.RetryMax)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// asked is how long the other side wants to be left alone, as far as that is bearable.
func asked(err error) time.Duration {
	var later interface{ RetryAfter() time.Duration }
	if errors.As(err, &later) {
		return min(later.RetryAfter(), time.Minute)
	}
	return 0
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
