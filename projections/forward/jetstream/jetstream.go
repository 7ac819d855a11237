// Package jetstream publishes to a stream of NATS JetStream.
//
// The subject of a message is the topic, a dot and the event's type, so that consumers can
// filter. The message's id goes along as Nats-Msg-Id: within its window the stream drops
// what it has got already.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hecate/projections/forward"
)

const (
	connectMax    = 3 * time.Second // one attempt
	ackMax        = 5 * time.Second // how long the stream may take to accept one message
	reconnectWait = time.Second
	windowSize    = 2 * time.Minute // in which a stream that we make drops what it has got already
)

// Publisher publishes one message after the other, each when the stream has accepted the
// one before: with several under way, one that got lost would come after those behind it.
// It is used by one goroutine at a time.
type Publisher struct {
	target     forward.Target
	connecting sync.WaitGroup
	connected  chan struct{} // closed when conn and js, or err, are there; nil before the first attempt
	conn       *nats.Conn
	js         jetstream.JetStream
	err        error
}

var _ message.Publisher = (*Publisher)(nil)

// Open returns a publisher for a target. It connects when something is published, in the
// background, and again whenever the connection is lost: a broker that is away is no
// reason to wait.
func Open(t forward.Target) *Publisher { return &Publisher{target: t} }

// ready returns once there is a connection, be it one that is still to be made, or ctx
// ends.
func (p *Publisher) ready(ctx context.Context) error {
	if p.connected == nil {
		connected := make(chan struct{})
		p.connected, p.err = connected, nil
		p.connecting.Go(func() {
			defer close(connected)
			p.connect()
		})
	}
	select {
	case <-p.connected:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.err != nil {
		p.connected = nil // a file that could not be read may be there next time
	}
	return p.err
}

// connect makes a connection that goes on trying by itself.
func (p *Publisher) connect() {
	if p.conn, p.err = nats.Connect("nats://"+strings.Join(p.target.Hosts, ",nats://"), options(p.target)...); p.err != nil {
		return
	}
	if p.js, p.err = jetstream.New(p.conn); p.err != nil {
		p.conn.Close()
	}
}

func options(t forward.Target) []nats.Option {
	out := []nats.Option{
		nats.Name("hecate"), nats.Timeout(connectMax),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.IgnoreAuthErrorAbort(), // a password may be put right while we try
		nats.ReconnectBufSize(-1),   // what waits in there would come late, and twice
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // Publish returns what counts; the default prints
	}
	switch {
	case t.Password != "":
		out = append(out, nats.UserInfo(t.User, t.Password))
	case t.User != "":
		out = append(out, nats.Token(t.User))
	case t.Creds != "":
		out = append(out, nats.UserCredentials(t.Creds))
	}
	if t.CA != "" {
		out = append(out, nats.RootCAs(t.CA))
	}
	if t.TLS {
		out = append(out, nats.Secure())
	}
	return out
}

// Publish sends the messages in order and returns when the stream has them all. If there
// is no stream for the topic it makes one. An error wraps forward.ErrTooLarge if the
// server takes no message of that size.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	for _, m := range messages {
		err := p.publish(topic, m)
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			if err = p.ensureStream(m.Context(), topic); err == nil {
				err = p.publish(topic, m)
			}
		}
		if err != nil {
			return p.explain(err)
		}
	}
	return nil
}

func (p *Publisher) publish(topic string, m *message.Message) error {
	if err := p.ready(m.Context()); err != nil {
		return err
	}
	if !p.conn.IsConnected() {
		return nats.ErrDisconnected
	}
	out := nats.NewMsg(topic + "." + m.Metadata.Get(forward.MetaType))
	out.Data = m.Payload
	for name, value := range m.Metadata {
		out.Header.Set(name, value)
	}
	ctx, stop := context.WithTimeout(m.Context(), ackMax)
	defer stop()
	_, err := p.js.PublishMsg(ctx, out, jetstream.WithMsgID(m.UUID))
	return err
}

// explain says in our words what a client of NATS reports.
func (p *Publisher) explain(err error) error {
	switch {
	case errors.Is(err, nats.ErrMaxPayload), hasCode(err, codeTooLarge):
		return fmt.Errorf("publish to JetStream: %w", forward.ErrTooLarge)
	case errors.Is(err, nats.ErrDisconnected) && p.conn.LastError() != nil:
		return fmt.Errorf("connect to NATS: %w", p.target.Clean(p.conn.LastError()))
	case errors.Is(err, nats.ErrDisconnected):
		return errors.New("connect to NATS: no server answers")
	}
	return fmt.Errorf("publish to JetStream: %w", p.target.Clean(err))
}

// codeTooLarge is the server's word for a message that its stream does not take.
const codeTooLarge jetstream.ErrorCode = 10054

func hasCode(err error, code jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == code
}

// ensureStream makes the stream for a topic, unless somebody has one for it.
func (p *Publisher) ensureStream(ctx context.Context, topic string) error {
	ctx, stop := context.WithTimeout(ctx, ackMax)
	defer stop()
	subjects := topic + ".>"
	if _, err := p.js.StreamNameBySubject(ctx, subjects); !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	_, err := p.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: strings.ReplaceAll(topic, ".", "_"), Description: "Events of Hecate", Subjects: []string{subjects},
		Storage: jetstream.FileStorage, Duplicates: windowSize,
	})
	if err != nil {
		return fmt.Errorf("make a stream for %s: %w", subjects, err)
	}
	return nil
}

// Close ends the connection. It may wait for an attempt to connect, for as long as that may
// take.
func (p *Publisher) Close() error {
	p.connecting.Wait()
	if p.conn != nil {
		p.conn.Close()
	}
	return nil
}
