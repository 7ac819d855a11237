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
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"hecate/projections/forward"
)

const (
	connectMax    = 5 * time.Second
	ackMax        = 5 * time.Second // how long the stream may take to accept one message
	reconnectWait = time.Second
	windowSize    = 2 * time.Minute // in which a stream that we make drops what it has got already
)

// Publisher publishes one message after the other, each when the stream has accepted the
// one before: with several under way, one that got lost would come after those behind it.
type Publisher struct {
	target forward.Target
	conn   *nats.Conn
	js     jetstream.JetStream
}

var _ message.Publisher = (*Publisher)(nil)

// Open returns a publisher for a target. It connects in the background, and again whenever
// the connection is lost: a broker that is away is no error here. It returns an error if a
// file that the target names cannot be read.
func Open(t forward.Target) (*Publisher, error) {
	options := []nats.Option{
		nats.Name("hecate"), nats.Timeout(connectMax),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.IgnoreAuthErrorAbort(), // a password may be put right while we try
		nats.ReconnectBufSize(-1),   // what waits in there would come late, and twice
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // Publish returns what counts; the default prints
	}
	switch {
	case t.Password != "":
		options = append(options, nats.UserInfo(t.User, t.Password))
	case t.User != "":
		options = append(options, nats.Token(t.User))
	case t.Creds != "":
		options = append(options, nats.UserCredentials(t.Creds))
	}
	if t.CA != "" {
		options = append(options, nats.RootCAs(t.CA))
	}
	if t.TLS {
		options = append(options, nats.Secure())
	}
	conn, err := nats.Connect("nats://"+strings.Join(t.Hosts, ",nats://"), options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", t, t.Clean(err))
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("connect to %s: %w", t, t.Clean(err))
	}
	return &Publisher{target: t, conn: conn, js: js}, nil
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
		return fmt.Errorf("publish to %s: %w", p.target, forward.ErrTooLarge)
	case errors.Is(err, nats.ErrDisconnected) && p.conn.LastError() != nil:
		return fmt.Errorf("%s is not connected: %w", p.target, p.target.Clean(p.conn.LastError()))
	case errors.Is(err, nats.ErrDisconnected):
		return fmt.Errorf("%s is not connected: no server answers", p.target)
	}
	return fmt.Errorf("publish to %s: %w", p.target, p.target.Clean(err))
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

// Close ends the connection.
func (p *Publisher) Close() error {
	p.conn.Close()
	return nil
}
