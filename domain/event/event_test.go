package event_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"hecate/domain/event"
)

type noted struct {
	Text event.Text `json:"text"`
	N    int        `json:"n"`
}

func (noted) EventType() string       { return "test.noted" }
func (n *noted) Texts() []*event.Text { return []*event.Text{&n.Text} }
func salt() [16]byte                  { return [16]byte{1, 2, 3} }

type countedV1 struct {
	Host string `json:"host"`
}
type counted struct {
	Worker  string `json:"worker"`
	Attempt int    `json:"attempt"`
}

func (counted) EventType() string { return "test.counted" }

var (
	_ = event.Define(noted{})
	_ = event.Define(counted{}, event.Upcast(func(old countedV1) counted { return counted{Worker: old.Host, Attempt: 1} }))
)

// Texts come back byte for byte, whatever the bytes and however many.
func FuzzTextRoundTrip(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x00b", "\xff\xfe broken", "<&>", "\u2028", `{"blob":"x"}`, strings.Repeat("ü", event.InlineMax)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		enc, err := event.Encode(noted{Text: event.NewText(s), N: 7}, salt)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(enc.Data) {
			t.Fatalf("no JSON: %q", enc.Data)
		}
		if moved := len(s) > event.InlineMax; moved != (len(enc.Blobs) == 1) {
			t.Fatalf("%d bytes gave %d blobs", len(s), len(enc.Blobs))
		}
		p, err := event.Decode(enc.Type, enc.Schema, enc.Data, func(r event.Ref) ([]byte, error) {
			b := enc.Blobs[0]
			if r.Digest != event.BlobDigest(b.Salt, b.Content) {
				t.Fatalf("reference %s does not name the blob", r.Digest)
			}
			return b.Content, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.(noted); got.Text.String() != s || got.Text.Len() != int64(len(s)) {
			t.Fatalf("%q came back as %q", s, got.Text.String())
		}
	})
}

func TestOlderSchemasAreLifted(t *testing.T) {
	p, err := event.Decode("test.counted", 1, []byte(`{"host":"h1"}`), nil)
	if err != nil || p != (counted{"h1", 1}) {
		t.Fatalf("%+v, %v", p, err)
	}
}

// What this build does not know is kept as it is, so that it can be passed on.
func TestUnknownTypesAndNewerSchemasAreKept(t *testing.T) {
	for _, c := range []struct {
		typ    string
		schema int
	}{{"test.later", 1}, {"test.counted", 3}} {
		data := []byte(`{"x":9007199254740993}`)
		p, err := event.Decode(c.typ, c.schema, data, nil)
		u, ok := p.(event.Unknown)
		if err != nil || !ok || u.EventType() != c.typ || !bytes.Equal(u.Data, data) {
			t.Fatalf("%+v, %v", p, err)
		}
	}
}

func TestAnUndefinedTypeCannotBeWritten(t *testing.T) {
	if _, err := event.Encode(event.Unknown{Type: "test.nowhere"}, salt); err == nil {
		t.Fatal("no error")
	}
}
