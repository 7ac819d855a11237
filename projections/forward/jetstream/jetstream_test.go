package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/projections/forward"
	"hecate/projections/forward/jetstream"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
)

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

// serve runs a server on a directory until it is told to stop. port 0 is any.
func serve(t testing.TB, dir string, port int, change ...func(*server.Options)) (s *server.Server, stop func()) {
	t.Helper()
	if port == 0 {
		port = server.RANDOM_PORT
	}
	o := &server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true}
	for _, f := range change {
		f(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	stop = sync.OnceFunc(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	t.Cleanup(stop)
	return s, stop
}

func port(t testing.TB, s *server.Server) int {
	t.Helper()
	p, err := strconv.Atoi(s.ClientURL()[strings.LastIndex(s.ClientURL(), ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func target(t testing.TB, s *server.Server) forward.Target {
	t.Helper()
	targets, err := forward.ParseTargets(fmt.Sprintf("nats://127.0.0.1:%d/%s", port(t, s), topic))
	if err != nil {
		t.Fatal(err)
	}
	return targets[0]
}

// send runs a sender until stop is called.
func send(t testing.TB, log forward.Log, db *readdb.DB, to forward.Target) (s *forward.Sender, stop func()) {
	t.Helper()
	publisher := jetstream.Open(to)
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

// sent waits until the sender has sent everything.
func sent(t testing.TB, s *forward.Sender) {
	t.Helper()
	var at forward.Status
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var err error
		if at, err = s.Status(context.Background()); err != nil {
			t.Fatal(err)
		}
		if at.Lag == 0 {
			return
		}
	}
	t.Fatalf("%+v", at)
}

// stored reads what the stream holds.
func stored(t testing.TB, s *server.Server, options ...nats.Option) (out []js.Msg) {
	t.Helper()
	conn, err := nats.Connect(s.ClientURL(), options...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := js.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ReplaceAll(topic, ".", "_")
	held, err := stream.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := stream.OrderedConsumer(t.Context(), name, js.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := held.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range info.State.Msgs {
		m, err := consumer.Next(js.FetchMaxWait(patience))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// checkWhole checks that the stream holds every record once, in order, under its id.
func checkWhole(t testing.TB, log *projectiontest.Log, got []js.Msg) {
	t.Helper()
	id, err := log.LogID(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	records := log.Records()
	for i, m := range got {
		position := strconv.Itoa(i + 1)
		if m.Headers().Get("Nats-Msg-Id") != id+"-"+position || m.Headers().Get(forward.MetaSequence) != position ||
			m.Subject() != topic+"."+records[i].Type || !strings.HasPrefix(string(m.Data()), `{"sequence":`+position+",") {
			t.Fatalf("message %d: %s %v %s", i+1, m.Subject(), m.Headers(), m.Data())
		}
	}
	if len(got) != len(records) {
		t.Fatalf("%d messages for %d events", len(got), len(records))
	}
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

// Sender and broker come and go in turn; the stream, which nobody had made, has everything
// once.
func TestComesAndGoes(t *testing.T) {
	log, db, dir := projectiontest.New(t), memory(t), t.TempDir()
	s, stopServer := serve(t, dir, 0)
	to := target(t, s)
	add(log, 20)
	sender, stop := send(t, log, db, to)
	add(log, 20)
	sent(t, sender)
	stop()
	add(log, 20)
	sender, stop = send(t, log, db, to)
	add(log, 5)
	stopServer() // under way, perhaps
	add(log, 20)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		at, err := sender.Status(t.Context())
		if err == nil && at.Trouble != "" && at.Lag > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no trouble without a server: %+v, %v", at, err)
		}
	}
	stop() // and begins again while nobody is there
	sender, _ = send(t, log, db, to)
	s, _ = serve(t, dir, port(t, s))
	add(log, 5)
	sent(t, sender)
	checkWhole(t, log, stored(t, s))
}

// An answer that is lost, and a checkpoint that was not written, lead to repetitions that
// the stream drops.
func TestRepetitionsCountOnce(t *testing.T) {
	log := projectiontest.New(t)
	s, _ := serve(t, t.TempDir(), 0)
	add(log, 10)
	sender, stop := send(t, log, memory(t), target(t, s))
	sent(t, sender)
	stop()
	sender, _ = send(t, log, memory(t), target(t, s)) // from the beginning
	add(log, 5)
	sent(t, sender)
	checkWhole(t, log, stored(t, s))
}

func TestTooLarge(t *testing.T) {
	log := projectiontest.New(t)
	s, _ := serve(t, t.TempDir(), 0, func(o *server.Options) { o.MaxPayload = 2000 })
	log.Add("run-a", shown{"a"}, shown{strings.Repeat("b", 4000)}, shown{"c"})
	sender, _ := send(t, log, memory(t), target(t, s))
	sent(t, sender)
	got := stored(t, s)
	if len(got) != 3 || !strings.Contains(string(got[1].Data()), "too_large") || !strings.Contains(string(got[2].Data()), `"c"`) {
		t.Errorf("%d messages", len(got))
	}
}

// A password that does not fit is trouble, which ends when it is put right on the other
// side; nothing of it shows.
func TestWrongPassword(t *testing.T) {
	log, dir := projectiontest.New(t), t.TempDir()
	add(log, 1)
	const password = "planted-password"
	s, stop := serve(t, dir, 0, func(o *server.Options) { o.Username, o.Password = "me", "another" })
	to := target(t, s)
	to.User, to.Password = "me", password
	sender, _ := send(t, log, memory(t), to)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		at, err := sender.Status(t.Context())
		if err == nil && strings.Contains(strings.ToLower(at.Trouble), "authorization") {
			if strings.Contains(at.Trouble, password) {
				t.Error(at.Trouble)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%+v, %v", at, err)
		}
	}
	stop()
	s, _ = serve(t, dir, port(t, s), func(o *server.Options) { o.Username, o.Password = "me", password })
	sent(t, sender)
	checkWhole(t, log, stored(t, s, nats.UserInfo("me", password)))
}

// A stream that somebody has made for the subjects is used as it is.
func TestStreamOfTheOperator(t *testing.T) {
	s, _ := serve(t, t.TempDir(), 0)
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := js.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	own, err := stream.CreateStream(t.Context(), js.StreamConfig{Name: "OWN", Subjects: []string{"hecate.>"}, Storage: js.MemoryStorage})
	if err != nil {
		t.Fatal(err)
	}
	log := projectiontest.New(t)
	add(log, 3)
	sender, _ := send(t, log, memory(t), target(t, s))
	sent(t, sender)
	if info, err := own.Info(t.Context()); err != nil || info.State.Msgs != 3 {
		t.Errorf("%+v, %v", info, err)
	}
	for other := range stream.ListStreams(t.Context()).Info() {
		if other.Config.Name != "OWN" {
			t.Errorf("there is a stream %s", other.Config.Name)
		}
	}
}

func BenchmarkPublish(b *testing.B) {
	s, _ := serve(b, b.TempDir(), 0)
	publisher := jetstream.Open(target(b, s))
	defer publisher.Close()
	payload := []byte(strings.Repeat("x", 600))
	next := 0
	one := func() *message.Message {
		next++
		m := message.NewMessage(strconv.Itoa(next), payload)
		m.Metadata.Set(forward.MetaType, "run.started")
		m.SetContext(b.Context())
		return m
	}
	for end := time.Now().Add(patience); publisher.Publish(topic, one()) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.Fatal("not connected")
		}
	}
	for b.Loop() {
		if err := publisher.Publish(topic, one()); err != nil {
			b.Fatal(err)
		}
	}
}
