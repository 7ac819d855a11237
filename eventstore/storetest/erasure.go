package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"hecate/domain/erasure"
	"hecate/eventstore"
)

const whole = "personal data that nobody may read again"

// erasing returns a batch that erases records and contents.
func erasing(expected int64, contents []string, records ...eventstore.Record) eventstore.Batch {
	b := To(erasure.Stream, expected, NewEvent(erasure.Type, `{"rule":"request"}`))
	b.Erase = &eventstore.Erasure{Contents: contents}
	for _, r := range records {
		b.Erase.Records = append(b.Erase.Records, eventstore.ErasedRecord{Position: r.Position, Salt: r.Salt, Digest: r.DataDigest(), Form: []byte(`{"left":1}`)})
	}
	return b
}

// What is erased is gone for every reader, and the record can still be verified.
func testErasure(t *testing.T, l Log) {
	s := open(t, l)
	blob := newBlob(newSalt(), whole)
	secret := NewEvent("test.said", fmt.Sprintf(`{"text":%q}`, whole))
	secret.Blobs = append(secret.Blobs, blob)
	mustAppend(t, s, To("run-1", 0, NewEvents(2)...))
	mustAppend(t, s, To("run-1", 2, secret))
	mustAppend(t, s, To("run-2", 0, NewEvents(1)...))
	before := readAll(t, s)
	done := mustAppend(t, s, erasing(0, []string{blob.Digest}, before[0], before[2]))
	mustAppend(t, s, To("run-1", 3, NewEvents(1)...))

	stream, err := s.ReadStream(withPatience(t), "run-1", 0, 10)
	must(t, err)
	stored, err := s.(eventstore.StoredReader).ReadStored(withPatience(t), 0, 10)
	must(t, err)
	for name, got := range map[string][]eventstore.Record{"the whole log": readAll(t, s), "the stream": stream, "the database": stored} {
		for _, r := range got {
			must(t, eventstore.Verify(r))
			erased := r.Position == 1 || r.Position == 3
			if (r.Erased == done.First) != erased || erased != (string(r.Data) == `{"left":1}`) || erased && r.Salt != [16]byte{} {
				t.Errorf("%s: record %d is erased by %d and says %s", name, r.Position, r.Erased, r.Data)
			}
			if erased && (r.Hash != before[r.Position-1].Hash || r.DataDigest() != before[r.Position-1].DataDigest()) {
				t.Errorf("%s: record %d has another hash or digest", name, r.Position)
			}
			if bytes.Contains(r.Data, []byte(whole)) {
				t.Errorf("%s: record %d says %s", name, r.Position, r.Data)
			}
		}
	}
	if _, err := s.Blob(withPatience(t), blob.Digest); !errors.Is(err, eventstore.ErrErased) {
		t.Errorf("the content: %v, want ErrErased", err)
	}
	if l.Durable {
		must(t, s.Close())
		again := open(t, l)
		if r := readAll(t, again); r[2].Erased != done.First || eventstore.Verify(r[2]) != nil {
			t.Errorf("opened again: %+v", r[2])
		}
	}
}

// An erasure that cannot be carried out as decided leaves no event either.
func testErasureAsAWhole(t *testing.T, l Log) {
	s := open(t, l)
	mustAppend(t, s, To("run-1", 0, NewEvents(3)...))
	before := readAll(t, s)
	mustAppend(t, s, erasing(0, nil, before[1]))
	wrong := before[2]
	wrong.Salt[0]++
	far := before[2]
	far.Position = 99
	for name, b := range map[string]eventstore.Batch{
		"erased before":    erasing(1, nil, before[0], before[1]),
		"another salt":     erasing(1, nil, before[0], wrong),
		"no such record":   erasing(1, nil, before[0], far),
		"out of order":     erasing(1, nil, before[2], before[0]),
		"any version":      erasing(eventstore.AnyVersion, nil, before[0]),
		"another stream":   {Actor: before[0].Actor, Erase: &eventstore.Erasure{}, Streams: To("run-1", 3, NewEvent(erasure.Type, "{}")).Streams},
		"another type":     {Actor: before[0].Actor, Erase: &eventstore.Erasure{}, Streams: To(erasure.Stream, 1, NewEvent("test.said", "{}")).Streams},
		"too many records": erasing(1, make([]string, erasure.ContentsMax+1)),
	} {
		if _, err := s.Append(withPatience(t), b); !errors.Is(err, eventstore.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	var conflict *eventstore.ConflictError
	if _, err := s.Append(withPatience(t), erasing(0, nil, before[0])); !errors.As(err, &conflict) {
		t.Errorf("decided on an older state: %v, want a conflict", err)
	}
	after := readAll(t, s)
	if len(after) != 4 || after[0].Erased != 0 || !bytes.Equal(after[0].Data, before[0].Data) {
		t.Errorf("%d records, the first one erased by %d", len(after), after[0].Erased)
	}
	mustAppend(t, s, erasing(1, nil, before[0])) // and it goes on
}
