package eventstore

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"hecate/domain/event"
)

// Lengths of the texts in a record's envelope, in bytes. Anything longer belongs
// into the data.
const (
	NameMax  = 256 // stream, type, command id, actor name and organisation
	TraceMax = 512
)

// PlacesMax is how many places a worker may reach.
const PlacesMax = 64

// Validate returns an error that wraps ErrInvalid if no log could register the
// worker. Stores call it before anything else.
func (w Worker) Validate() error {
	if err := checkName("instance", w.Instance); err != nil {
		return err
	}
	if err := checkName("node", w.Node); err != nil {
		return err
	}
	if len(w.Reach) > PlacesMax {
		return invalid("%d places, at most %d", len(w.Reach), PlacesMax)
	}
	for _, place := range w.Reach {
		if err := checkName("place", place); err != nil {
			return err
		}
	}
	if w.TTL <= 0 {
		return invalid("a lease of %s", w.TTL)
	}
	return nil
}

// Validate returns an error that wraps ErrInvalid if the batch breaks a limit or
// holds something that no log could keep. Stores call it before anything else.
func (b Batch) Validate() error {
	if err := b.validateEnvelope(); err != nil {
		return err
	}
	if len(b.Streams) > StreamsMax {
		return invalid("%d streams, at most %d", len(b.Streams), StreamsMax)
	}
	events := 0
	for i, s := range b.Streams {
		for _, other := range b.Streams[:i] {
			if other.Stream == s.Stream {
				return invalid("stream %s is named twice", s.Stream)
			}
		}
		if err := s.validate(); err != nil {
			return err
		}
		events += len(s.Events)
	}
	if events > EventsMax {
		return invalid("%d events, at most %d", events, EventsMax)
	}
	return b.validateErasure()
}

func (b Batch) validateEnvelope() error {
	for _, f := range []struct{ what, text string }{
		{"command id", b.CommandID},
		{"actor kind", b.Actor.Kind},
		{"actor name", b.Actor.Name},
		{"actor organisation", b.Actor.Org},
	} {
		if f.text == "" {
			continue
		}
		if err := checkName(f.what, f.text); err != nil {
			return err
		}
	}
	if len(b.Trace) > TraceMax || !plain(b.Trace) {
		return invalid("trace of %d bytes is too long or holds control characters", len(b.Trace))
	}
	if b.CausedBy < 0 {
		return invalid("caused by position %d", b.CausedBy)
	}
	return nil
}

func (s StreamAppend) validate() error {
	if err := checkName("stream", s.Stream); err != nil {
		return err
	}
	if s.Expected < AnyVersion {
		return invalid("stream %s: expected version %d", s.Stream, s.Expected)
	}
	if s.Epoch < 0 {
		return invalid("stream %s: epoch %d", s.Stream, s.Epoch)
	}
	switch s.Work {
	case WorkKeep, WorkClose:
	case WorkOpen:
		// The mark is the position of an event, so that marks are in order and differ.
		if len(s.Events) == 0 {
			return invalid("stream %s: open work needs an event", s.Stream)
		}
	default:
		return invalid("stream %s: work %d", s.Stream, s.Work)
	}
	for i, e := range s.Events {
		if err := e.validate(); err != nil {
			return fmt.Errorf("stream %s, event %d: %w", s.Stream, i+1, err)
		}
	}
	return nil
}

func (e Event) validate() error {
	if e.ID == [16]byte{} {
		return invalid("no event id")
	}
	if err := checkName("type", e.Type); err != nil {
		return err
	}
	if e.Schema < 1 || e.Schema > 1<<30 {
		return invalid("%s: schema %d", e.Type, e.Schema)
	}
	if e.At.IsZero() {
		return invalid("%s: no time", e.Type)
	}
	if len(e.Data) == 0 || len(e.Data) > DataMax {
		return invalid("%s: %d bytes of data, at least 1 and at most %d", e.Type, len(e.Data), DataMax)
	}
	for _, blob := range e.Blobs {
		if len(blob.Content) > BlobMax {
			return invalid("%s: blob of %d bytes, at most %d", e.Type, len(blob.Content), BlobMax)
		}
		if event.BlobDigest(blob.Salt, blob.Content) != blob.Digest {
			return invalid("%s: blob %.100q is not the digest of its content", e.Type, blob.Digest)
		}
		if len(blob.MediaType) > NameMax || !plain(blob.MediaType) {
			return invalid("%s: media type %.100q", e.Type, blob.MediaType)
		}
	}
	return nil
}

// checkName refuses what would look the same as another name, or nothing at
// all, to a person who reads it.
func checkName(what, s string) error {
	if s == "" || len(s) > NameMax || !plain(s) || strings.TrimSpace(s) != s {
		return invalid("%s %.300q must be 1 to %d bytes without control characters and surrounding space", what, s, NameMax)
	}
	return nil
}

// plain reports whether s is UTF-8 without control characters.
func plain(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
