package proof

import (
	"context"
	"errors"
	"fmt"

	"hecate/domain/logkey"
	"hecate/eventstore"
)

// signing is with which key a sealer signs, and how far.
type signing struct {
	key     Key
	from    int64 // the smallest tree that it signs
	until   int64 // the largest one
	changes int64 // position of the newest record about keys that this takes into account
	met     int64 // position of such a record that was met, and not taken into account yet
}

// ends reports whether the key signs no tree with that record in it, as far as is known.
func (s *signing) ends(r *eventstore.Record) bool {
	if r.Stream == logkey.Stream && r.Position > s.changes {
		s.met = r.Position
		return true
	}
	return r.Position > s.until
}

// sign finds the key for the records behind the last checkpoint: the one that has signed that,
// up to the record that names another one, and the other from there on. A key that is not
// held is passed over where a later one may sign in its place.
func (s *Sealer) sign(ctx context.Context) error {
	changes, err := Changes(ctx, s.log)
	if err != nil {
		return err
	}
	next := signing{met: s.signing.met}
	if n := len(changes); n > 0 {
		next.changes = changes[n-1].Position
	}
	if next.changes < next.met {
		return fmt.Errorf("%w: record %d is of the stream %s, and is not found in it", eventstore.ErrTampered, next.met, logkey.Stream)
	}
	terms, err := s.terms(changes)
	if err != nil {
		return err
	}
	var missing error
	for i := max(0, terms.Index(s.known)); i < len(terms); i++ {
		next.from, next.until = max(terms[i].From, s.last.Size+1), terms.Until(i)
		if next.from > next.until {
			continue
		}
		next.key, err = s.keys.Holding(terms[i].Public)
		if err == nil {
			s.signing = next
			return nil
		}
		if !errors.Is(err, ErrOtherKey) {
			return err
		}
		missing = err
	}
	return missing
}

// terms are the keys of the log, if what it says about them is sound.
func (s *Sealer) terms(changes []eventstore.Record) (Terms, error) {
	first := ""
	if len(changes) == 0 {
		first = s.known
	}
	terms, doubts := TermsOf(s.origin, first, changes)
	if len(doubts) > 0 {
		return nil, fmt.Errorf("%w: record %d, about the key: %w", eventstore.ErrTampered, doubts[0].Position, doubts[0].Err)
	}
	if s.known != "" && terms.Index(s.known) < 0 {
		return nil, fmt.Errorf("%w: it is sealed under a key that none of its records names, %.200s", eventstore.ErrTampered, s.known)
	}
	if len(terms) == 0 {
		terms = Terms{{}} // the log has no key yet
	}
	return terms, nil
}
