package feed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/eventstore"
)

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

// text is a recorded text as clients get it. JSON cannot hold bytes that are no
// UTF-8, so those come twice: readable, and exact in base64.
func text(t event.Text) (readable, exact string) {
	s := t.String()
	if utf8.ValidString(s) {
		return s, ""
	}
	return strings.ToValidUTF8(s, "\uFFFD"), base64.StdEncoding.EncodeToString([]byte(s))
}

// decoded reads the payload of a record with its texts. A text that was tampered with reads
// as empty, one that was erased as event.ErasedMark. A payload that cannot be read comes back as
// event.Unknown, so that one bad record stops nobody; err is for a log that cannot be
// read at all.
func decoded(ctx context.Context, log Log, r *eventstore.Record) (event.Payload, error) {
	var failed error
	p, err := event.Decode(r.Type, r.Schema, r.Data, func(ref event.Ref) ([]byte, error) {
		b, err := log.Blob(ctx, ref.Digest)
		if errors.Is(err, eventstore.ErrNotFound) || errors.Is(err, eventstore.ErrTampered) {
			return nil, nil
		}
		failed = err
		return b, err
	})
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return event.Unknown{Type: r.Type, Schema: r.Schema, Data: r.Data}, nil
	}
	return p, nil
}
