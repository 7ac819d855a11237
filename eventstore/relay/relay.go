// Package relay brings the log to Watermill.
//
// Its Subscriber reads the log by position and delivers what it reads as messages
// that each carry a batch of records. The order is the log's, nothing is kept in
// between, and a message that is lost or refused is read again: the log is the
// queue. Projections and forwarders are ordinary router handlers on it.
package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"hecate/eventstore"
)

const (
	batchMaxDefault = 512
	pauseMin        = 10 * time.Millisecond // before the first repetition
	pauseMax        = 2 * time.Second       // each further one waits twice as long, up to this
)

// Log is what the relay needs of an eventstore.Store.
type Log interface {
	ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error)
	Wait(ctx context.Context, after int64) error
}

// Checkpoint returns the position behind which a topic goes on. It is asked when a
// subscription begins and after every Nack, so it should come from where the
// topic's reader keeps it, in the transaction with its rows.
type Checkpoint func(ctx context.Context, topic string) (position int64, err error)

// Options tune a Subscriber. The zero value is fine.
type Options struct {
	BatchMax int                     // records in one message, 512 if zero
	Logger   watermill.LoggerAdapter // nil for none
}

// Subscriber is a Watermill subscriber over a log. Topics are names for readers:
// all of them get the whole log, each from its own checkpoint.
type Subscriber struct {
	log        Log
	checkpoint Checkpoint
	batchMax   int
	logger     watermill.LoggerAdapter

	mu      sync.Mutex
	closed  bool
	stops   []context.CancelFunc // one for each subscription
	running sync.WaitGroup
}

var _ message.Subscriber = (*Subscriber)(nil)

// New returns a Subscriber that reads log.
func New(log Log, checkpoint Checkpoint, o Options) *Subscriber {
	s := &Subscriber{log: log, checkpoint: checkpoint, batchMax: o.BatchMax, logger: o.Logger}
	if s.batchMax <= 0 {
		s.batchMax = batchMaxDefault
	}
	if s.logger == nil {
		s.logger = watermill.NopLogger{}
	}
	return s
}

// Subscribe delivers the log behind the topic's checkpoint, for as long as ctx
// lives, the log is open and Close is not called; then the channel is closed. The next message
// comes after the Ack of the one before. After a Nack the same records are read
// again, from wherever the checkpoint is by then, after a short pause.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("subscribe: the relay is closed")
	}
	out := make(chan *message.Message)
	ctx, stop := context.WithCancel(ctx)
	s.stops = append(s.stops, stop)
	s.running.Go(func() {
		defer close(out)
		defer stop()
		t := &reader{Subscriber: s, topic: topic, out: out}
		t.run(ctx)
	})
	return out, nil
}

// Close ends all subscriptions and returns when they are over.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, stop := range s.stops {
		stop()
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

type batchKey struct{}

// Batch returns the records that a message carries: contiguous, in order, never
// empty. They are shared with other readers, so nobody may change them. ok is
// false for a message that does not come from a relay.
func Batch(msg *message.Message) (records []eventstore.Record, ok bool) {
	records, ok = msg.Context().Value(batchKey{}).([]eventstore.Record)
	return records, ok
}
