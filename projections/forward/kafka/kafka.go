// Package kafka publishes to a topic of Kafka.
//
// All messages go to the topic's first partition: only within one does Kafka keep an
// order. The key of a record is the message's id, so that a compacted topic keeps each
// event once.
package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"hecate/projections/forward"
)

const (
	dialMax   = 5 * time.Second
	lingerMax = 20 * time.Millisecond // a batch waits to be whole, which it is at once
	batchMax  = 256 << 10             // bytes of records that go together
	recordMax = 1_000_000 - 1<<10     // bytes of one record: what brokers take unless they are told otherwise
	overhead  = 64                    // bytes around a record or a header, at most
)

// deliverMax is how long the brokers may take to accept a batch.
var deliverMax = 5 * time.Second

// Publisher publishes one batch after the other. The brokers take a batch as a whole, so
// that no record comes before one that failed.
type Publisher struct {
	target forward.Target
	client *kgo.Client
}

var _ message.Publisher = (*Publisher)(nil)

// Open returns a publisher for a target. It connects when something is published. It
// returns an error if a file that the target names cannot be read.
func Open(t forward.Target) (*Publisher, error) {
	options := []kgo.Opt{
		kgo.ClientID("hecate"), kgo.SeedBrokers(t.Hosts...), kgo.DialTimeout(dialMax),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerLinger(lingerMax), kgo.AllowAutoTopicCreation(),
		kgo.AllowIdempotentProduceCancellation(), // what comes twice has one key; waiting for ever is worse
	}
	if t.User != "" {
		options = append(options, kgo.SASL(mechanism(t)))
	}
	if t.TLS {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if t.CA != "" {
			var err error
			if config.RootCAs, err = pool(t.CA); err != nil {
				return nil, fmt.Errorf("connect to Kafka: %w", err)
			}
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("connect to Kafka: %w", t.Clean(err))
	}
	return &Publisher{target: t, client: client}, nil
}

func mechanism(t forward.Target) sasl.Mechanism {
	switch t.SASL {
	case "scram-sha-256":
		return scram.Auth{User: t.User, Pass: t.Password}.AsSha256Mechanism()
	case "scram-sha-512":
		return scram.Auth{User: t.User, Pass: t.Password}.AsSha512Mechanism()
	}
	return plain.Auth{User: t.User, Pass: t.Password}.AsMechanism()
}

func pool(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := x509.NewCertPool()
	if !out.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return out, nil
}

// Publish sends the messages in order and returns when the brokers have them all. An error
// wraps forward.ErrTooLarge if they take no record of that size.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	for len(messages) > 0 {
		records, err := batch(topic, messages)
		if err == nil {
			err = p.produce(messages[0].Context(), records)
		}
		switch {
		case errors.Is(err, kerr.MessageTooLarge):
			return fmt.Errorf("publish to Kafka: %w", forward.ErrTooLarge)
		case err != nil:
			return fmt.Errorf("publish to Kafka: %w", p.target.Clean(err))
		}
		messages = messages[len(records):]
	}
	return nil
}

// batch returns the records of the first messages, as many as go together.
func batch(topic string, messages []*message.Message) (out []*kgo.Record, err error) {
	bytes := 0
	for _, m := range messages {
		r := &kgo.Record{Topic: topic, Key: []byte(m.UUID), Value: m.Payload}
		size := len(r.Key) + len(r.Value) + overhead
		for name, value := range m.Metadata {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
			size += len(name) + len(value) + overhead
		}
		switch {
		case len(out) > 0 && bytes+size > batchMax:
			return out, nil
		case size > recordMax:
			return nil, kerr.MessageTooLarge
		}
		out, bytes = append(out, r), bytes+size
	}
	return out, nil
}

func (p *Publisher) produce(ctx context.Context, records []*kgo.Record) error {
	ctx, stop := context.WithTimeout(ctx, deliverMax)
	defer stop()
	return p.client.ProduceSync(ctx, records...).FirstErr()
}

// Close ends the connections.
func (p *Publisher) Close() error {
	p.client.Close()
	return nil
}
