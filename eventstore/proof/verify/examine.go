package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/stored"
)

// examined is one record after a look at it alone.
type examined struct {
	position int64
	stream   string
	version  int64
	leaf     tlog.Hash // from what the record says, whatever hash it carries
	kind     Kind      // what is wrong with it, "" for nothing
	text     string
}

// name names a record for a person.
func (e *examined) name() string {
	return fmt.Sprintf("record %d (%s version %d)", e.position, e.stream, e.version)
}

// part is a stretch of records after the look.
type part struct {
	rows  []examined
	blobs int64
	err   error
}

// examine reads and checks the records after a position, each by itself.
func (v *verifier) examine(ctx context.Context, after, upTo int64) (p part) {
	rows, err := v.log.Rows(ctx, after, upTo)
	if err != nil {
		p.err = err
		return p
	}
	commands, err := v.commands(ctx, rows)
	if err != nil {
		p.err = err
		return p
	}
	p.rows = make([]examined, len(rows))
	for i := range rows {
		p.rows[i] = look(&rows[i])
		if e := &p.rows[i]; e.kind == "" {
			e.kind, e.text = command(&rows[i], commands)
		}
		n, kind, text, err := v.contents(ctx, &rows[i])
		if err != nil {
			p.err = err
			return p
		}
		p.blobs += n
		if e := &p.rows[i]; e.kind == "" {
			e.kind, e.text = kind, text
		}
	}
	return p
}

// look recomputes the hash of a record.
func look(r *stored.Row) examined {
	e := examined{position: r.Position, stream: r.Stream, version: r.Version}
	hash := eventstore.Hash(r.Record)
	e.leaf = proof.Leaf(hash)
	switch {
	case r.Odd != "":
		e.kind, e.text = Altered, r.Odd
		if r.Data == nil {
			e.kind = Content
		}
	case hash != r.Hash:
		e.kind, e.text = Altered, "what it says does not match its hash"
	}
	return e
}

// commands reads where the commands of records are said to stand.
func (v *verifier) commands(ctx context.Context, rows []stored.Row) (map[string]stored.Span, error) {
	var ids []string
	for i := range rows {
		if id := rows[i].CommandID; id != "" && (i == 0 || rows[i-1].CommandID != id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return v.log.Commands(ctx, ids)
}

func command(r *stored.Row, commands map[string]stored.Span) (Kind, string) {
	if r.CommandID == "" {
		return "", ""
	}
	span, ok := commands[r.CommandID]
	switch {
	case !ok:
		return Link, fmt.Sprintf("the table of commands does not know its command %.100q", r.CommandID)
	case r.Position < span.First || r.Position > span.Last:
		return Link, fmt.Sprintf("its command %.100q is said to have appended records %d to %d", r.CommandID, span.First, span.Last)
	}
	return "", ""
}

var blobMark = []byte(`"blob":`)

// contents checks the large contents that a record refers to.
func (v *verifier) contents(ctx context.Context, r *stored.Row) (n int64, kind Kind, text string, err error) {
	if !bytes.Contains(r.Data, blobMark) {
		return 0, "", "", nil
	}
	for _, ref := range Refs(r.Record) {
		n++
		blob, err := v.log.Blob(ctx, ref.Digest)
		switch {
		case errors.Is(err, eventstore.ErrNotFound):
			return n, Content, fmt.Sprintf("its content %s is missing", ref.Digest), nil
		case errors.Is(err, eventstore.ErrTampered):
			return n, Content, fmt.Sprintf("its content %s is not what it was", ref.Digest), nil
		case err != nil:
			return n, "", "", err
		case blob.Size != ref.Size || int64(len(blob.Content)) != ref.Size || blob.MediaType != ref.MediaType:
			return n, Content, fmt.Sprintf("its content %s is described as %d bytes of %.100q, and the record says %d bytes of %.100q",
				ref.Digest, blob.Size, blob.MediaType, ref.Size, ref.MediaType), nil
		}
	}
	return n, "", "", nil
}

// Refs returns the large contents that a record refers to, as far as this build knows the type.
func Refs(r eventstore.Record) (refs []event.Ref) {
	// Only the declared type tells a reference from data of a caller that looks like one.
	_, _ = event.Decode(r.Type, r.Schema, r.Data, func(ref event.Ref) ([]byte, error) {
		refs = append(refs, ref)
		return nil, nil
	})
	return refs
}
