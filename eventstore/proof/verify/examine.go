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
	command  string
	leaf     tlog.Hash // from what the record says, whatever hash it carries
	erased   bool      // its data, and the log says so
	kind     Kind      // what is wrong with it, "" for nothing
	text     string
}

// name names a record for a person.
func (e *examined) name() string {
	return fmt.Sprintf("record %d (%s version %d)", e.position, e.stream, e.version)
}

// fault notes what is wrong; of several things the first.
func (e *examined) fault(kind Kind, text string) {
	if e.kind == "" {
		e.kind, e.text = kind, text
	}
}

// part is a stretch of records after the look.
type part struct {
	rows  []examined
	refs  []reference
	blobs int64
	err   error
}

// reference is a large content that a record refers to.
type reference struct {
	row int // of the part
	event.Ref
}

// examine reads and checks the records after a position, each by itself. Of their data it keeps nothing.
func (v *verifier) examine(ctx context.Context, after, upTo int64) (p part) {
	p.rows = make([]examined, 0, upTo-after)
	p.err = v.log.Each(ctx, after, upTo, func(r *stored.Row) error {
		for _, ref := range Refs(r.Record) {
			p.refs = append(p.refs, reference{len(p.rows), ref})
		}
		p.rows = append(p.rows, look(r))
		return v.erasure(ctx, &p.rows[len(p.rows)-1], r)
	})
	if p.err == nil {
		p.err = v.commands(ctx, p.rows)
	}
	if p.err == nil {
		p.err = v.contents(ctx, &p)
	}
	return p
}

// look recomputes the hash of a record.
func look(r *stored.Row) examined {
	e := examined{position: r.Position, stream: r.Stream, version: r.Version, command: r.CommandID}
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

// commands holds records against where their commands are said to stand.
func (v *verifier) commands(ctx context.Context, rows []examined) error {
	var ids []string
	for i := range rows {
		if id := rows[i].command; id != "" && (i == 0 || rows[i-1].command != id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	spans, err := v.log.Commands(ctx, ids)
	if err != nil {
		return err
	}
	for i := range rows {
		e := &rows[i]
		span, ok := spans[e.command]
		switch {
		case e.command == "":
		case !ok:
			e.fault(Link, fmt.Sprintf("the table of commands does not know its command %.100q", e.command))
		case e.position < span.First || e.position > span.Last:
			e.fault(Link, fmt.Sprintf("its command %.100q is said to have appended records %d to %d", e.command, span.First, span.Last))
		}
	}
	return nil
}

// contents checks the large contents that records refer to.
func (v *verifier) contents(ctx context.Context, p *part) error {
	for _, ref := range p.refs {
		e := &p.rows[ref.row]
		p.blobs++
		blob, err := v.log.Blob(ctx, ref.Digest)
		switch {
		case errors.Is(err, eventstore.ErrNotFound):
			erased, err := v.contentErased(ctx, ref.Digest)
			if err != nil {
				return err
			}
			if !erased {
				e.fault(Content, fmt.Sprintf("its content %s is missing", ref.Digest))
			}
		case errors.Is(err, eventstore.ErrTampered):
			e.fault(Content, fmt.Sprintf("its content %s is not what it was", ref.Digest))
		case err != nil:
			return err
		case blob.Size != ref.Size || int64(len(blob.Content)) != ref.Size || blob.MediaType != ref.MediaType:
			e.fault(Content, fmt.Sprintf("its content %s is described as %d bytes of %.100q, and the record says %d bytes of %.100q",
				ref.Digest, blob.Size, blob.MediaType, ref.Size, ref.MediaType))
		}
	}
	return nil
}

// blobMark is in the data of every record that refers to a large content.
var blobMark = []byte(`"blob":`)

// Refs returns the large contents that a record refers to, as far as this build knows the type.
func Refs(r eventstore.Record) (refs []event.Ref) {
	if !bytes.Contains(r.Data, blobMark) {
		return nil // nearly all; decoding them would cost more than their hashes
	}
	// Only the declared type tells a reference from data of a caller that looks like one.
	_, _ = event.Decode(r.Type, r.Schema, r.Data, func(ref event.Ref) ([]byte, error) {
		refs = append(refs, ref)
		return nil, nil
	})
	return refs
}
