package forward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"hecate/eventstore"
)

// Names of a message's metadata, which publishers hand on as headers.
const (
	MetaSequence = "Hecate-Sequence" // place in the order of all events
	MetaType     = "Hecate-Type"     // of the event, see Token
	MetaLog      = "Hecate-Log"      // id of the log; sequences of different logs do not compare
)

// ErrTooLarge is wrapped by a publisher's error about a message that its broker does not
// take because of its size.
var ErrTooLarge = errors.New("the message is larger than the broker takes")

// Event is a public event with its envelope.
type Event struct {
	Sequence int64
	Type     string
	JSON     []byte // nobody may change it
}

// Presenter shows records as the public API does.
type Presenter interface {
	// Present returns the public events among the first records, in order, and how many
	// records it has looked at: at least one.
	Present(ctx context.Context, records []eventstore.Record) (events []Event, looked int, err error)
}

// Events is a sink that publishes public events. The id of a message is the log's id and
// the event's sequence.
type Events struct {
	present   Presenter
	publisher message.Publisher
	topic     string
	logID     string
}

// NewEvents returns a sink that publishes under a topic. The publisher's Publish must
// accept the messages in order and stop at the first that it cannot; it should keep to the
// messages' context.
func NewEvents(present Presenter, publisher message.Publisher, topic, logID string) *Events {
	return &Events{present, publisher, topic, logID}
}

// Send publishes the public events among records.
func (e *Events) Send(ctx context.Context, records []eventstore.Record) (done Done, err error) {
	for done.Records < len(records) {
		events, looked, err := e.present.Present(ctx, records[done.Records:])
		if err != nil {
			return done, err
		}
		if err := e.publish(ctx, events); err != nil {
			return done, err
		}
		done.Records += looked
		done.Messages += len(events)
	}
	return done, nil
}

func (e *Events) publish(ctx context.Context, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	all := make([]*message.Message, len(events))
	for i, event := range events {
		all[i] = e.message(ctx, event)
	}
	err := e.publisher.Publish(e.topic, all...)
	if !errors.Is(err, ErrTooLarge) {
		return err
	}
	for _, m := range all { // those before the large one keep their ids, so that they count once
		if err := e.publishOne(m); err != nil {
			return err
		}
	}
	return nil
}

// publishOne sends a message without its data if it is too large: an event that no broker
// takes must not keep back all that follow.
func (e *Events) publishOne(m *message.Message) error {
	err := e.publisher.Publish(e.topic, m)
	if !errors.Is(err, ErrTooLarge) {
		return err
	}
	if m.Payload, err = withoutData(m.Payload); err != nil {
		return err
	}
	return e.publisher.Publish(e.topic, m)
}

func (e *Events) message(ctx context.Context, event Event) *message.Message {
	sequence := strconv.FormatInt(event.Sequence, 10)
	m := message.NewMessage(e.logID+"-"+sequence, event.JSON)
	m.Metadata.Set(MetaSequence, sequence)
	m.Metadata.Set(MetaType, Token(event.Type))
	m.Metadata.Set(MetaLog, e.logID)
	m.SetContext(ctx)
	return m
}

// withoutData is an envelope that says instead of its data how many bytes that had.
func withoutData(envelope []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(envelope, &members); err != nil {
		return nil, fmt.Errorf("shorten an event: %w", err)
	}
	members["data"] = fmt.Appendf(nil, `{"omitted":"too_large","bytes":%d}`, len(members["data"]))
	return json.Marshal(members)
}

// tokenMax bounds the name of a type where brokers have it in subjects and headers.
const tokenMax = 128

// Token is an event's type as it can stand in subjects and headers: callers name their
// events as they like.
func Token(eventType string) string {
	token := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, eventType[:min(len(eventType), tokenMax)])
	parts := strings.FieldsFunc(token, func(r rune) bool { return r == '.' }) // no empty ones
	if len(parts) == 0 {
		return "_"
	}
	return strings.Join(parts, ".")
}
