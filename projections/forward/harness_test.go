package forward_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/forward"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// patience is how long something may take that takes a moment on an idle machine.
const patience = time.Minute

// shown and hidden are facts that are public and that are not.
type shown struct {
	Text string `json:"text"`
}

func (shown) EventType() string { return "test.shown" }

type hidden struct{}

func (hidden) EventType() string { return "test.hidden" }

var (
	_ = event.Define(shown{Text: "x"})
	_ = event.Define(hidden{})
)

// presenter shows what is public, in pieces of two records.
type presenter struct{}

func (presenter) Present(_ context.Context, records []eventstore.Record) (out []forward.Event, looked int, err error) {
	records = records[:min(2, len(records))]
	for _, r := range records {
		if r.Type == (shown{}).EventType() {
			out = append(out, forward.Event{Sequence: r.Position, Type: r.Type, JSON: fmt.Appendf(nil, `{"sequence":%d,"data":%s}`, r.Position, r.Data)})
		}
	}
	return out, len(records), nil
}

// broker accepts messages, as long as it is not told otherwise.
type broker struct {
	mu       sync.Mutex
	accepted []*message.Message
	refuse   func(accepted int) error // before the next message
	lost     func(accepted int) error // after a call of Publish whose messages were all accepted
	changed  chan struct{}
}

func newBroker() *broker { return &broker{changed: make(chan struct{})} }

func (b *broker) Publish(_ string, messages ...*message.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range messages {
		if b.refuse != nil {
			if err := b.refuse(len(b.accepted)); err != nil {
				return err
			}
		}
		b.accepted = append(b.accepted, m.Copy())
		close(b.changed)
		b.changed = make(chan struct{})
	}
	if b.lost != nil {
		return b.lost(len(b.accepted))
	}
	return nil
}

func (*broker) Close() error { return nil }

// tell changes how the broker behaves.
func (b *broker) tell(refuse, lost func(int) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse, b.lost = refuse, lost
}

// ids returns the ids of the messages that came, without repetitions, and how many these were.
func (b *broker) ids() (ids []string, repeated int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[string]string{}
	for _, m := range b.accepted {
		if body, ok := seen[m.UUID]; ok {
			repeated++
			if body != string(m.Payload) {
				ids = append(ids, "another body under id "+m.UUID)
			}
			continue
		}
		seen[m.UUID] = string(m.Payload)
		ids = append(ids, m.UUID)
	}
	return ids, repeated
}

// await waits until the broker has so many different messages.
func (b *broker) await(t testing.TB, n int) {
	t.Helper()
	deadline := time.After(patience)
	for {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		if ids, _ := b.ids(); len(ids) >= n {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			ids, _ := b.ids()
			t.Fatalf("only %d messages of %d: %v", len(ids), n, ids)
		}
	}
}

// wanted are the ids of the public records.
func wanted(t testing.TB, log *projectiontest.Log) (ids []string) {
	t.Helper()
	id, err := log.LogID(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range log.Records() {
		if r.Type == (shown{}).EventType() {
			ids = append(ids, id+"-"+strconv.FormatInt(r.Position, 10))
		}
	}
	return ids
}

func same(t testing.TB, got, want []string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("got %v\nwant %v", got, want)
	}
}

func memory(t testing.TB) *readdb.DB {
	t.Helper()
	db, err := readdb.OpenMemory(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// config is one of a sender that loses no time.
func config(log forward.Log, db *readdb.DB) forward.Config {
	return forward.Config{
		Name: "nats://broker:4222/events", Log: log, DB: db, Owner: "a", Logger: slog.New(slog.DiscardHandler),
		RetryFirst: time.Millisecond, RetryMax: 2 * time.Millisecond,
	}
}

func open(t testing.TB, c forward.Config, b message.Publisher) *forward.Sender {
	t.Helper()
	id, err := c.Log.LogID(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s, err := forward.New(context.Background(), c, forward.NewEvents(presenter{}, b, "events", id))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs s until the test ends or stop is called.
func start(t testing.TB, s *forward.Sender) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// until waits for what another goroutine does.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("waited in vain until %s", what)
}

var errAway = errors.New("nobody is there")
