package forward_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"pgregory.net/rapid"

	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/forward"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
)

// Whatever fails, and wherever the process dies, the receiver has all public events in
// order once it drops what it has got already.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		log, db, b := projectiontest.New(t), memory(t), newBroker()
		add := func() {
			for range rapid.IntRange(1, 6).Draw(r, "batch") {
				if rapid.Bool().Draw(r, "public") {
					log.Add("run-a", shown{"x"})
				} else {
					log.Add("task-a", hidden{})
				}
			}
		}
		for range rapid.IntRange(1, 5).Draw(r, "lives") {
			add()
			s := open(t, config(log, db), b)
			ctx, kill := context.WithCancel(context.Background())
			b.mu.Lock()
			at := len(b.accepted) + rapid.IntRange(0, 4).Draw(r, "messages")
			b.mu.Unlock()
			hiccups := rapid.IntRange(0, 2).Draw(r, "hiccups")
			fail := func(n int) error {
				switch {
				case n >= at:
					kill()
					return errAway
				case hiccups > 0:
					hiccups--
					return errAway
				}
				return nil
			}
			if rapid.Bool().Draw(r, "accepted all the same") {
				b.tell(nil, fail)
			} else {
				b.tell(fail, nil)
			}
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			until(t, "it is killed or has nothing to do", func() bool {
				now, err := s.Status(context.Background())
				return err != nil || ctx.Err() != nil || now.Lag == 0
			})
			kill()
			if err := <-done; err != nil {
				r.Fatal(err)
			}
		}
		add()
		b.tell(nil, nil)
		stop := start(t, open(t, config(log, db), b))
		want := wanted(t, log)
		b.await(t, len(want))
		stop()
		got, _ := b.ids()
		same(t, got, want)
	})
}

// A stop between two messages repeats nothing.
func TestGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	log, db, b := projectiontest.New(t), memory(t), newBroker()
	log.Add("run-a", shown{"1"}, hidden{}, shown{"2"})
	s := open(t, config(log, db), b)
	stop := start(t, s)
	b.await(t, 2)
	until(t, "the checkpoint is written", func() bool { at, err := s.Status(t.Context()); return err == nil && at.Lag == 0 })
	stop()
	log.Add("run-a", shown{"3"})
	start(t, open(t, config(log, db), b))
	b.await(t, 3)
	if ids, repeated := b.ids(); repeated > 0 || len(ids) != 3 {
		t.Errorf("%v, %d of them twice", ids, repeated)
	}
}

// A target that is away says so, once, and is left alone for longer and longer; when it is
// back the rest follows.
func TestTroubleShows(t *testing.T) {
	t.Parallel()
	log, b := projectiontest.New(t), newBroker()
	log.Add("run-a", shown{"1"}, shown{"2"})
	b.tell(func(int) error { return errAway }, nil)
	var text bytes.Buffer
	c := config(log, memory(t))
	c.Logger = slog.New(slog.NewTextHandler(&text, nil))
	s := open(t, c, b)
	stop := start(t, s)
	until(t, "it is in trouble", func() bool {
		at, err := s.Status(t.Context())
		return err == nil && at.Lag == 2 && at.Trouble == errAway.Error()
	})
	b.tell(nil, nil)
	b.await(t, 2)
	until(t, "it is well", func() bool {
		at, err := s.Status(t.Context())
		return err == nil && at.Lag == 0 && at.Trouble == "" && at.Messages == 2
	})
	stop()
	if n := strings.Count(text.String(), errAway.Error()); n != 1 {
		t.Errorf("told %d times:\n%s", n, text.String())
	}
}

func TestBeginsFromNow(t *testing.T) {
	t.Parallel()
	log, db, b := projectiontest.New(t), memory(t), newBroker()
	log.Add("run-a", shown{"old"})
	c := config(log, db)
	c.FromNow = true
	s := open(t, c, b)
	log.Add("run-a", shown{"young"}) // after New, before Run
	start(t, s)
	b.await(t, 1)
	got, _ := b.ids()
	same(t, got, wanted(t, log)[1:])
}

// A checkpoint of another log is none.
func TestAnotherLog(t *testing.T) {
	t.Parallel()
	db, b := memory(t), newBroker()
	first, second := projectiontest.New(t), projectiontest.New(t)
	first.Add("run-a", shown{"1"}, shown{"2"})
	stop := start(t, open(t, config(first, db), b))
	b.await(t, 2)
	stop()
	second.Add("run-a", shown{"1"})
	start(t, open(t, config(second, db), b))
	b.await(t, 3)
	got, _ := b.ids()
	same(t, got, append(wanted(t, first), wanted(t, second)...))
}

// limited is a broker that takes only short messages.
type limited struct {
	*broker
	max int
}

func (l limited) Publish(topic string, messages ...*message.Message) error {
	for _, m := range messages {
		if len(m.Payload) > l.max {
			return fmt.Errorf("publish: %w", forward.ErrTooLarge)
		}
		if err := l.broker.Publish(topic, m); err != nil {
			return err
		}
	}
	return nil
}

// An event that the broker does not take because of its size goes without its data, and
// keeps nothing back.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	log, b := projectiontest.New(t), newBroker()
	log.Add("run-a", shown{"a"}, shown{strings.Repeat("b", 500)}, shown{"c"})
	start(t, open(t, config(log, memory(t)), limited{b, 200}))
	b.await(t, 3)
	got, _ := b.ids()
	same(t, got, wanted(t, log))
	for _, m := range b.accepted {
		var body struct {
			Sequence int64
			Data     struct {
				Text, Omitted string
				Bytes         int
			}
		}
		if err := json.Unmarshal(m.Payload, &body); err != nil {
			t.Fatal(err)
		}
		if large := body.Sequence == 2; large != (body.Data.Omitted == "too_large" && body.Data.Bytes > 500) || large == (body.Data.Text != "") {
			t.Errorf("%s", m.Payload)
		}
	}
}

// Of two processes one sends; when it stops the other one goes on.
func TestOneProcessSends(t *testing.T) {
	t.Parallel()
	log, url, b := projectiontest.New(t), pgtest.URL(t), newBroker()
	node := func(owner string) *forward.Sender {
		db, err := readdb.OpenPostgres(context.Background(), url, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		c := config(log, db)
		c.Owner, c.LeaseTTL = owner, patience/20
		return open(t, c, b)
	}
	first, second := node("a"), node("b")
	stop := start(t, first)
	log.Add("run-a", shown{"1"})
	b.await(t, 1)
	start(t, second)
	log.Add("run-a", shown{"2"}, shown{"3"})
	b.await(t, 3)
	until(t, "both know of it", func() bool {
		at, err := second.Status(t.Context())
		return err == nil && at.Lag == 0 && at.Messages == 0
	})
	stop()
	log.Add("run-a", shown{"4"})
	b.await(t, 4)
	ids, repeated := b.ids()
	same(t, ids, wanted(t, log))
	if repeated > 0 {
		t.Errorf("%d messages came twice", repeated)
	}
}
