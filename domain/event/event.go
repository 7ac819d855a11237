// Package event is the vocabulary of the log: what a fact is, how it becomes
// bytes and how older bytes become today's fact.
//
// A fact is declared once, in the events.go of its subject:
//
//	// Finished is recorded when a run ends well.
//	type Finished struct { … }
//
//	func (Finished) EventType() string { return "run.finished" }
//
//	var _ = event.Define(Finished{…a sample for the golden file…})
//
// The codec, the generated catalogue and the public feed follow from that.
package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"time"
)

// Payload is what happened: a plain struct whose type name is a wire format.
type Payload interface{ EventType() string }

// Event is a payload with its place in a stream, as folds see it.
type Event struct {
	ID       [16]byte  // UUIDv7; zero while the writer has not given it one
	Position int64     // in the log; 0 for an event that was not read from there
	Version  int64     // 1, 2, 3 … within the stream
	At       time.Time // when it was recorded (UTC, microseconds)
	Payload  Payload
	Withheld []string // names of the secrets that its payload is without, see Without

	looked bool
}

// Unknown is the payload of a type, or a newer schema of a type, that this
// build does not know. It is passed on as it is and folds to nothing.
type Unknown struct {
	Type   string
	Schema int
	Data   json.RawMessage
}

// EventType returns the recorded type name.
func (u Unknown) EventType() string { return u.Type }

// Definition describes one event type.
type Definition struct {
	Type   string
	Schema int     // current payload version, 1 for a type that never changed
	Sample Payload // an example, for golden files and the catalogue
	steps  []Step  // steps[i] lifts schema i+1 to i+2
	encode func(Payload, func() [16]byte) ([]byte, []Blob, error)
	decode func([]byte, Fetch) (Payload, error)
}

// Fetch brings back a text that was moved out of its event.
type Fetch func(Ref) ([]byte, error)

// Step lifts the bytes of one schema version to the next.
type Step func(old []byte) ([]byte, error)

// Upcast makes a Step from a pure function between two payload structs.
func Upcast[Old, New any](lift func(Old) New) Step {
	return func(old []byte) ([]byte, error) {
		var o Old
		if err := json.Unmarshal(old, &o); err != nil {
			return nil, err
		}
		return json.Marshal(lift(o))
	}
}

// registry is filled by package variables before main and never changes later.
var registry = map[string]*Definition{}

// Define registers the type of sample. It panics on a second definition of the
// same name: that is a programming error found at start.
func Define[P Payload](sample P, steps ...Step) *Definition {
	d := &Definition{
		Type: sample.EventType(), Schema: 1 + len(steps), Sample: sample, steps: steps,
		encode: encodeAs[P], decode: decodeAs[P],
	}
	if _, dup := registry[d.Type]; dup {
		panic("event: " + d.Type + " is defined twice")
	}
	registry[d.Type] = d
	return d
}

// texter is a payload with texts that may be too large for the log itself. It
// is implemented on the pointer.
type texter interface{ Texts() []*Text }

func encodeAs[P Payload](p Payload, newSalt func() [16]byte) ([]byte, []Blob, error) {
	v, ok := p.(P)
	if !ok {
		return nil, nil, fmt.Errorf("the payload is a %T, not a %T", p, v)
	}
	var blobs []Blob
	if t, ok := any(&v).(texter); ok {
		for _, text := range t.Texts() {
			// A text that was moved out keeps its content in memory, so the caller sees no change.
			if b, moved := text.moveOut(newSalt); moved {
				blobs = append(blobs, b)
			}
		}
	}
	data, err := marshal(v)
	return data, blobs, err
}

func decodeAs[P Payload](data []byte, fetch Fetch) (Payload, error) {
	var v P
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	t, ok := any(&v).(texter)
	if !ok || fetch == nil {
		return v, nil
	}
	for _, text := range t.Texts() {
		if text.ref == nil {
			continue
		}
		b, err := fetch(*text.ref)
		if errors.Is(err, ErrErased) {
			*text = erasedText(text.ref.Size)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read text %s: %w", text.ref.Digest, err)
		}
		text.s = string(b)
	}
	return v, nil
}

// Definitions returns all known types in order of name.
func Definitions() []*Definition {
	out := make([]*Definition, 0, len(registry))
	for _, d := range registry {
		out = append(out, d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Type < out[j].Type })
	return out
}

// Encoded is a payload as bytes, with the texts that were moved out of it.
type Encoded struct {
	Type   string
	Schema int
	Data   []byte // JSON, exactly as it is hashed and stored
	Blobs  []Blob // to be durable before the event
}

// Encode writes p as JSON and moves texts over InlineMax into blobs. newSalt
// gives each blob 16 fresh random bytes.
func Encode(p Payload, newSalt func() [16]byte) (Encoded, error) {
	d, ok := registry[p.EventType()]
	if !ok {
		return Encoded{}, fmt.Errorf("encode %s: the type is not defined", p.EventType())
	}
	data, blobs, err := d.encode(p, newSalt)
	if err != nil {
		return Encoded{}, fmt.Errorf("encode %s: %w", d.Type, err)
	}
	return Encoded{Type: d.Type, Schema: d.Schema, Data: data, Blobs: blobs}, nil
}

// marshal is json.Marshal without the escaping of <, > and &: the bytes are not HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode reads recorded bytes. Older schemas are lifted; an unknown type or a
// newer schema becomes Unknown. fetch brings back texts that were moved out; with
// a nil fetch such texts stay references.
func Decode(typ string, schema int, data []byte, fetch Fetch) (Payload, error) {
	d, ok := registry[typ]
	if !ok || schema > d.Schema || schema < 1 {
		return Unknown{Type: typ, Schema: schema, Data: data}, nil
	}
	var err error
	for _, step := range d.steps[schema-1:] {
		if data, err = step(data); err != nil {
			return nil, fmt.Errorf("upcast %s from schema %d: %w", typ, schema, err)
		}
	}
	p, err := d.decode(data, fetch)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", typ, err)
	}
	return p, nil
}

// Known reports whether this build defines the type.
func Known(typ string) bool { _, ok := registry[typ]; return ok }

// GoType returns the struct behind a definition, for generated documents.
func (d *Definition) GoType() reflect.Type { return reflect.TypeOf(d.Sample) }
