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
	dialMax    = 5 * time.Second
	deliverMax = 10 * time.Second // how long the brokers may take to accept a batch
)

// Publisher publishes batches: a record that fails keeps those behind it out, because the
// brokers check the order of what one producer sends.
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
		kgo.RecordDeliveryTimeout(deliverMax), kgo.ProducerLinger(0), kgo.AllowAutoTopicCreation(),
	}
	if t.User != "" {
		options = append(options, kgo.SASL(mechanism(t)))
	}
	if t.TLS {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if t.CA != "" {
			var err error
			if config.RootCAs, err = pool(t.CA); err != nil {
				return nil, fmt.Errorf("connect to %s: %w", t, err)
			}
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", t, t.Clean(err))
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
	if len(messages) == 0 {
		return nil
	}
	records := make([]*kgo.Record, len(messages))
	for i, m := range messages {
		records[i] = &kgo.Record{Topic: topic, Key: []byte(m.UUID), Value: m.Payload}
		for name, value := range m.Metadata {
			records[i].Headers = append(records[i].Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
		}
	}
	ctx, stop := context.WithTimeout(messages[0].Context(), 2*deliverMax)
	defer stop()
	err := p.client.ProduceSync(ctx, records...).FirstErr()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.MessageTooLarge):
		return fmt.Errorf("publish to %s: %w", p.target, forward.ErrTooLarge)
	}
	return fmt.Errorf("publish to %s: %w", p.target, p.target.Clean(err))
}

// Close ends the connections.
func (p *Publisher) Close() error {
	p.client.Close()
	return nil
}
