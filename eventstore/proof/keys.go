package proof

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hecate/domain/event"
	"hecate/domain/logkey"
	"hecate/eventstore"
)

// keyPage is how many changes of the key are read at a time.
const keyPage = 100

// Term is what one key of a log may sign.
type Term struct {
	Public   string
	Named    int64  // position of the record that names it; 0 for the key that the log began with
	From     int64  // the smallest tree that it signs
	Replaced bool   // it took the place of one that was lost: no key vouches for it
	Reason   string // what was said about that
}

// Terms are the keys of a log in the order in which they sign.
type Terms []Term

// Doubt is what is wrong with a record that names a key.
type Doubt struct {
	Position int64
	Err      error
}

// TermsOf works out the keys of a log from the records of the stream logkey.Stream, in order.
// first is the key that the log began with; "" leaves that to the first record. Doubtful
// records are told, and count as if they were sound: what they lead to can be checked all the same.
func TermsOf(origin, first string, changes []eventstore.Record) (terms Terms, doubts []Doubt) {
	if first != "" {
		terms = append(terms, Term{Public: first})
	}
	for _, r := range changes {
		next, old, err := termOf(origin, r)
		if next.Public == "" {
			doubts = append(doubts, Doubt{r.Position, err})
			continue
		}
		if len(terms) == 0 {
			terms = append(terms, Term{Public: old})
		}
		switch current := terms[len(terms)-1].Public; {
		case terms.Index(next.Public) >= 0:
			doubts = append(doubts, Doubt{r.Position, errors.New("it names a key that the log had before")})
			continue
		case old != current:
			err = errors.Join(fmt.Errorf("it changes the key %.200s, and the log had %.200s", old, current), err)
		}
		if err != nil {
			doubts = append(doubts, Doubt{r.Position, err})
		}
		terms = append(terms, next)
	}
	return terms, doubts
}

// termOf reads a record that names a key. What cannot be read has no key.
func termOf(origin string, r eventstore.Record) (next Term, old string, err error) {
	p, err := event.Decode(r.Type, r.Schema, r.Data, nil)
	if err != nil {
		return next, "", fmt.Errorf("it cannot be read: %w", err)
	}
	switch p := p.(type) {
	case logkey.Rotated:
		next = Term{Public: p.New, Named: r.Position, From: r.Position, Reason: p.Reason}
		return next, p.Old, CheckStatement(p.Statement, origin, p.Old, p.New)
	case logkey.Replaced:
		next = Term{Public: p.New, Named: r.Position, From: p.After + 1, Replaced: true, Reason: p.Reason}
		if _, err = verifierOf(p.New, origin); err == nil && (p.After < 0 || p.After >= r.Position) {
			err = fmt.Errorf("it says that %d records were sealed before it", p.After)
		}
		return next, p.Old, err
	}
	return next, "", fmt.Errorf("this build knows no %.100q", r.Type)
}

// Index finds a key; -1 if the log never had it.
func (t Terms) Index(public string) int {
	return slices.IndexFunc(t, func(k Term) bool { return k.Public == public })
}

// Known returns those of the keys that the log has had.
func (t Terms) Known(keys []string) (known []string) {
	for _, public := range keys {
		if t.Index(public) >= 0 {
			known = append(known, public)
		}
	}
	return known
}

// Until is the largest tree that the key of a term signs. No key signs a tree with a record
// that names a later one.
func (t Terms) Until(i int) int64 {
	until := int64(math.MaxInt64)
	for _, later := range t[i+1:] {
		until = min(until, later.Named-1)
	}
	return until
}

// Unvouched returns the first key that the trusted ones do not speak for: it took the place of
// a lost one, and neither it nor a later one is trusted. Keys speak for those before them, since
// they sign the records that name them, and for those that they vouch for. nil if there is none.
func (t Terms) Unvouched(trusted []string) *Term {
	for i := len(t) - 1; i >= 0; i-- {
		if slices.Contains(trusted, t[i].Public) {
			t = t[i+1:]
			break
		}
	}
	if i := slices.IndexFunc(t, func(k Term) bool { return k.Replaced }); i >= 0 {
		return &t[i]
	}
	return nil
}

// keyLog is what holds the records that name keys.
type keyLog interface {
	ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error)
}

// Changes reads the records that name the keys of a log.
func Changes(ctx context.Context, log keyLog) (all []eventstore.Record, err error) {
	for {
		page, err := log.ReadStream(ctx, logkey.Stream, int64(len(all)), keyPage)
		if err != nil {
			return nil, fmt.Errorf("read the changes of the key: %w", err)
		}
		if all = append(all, page...); len(page) < keyPage {
			return all, nil
		}
	}
}
