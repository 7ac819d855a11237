// Package runner moves facts from the log into read models, in order and each once.
//
// A model's rows and its checkpoint change in one transaction; the checkpoint moves
// only from where this process believes it to be, so of two processes one wins and
// the other one follows. A fact that a model cannot take parks its stream for that
// model and nothing else. A model can be built again beside the one that is read;
// readers see the old one until the new one has everything.
package runner

import (
	"context"
	"fmt"
	"time"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/projections/readdb"
)

// Model is a read model: which facts it is made of and how.
type Model interface {
	Name() string      // lower-case letters; part of table names
	Version() int64    // of its code and tables; another one means building again
	Schema() string    // makes its tables, see readdb
	Wants(string) bool // whether facts of this type matter to it
	NewFold() Fold     // a fold over one build's tables
}

// Undecoded is a Model that takes records as they are: the payloads of its facts are nil,
// and there is no type or schema that it does not know.
type Undecoded interface{ Undecoded() }

// Patient is a Model that may stay behind for longer than others where nobody waits for it,
// so that a busy log costs it few transactions.
type Patient interface{ Patience() time.Duration }

// Fold collects the effect of a batch of facts in memory and writes it once. It may
// keep what it has written, to save reading it again: nobody else writes there.
type Fold interface {
	// Apply takes one fact. An error that is not the transaction's means that the
	// model cannot take this fact.
	Apply(context.Context, *readdb.Tx, Fact) error
	// Flush writes what has changed.
	Flush(context.Context, *readdb.Tx) error
	// Forget drops everything in memory, after a transaction that did not happen.
	Forget()
}

// Fact is a record of the log with its decoded payload, see Undecoded for one without.
// Texts in blobs stay references.
type Fact struct {
	eventstore.Record
	Payload event.Payload
}

// batch is a dense piece of the log and the facts in it that a model wants.
type batch struct {
	first, last int64
	lastID      [16]byte
	facts       []Fact
	bad         *poisonError // the first record that could not be decoded; it ends facts
}

// never is for decoding what cannot wait in a parked stream.
func never(eventstore.Record) bool { return false }

// decode reads the records that the model wants and that do not wait.
func decode(m Model, records []eventstore.Record, parked func(eventstore.Record) bool) batch {
	last := records[len(records)-1]
	b := batch{first: records[0].Position, last: last.Position, lastID: last.ID}
	_, asIs := m.(Undecoded)
	for _, r := range records {
		if !m.Wants(r.Type) || parked(r) {
			continue
		}
		if asIs {
			b.facts = append(b.facts, Fact{Record: r})
			continue
		}
		p, err := event.Decode(r.Type, r.Schema, r.Data, nil)
		if u, ok := p.(event.Unknown); ok && err == nil {
			err = fmt.Errorf("schema %d of %s is newer than this build", u.Schema, u.Type)
		}
		b.facts = append(b.facts, Fact{Record: r, Payload: p})
		if err != nil {
			b.bad = &poisonError{record: r, cause: err}
			break
		}
	}
	return b
}

// poisonError says that a model could not take a record.
type poisonError struct {
	record eventstore.Record
	cause  error
}

func (e *poisonError) Error() string {
	return fmt.Sprintf("%s at position %d (%s, version %d): %v", e.record.Type, e.record.Position, e.record.Stream, e.record.Version, e.cause)
}

func (e *poisonError) Unwrap() error { return e.cause }
