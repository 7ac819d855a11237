package relay_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"hecate/eventstore"
	"hecate/eventstore/relay"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 2 * time.Minute

func newStore(t *testing.T, events int) eventstore.Store {
	t.Helper()
	s, err := sqlite.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	appendEvents(t, s, events)
	return s
}

func appendEvents(t *testing.T, s eventstore.Store, n int) {
	t.Helper()
	for range n {
		if _, err := s.Append(t.Context(), storetest.To("run-1", eventstore.AnyVersion, storetest.NewEvents(1)...)); err != nil {
			t.Fatal(err)
		}
	}
}

func fromStart(context.Context, string) (int64, error) { return 0, nil }

// receive returns the next message, or fails the test.
func receive(t *testing.T, messages <-chan *message.Message) (*message.Message, []eventstore.Record) {
	t.Helper()
	select {
	case msg, ok := <-messages:
		if !ok {
			t.Fatal("the subscription is over")
		}
		batch, ok := relay.Batch(msg)
		if !ok {
			t.Fatal("a message without records")
		}
		return msg, batch
	case <-time.After(patience):
		t.Fatal("no message")
		return nil, nil
	}
}

func positions(batch []eventstore.Record) string {
	return fmt.Sprintf("%d-%d (%d)", batch[0].Position, batch[len(batch)-1].Position, len(batch))
}

func want(t *testing.T, batch []eventstore.Record, expected string) {
	t.Helper()
	if got := positions(batch); got != expected {
		t.Errorf("received %s, want %s", got, expected)
	}
}

func TestBatchesFollowEachOther(t *testing.T) {
	store := newStore(t, 5)
	checkpoint := func(_ context.Context, topic string) (int64, error) {
		return map[string]int64{"runs": 1}[topic], nil
	}
	s := relay.New(store, checkpoint, relay.Options{BatchMax: 3})
	defer s.Close()
	messages, err := s.Subscribe(t.Context(), "runs")
	if err != nil {
		t.Fatal(err)
	}
	msg, batch := receive(t, messages)
	want(t, batch, "2-4 (3)")
	select {
	case <-messages:
		t.Error("a second message before the Ack of the first")
	default:
	}
	msg.Ack()
	msg, batch = receive(t, messages)
	want(t, batch, "5-5 (1)")
	msg.Ack()
	appendEvents(t, store, 1) // wakes the subscription
	msg, batch = receive(t, messages)
	want(t, batch, "6-6 (1)")
	msg.Ack()
}

func TestNackReadsAgainFromCheckpoint(t *testing.T) {
	store := newStore(t, 4)
	var at atomic.Int64
	s := relay.New(store, func(context.Context, string) (int64, error) { return at.Load(), nil }, relay.Options{})
	defer s.Close()
	messages, err := s.Subscribe(t.Context(), "runs")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		msg, batch := receive(t, messages)
		want(t, batch, "1-4 (4)")
		msg.Nack()
	}
	msg, _ := receive(t, messages)
	at.Store(2) // the handler got that far before it failed
	msg.Nack()
	msg, batch := receive(t, messages)
	want(t, batch, "3-4 (2)")
	msg.Ack()
}

func TestErrorsAreTriedAgain(t *testing.T) {
	store := newStore(t, 1)
	var asked atomic.Int64
	checkpoint := func(context.Context, string) (int64, error) {
		if asked.Add(1) < 3 {
			return 0, errors.New("the read model is away")
		}
		return 0, nil
	}
	s := relay.New(&gappy{Store: store}, checkpoint, relay.Options{})
	defer s.Close()
	messages, err := s.Subscribe(t.Context(), "runs")
	if err != nil {
		t.Fatal(err)
	}
	msg, batch := receive(t, messages)
	want(t, batch, "1-1 (1)")
	msg.Ack()
}

// gappy skips a record the first time.
type gappy struct {
	eventstore.Store
	once sync.Once
}

func (g *gappy) ReadAll(ctx context.Context, after int64, limit int) (records []eventstore.Record, err error) {
	g.once.Do(func() { records = []eventstore.Record{{Position: after + 2}} })
	if records != nil {
		return records, nil
	}
	return g.Store.ReadAll(ctx, after, limit)
}

func TestEnd(t *testing.T) {
	store := newStore(t, 1)
	s := relay.New(store, fromStart, relay.Options{})
	ctx, stop := context.WithCancel(t.Context())
	cancelled, err := s.Subscribe(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	unread, err := s.Subscribe(t.Context(), "b") // has a message that nobody takes
	if err != nil {
		t.Fatal(err)
	}
	unanswered, err := s.Subscribe(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	receive(t, unanswered)
	waiting, err := s.Subscribe(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	msg, _ := receive(t, waiting)
	msg.Ack()
	stop()
	for range cancelled { // it may have a message; then it ends
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, messages := range []<-chan *message.Message{unread, unanswered, waiting} {
		if _, open := <-messages; open {
			t.Error("a subscription outlived Close")
		}
	}
	if _, err := s.Subscribe(t.Context(), "e"); err == nil {
		t.Error("subscribed to a closed relay")
	}
	if err := s.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}

// Two handlers of a real router follow the same log while it grows, one of them
// stumbling on the way.
func TestRouter(t *testing.T) {
	const total = 300
	store := newStore(t, 50)
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: patience}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]*model{"steady": {done: make(chan struct{})}, "stumbling": {done: make(chan struct{}), fails: true}}
	s := relay.New(store, func(_ context.Context, topic string) (int64, error) { return models[topic].checkpoint(), nil }, relay.Options{BatchMax: 16})
	for name, m := range models {
		m.until = total
		router.AddConsumerHandler(name, name, s, m.handle)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- router.Run(ctx) }()
	<-router.Running()
	appendEvents(t, store, total-50)
	for name, m := range models {
		select {
		case <-m.done:
		case <-time.After(patience):
			t.Fatalf("%s stands at %d", name, m.checkpoint())
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for name, m := range models {
		if m.count != total {
			t.Errorf("%s counted %d records, want %d", name, m.count, total)
		}
	}
}

// model counts records, as a projection would: rows and checkpoint move together.
type model struct {
	mu      sync.Mutex
	at      int64
	count   int
	until   int64
	fails   bool
	batches int
	done    chan struct{}
}

func (m *model) checkpoint() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *model) handle(msg *message.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.batches++; m.fails && m.batches%7 == 1 {
		return errors.New("stumbled")
	}
	batch, _ := relay.Batch(msg)
	for _, r := range batch {
		if r.Position != m.at+1 {
			return fmt.Errorf("record %d after %d", r.Position, m.at)
		}
		m.at = r.Position
		m.count++
	}
	if m.at == m.until {
		close(m.done)
	}
	return nil
}
