package kafka_test

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

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/projections/forward"
	"hecate/projections/forward/kafka"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
)

func TestMain(m *testing.M) {
	kafka.Hurry()
	os.Exit(m.Run())
}

// patience is how long something may take that takes a moment on an idle machine.
const patience = time.Minute

const topic = "hecate.events"

type shown struct {
	Text string `json:"text"`
}

func (shown) EventType() string { return "test.shown" }

var _ = event.Define(shown{Text: "x"})

// presenter shows every record.
type presenter struct{}

func (presenter) Present(_ context.Context, records []eventstore.Record) (out []forward.Event, looked int, err error) {
	for _, r := range records {
		out = append(out, forward.Event{Sequence: r.Position, Type: r.Type, JSON: fmt.Appendf(nil, `{"sequence":%d,"data":%s}`, r.Position, r.Data)})
	}
	return out, len(records), nil
}

// serve runs brokers on a directory until stop is called; on the given port, or any.
func serve(t testing.TB, dir string, ports ...int) (c *kfake.Cluster, stop func()) {
	t.Helper()
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(3, topic), kfake.DataDir(dir), kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "me", "planted-password")}
	if len(ports) > 0 {
		options = append(options, kfake.Ports(ports...))
	}
	c, err := kfake.NewCluster(options...)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(c.Close)
	t.Cleanup(stop)
	return c, stop
}

func target(t testing.TB, c *kfake.Cluster, password string) forward.Target {
	t.Helper()
	targets, err := forward.ParseTargets("kafka://me:" + password + "@" + c.ListenAddrs()[0] + "/" + topic + "?sasl=scram-sha-256")
	if err != nil {
		t.Fatal(err)
	}
	return targets[0]
}

// send runs a sender until stop is called.
func send(t testing.TB, log forward.Log, db *readdb.DB, to forward.Target) (s *forward.Sender, stop func()) {
	t.Helper()
	publisher, err := kafka.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	id, err := log.LogID(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s, err = forward.New(context.Background(), forward.Config{
		Name: to.Name(), Log: log, DB: db, Owner: "a", Logger: slog.New(slog.DiscardHandler), RetryFirst: 5 * time.Millisecond, RetryMax: 20 * time.Millisecond,
	}, forward.NewEvents(presenter{}, publisher, to.Topic, id))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, publisher.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return s, stop
}

// until waits for a state of the sender.
func until(t testing.TB, s *forward.Sender, done func(forward.Status) bool) {
	t.Helper()
	var at forward.Status
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var err error
		if at, err = s.Status(context.Background()); err != nil {
			t.Fatal(err)
		}
		if done(at) {
			return
		}
	}
	t.Fatalf("%+v", at)
}

func sent(at forward.Status) bool { return at.Lag == 0 }

// checkWhole checks that the topic has every record in order once repetitions are dropped.
func checkWhole(t testing.TB, c *kfake.Cluster, log *projectiontest.Log) {
	t.Helper()
	id, err := log.LogID(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics(topic), kgo.SASL(kafka.Mechanism(target(t, c, "planted-password"))))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	records, next := log.Records(), 1
	for next <= len(records) {
		fetched := client.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			t.Fatalf("after %d of %d: %v", next-1, len(records), err)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			sequence, err := strconv.Atoi(header(r, forward.MetaSequence))
			if err != nil || sequence > next || r.Partition != 0 || string(r.Key) != fmt.Sprintf("%s-%d", id, sequence) ||
				!strings.Contains(string(r.Value), fmt.Sprintf(`"sequence":%d`, sequence)) || header(r, forward.MetaType) != "test.shown" {
				t.Fatalf("%d is due: partition %d, %s %v %s", next, r.Partition, r.Key, r.Headers, r.Value)
			}
			next = max(next, sequence+1)
		})
	}
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

func memory(t testing.TB) *readdb.DB {
	t.Helper()
	db, err := readdb.OpenMemory(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func add(log *projectiontest.Log, n int) {
	for range n {
		log.Add("run-a", shown{"x"})
	}
}

// Sender and broker come and go in turn; the topic has everything, in the order of one
// partition.
func TestComesAndGoes(t *testing.T) {
	log, db, dir := projectiontest.New(t), memory(t), t.TempDir()
	c, stopBroker := serve(t, dir)
	to := target(t, c, "planted-password")
	add(log, 30)
	s, stop := send(t, log, db, to)
	add(log, 10)
	until(t, s, sent)
	stop()
	add(log, 10)
	s, stop = send(t, log, db, to)
	stopBroker() // under way, perhaps
	add(log, 10)
	until(t, s, func(at forward.Status) bool { return at.Trouble != "" && at.Lag > 0 })
	stop()
	s, _ = send(t, log, db, to)
	port, err := strconv.Atoi(to.Hosts[0][strings.LastIndex(to.Hosts[0], ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	c, _ = serve(t, dir, port)
	add(log, 5)
	until(t, s, sent)
	checkWhole(t, c, log)
}

func TestTooLarge(t *testing.T) {
	log := projectiontest.New(t)
	c, _ := serve(t, t.TempDir())
	log.Add("run-a", shown{"a"}, shown{strings.Repeat("b", 1_010_000)}, shown{"c"})
	s, _ := send(t, log, memory(t), target(t, c, "planted-password"))
	until(t, s, sent)
	checkWhole(t, c, log)
}

// A password that does not fit is trouble, and nothing of it shows.
func TestWrongPassword(t *testing.T) {
	log := projectiontest.New(t)
	c, _ := serve(t, t.TempDir())
	add(log, 1)
	s, _ := send(t, log, memory(t), target(t, c, "wrong-password"))
	until(t, s, func(at forward.Status) bool {
		if strings.Contains(at.Trouble, "wrong-password") {
			t.Fatal(at.Trouble)
		}
		return at.Trouble != ""
	})
}
