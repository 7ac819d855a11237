package storetest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"hecate/domain/event"
	"hecate/eventstore"
)

// noted is an event with a text of any size.
type noted struct {
	Text event.Text `json:"text"`
}

func (noted) EventType() string       { return "storetest.noted" }
func (n *noted) Texts() []*event.Text { return []*event.Text{&n.Text} }

var _ = event.Define(noted{Text: event.NewText("a text")})

func newSalt() (salt [16]byte) {
	rand.Read(salt[:]) // never fails (crypto/rand)
	return salt
}

func newBlob(salt [16]byte, content string) event.Blob {
	ref := event.Ref{Digest: event.BlobDigest(salt, []byte(content)), Size: int64(len(content)), MediaType: "image/png"}
	return event.Blob{Ref: ref, Salt: salt, Content: []byte(content)}
}

func repeated(s string, bytes int) string { return strings.Repeat(s, bytes/len(s)+1)[:bytes] }

func randomText(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return string(b)
}

// What went in comes out, byte for byte, through the codec and the log.
func testBytes(t *testing.T, l Log) {
	s := open(t, l)
	texts := []string{
		"", "plain", "NUL \x00 inside", "\x00", "invalid \xff\xfe UTF-8", "\xed\xa0\x80 lone surrogate", "emoji 🎈 \u2028 <b>&amp;",
		`{"n":9007199254740993,"e":1e400,"z":-0,"o":1.0}`, repeated("limit", event.InlineMax), repeated("\x00\xff", event.InlineMax+1),
		repeated("ten mebibytes ", 10<<20), randomText(100_000),
	}
	for i, text := range texts {
		encoded, err := event.Encode(noted{event.NewText(text)}, newSalt)
		if err != nil {
			t.Fatal(err)
		}
		e := NewEvent(encoded.Type, string(encoded.Data))
		e.Blobs = encoded.Blobs
		mustAppend(t, s, To("run-1", int64(i), e))
	}
	for i, r := range readAll(t, s) {
		p, err := event.Decode(r.Type, r.Schema, r.Data, func(ref event.Ref) ([]byte, error) { return s.Blob(withPatience(t), ref.Digest) })
		if err != nil {
			t.Fatal(err)
		}
		if got := p.(noted).Text.String(); got != texts[i] {
			t.Errorf("text %d of %d bytes came back with %d bytes: %.40q", i, len(texts[i]), len(got), got)
		}
	}
	// The log itself does not care whether data is JSON.
	raw := NewEvent("test.raw", "\x00\xff\x00 not JSON '\"\\ $1 ?")
	mustAppend(t, s, To("raw-1", 0, raw))
	got, err := s.ReadStream(withPatience(t), "raw-1", 0, 1)
	if err != nil || len(got) != 1 || !bytes.Equal(got[0].Data, raw.Data) {
		t.Errorf("raw data came back as %v, %v", got, err)
	}
}

func testBlobs(t *testing.T, l Log) {
	s := open(t, l)
	contents := []string{"", "small", repeated("packs well ", 11000), randomText(5000)}
	var blobs []event.Blob
	for _, c := range contents {
		blobs = append(blobs, newBlob(newSalt(), c))
	}
	e := NewEvent("test.attached", "{}")
	e.Blobs = blobs
	mustAppend(t, s, To("run-1", 0, e))
	again := NewEvent("test.attached", "{}")
	again.Blobs = blobs[:1] // the same blob under a second event is no error
	mustAppend(t, s, To("run-1", 1, again))
	for i, b := range blobs {
		got, err := s.Blob(withPatience(t), b.Digest)
		if err != nil || string(got) != contents[i] {
			t.Errorf("blob %d came back with %d bytes, %v", i, len(got), err)
		}
	}
	if _, err := s.Blob(withPatience(t), strings.Repeat("0", 64)); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("an unknown blob: %v, want ErrNotFound", err)
	}
}
