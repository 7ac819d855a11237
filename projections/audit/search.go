package audit

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"hecate/projections/readdb"
)

const (
	lookMax = 512 // records that are looked at together
	rarerBy = 128 // a list that is so much denser than another is of no help to walk along
)

// search finds the records that stand in all lists. It walks along those of similar length
// side by side, leaping over what one of them does not have. What is found there is asked
// about its time, and about the lists that are much longer.
type search struct {
	tx            *readdb.Tx
	way           direction
	limit         int
	from, to      time.Time
	after, before int64
	lists         [][]int64 // of each, one of the codes

	spent   budget
	walked  []*choiceWalk
	asked   [][]int64 // lists that records are asked about
	at, end int64     // turned positions: what comes next, and what not any more
	found   []entry   // without their codes
}

func (s *search) run(ctx context.Context) (Page, error) {
	if s.before <= 0 {
		s.before = math.MaxInt64
	}
	some, err := s.within(ctx)
	if err != nil || !some {
		return Page{}, err
	}
	if some, err = s.plan(ctx); err != nil || !some {
		return Page{}, err
	}
	s.spent = budget{}
	for look := s.limit; ; look = max(s.limit, min(2*look, lookMax, s.spent.left())) {
		places, more, err := s.candidates(ctx, look)
		if err != nil {
			return Page{}, err
		}
		full, err := s.keep(ctx, places)
		if err != nil {
			return Page{}, err
		}
		if full && s.at < s.end || more && s.spent.over() {
			return s.page(ctx, s.edge())
		}
		if full || !more {
			return s.page(ctx, 0)
		}
	}
}

// edge is where the search goes on.
func (s *search) edge() int64 {
	if s.way == direction(NewestFirst) {
		return s.way.turn(s.at) + 1
	}
	return s.at - 1
}

// within narrows the positions to those that records of the time can have, and to those
// that there are where no list says so.
func (s *search) within(ctx context.Context) (bool, error) {
	switch {
	case !s.from.IsZero() || !s.to.IsZero():
		first, last, some, err := between(ctx, s.tx, s.from, s.to)
		if err != nil || !some {
			return false, err
		}
		s.after, s.before = max(s.after, first-1), min(s.before, last+1)
	case len(s.lists) == 0 && s.before-s.after > lookMax:
		var top sql.NullInt64
		if _, err := s.tx.One(ctx, topQuery, nil, &top); err != nil || !top.Valid {
			return false, err
		}
		s.before = min(s.before, (top.Int64+1)*slotRecords)
	}
	s.after = max(s.after, 0)
	if s.at, s.end = s.after+1, s.before; s.way == direction(NewestFirst) {
		s.at, s.end = s.way.turn(s.before-1), s.way.turn(s.after)
	}
	return s.at < s.end, nil
}

// plan chooses the lists to walk along: the rarest ones, as far as can be seen from here.
func (s *search) plan(ctx context.Context) (some bool, err error) {
	type part struct {
		walk    *choiceWalk
		density float64
	}
	parts := make([]part, len(s.lists))
	for i, codes := range s.lists {
		parts[i].walk = newChoiceWalk(s, codes)
		if err := parts[i].walk.begin(ctx, s.tx, s.way, s.at); err != nil {
			return false, err
		}
		place, some, err := parts[i].walk.seek(ctx, s.at)
		if err != nil || !some || place >= s.end {
			return false, err
		}
		s.at = place // nothing before it is in all lists
	}
	for i := range parts {
		parts[i].density = parts[i].walk.density(s.at, s.end)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.density, b.density) })
	for _, p := range parts {
		if p.density > rarerBy*parts[0].density {
			s.asked = append(s.asked, p.walk.codes)
		} else {
			s.walked = append(s.walked, p.walk)
		}
	}
	return true, nil
}

// candidates returns up to n of the next places that all walked lists have, and whether
// there may be more.
func (s *search) candidates(ctx context.Context, n int) (places []int64, more bool, err error) {
	for len(places) < n && s.at < s.end && !s.spent.over() {
		place, some, err := s.agree(ctx)
		if err != nil || !some {
			return places, false, err
		}
		if place != s.at { // the money was gone before they agreed
			break
		}
		places = append(places, place)
		s.at++
	}
	return places, s.at < s.end, nil
}

// agree moves to the next place that all walked lists have, and returns it.
func (s *search) agree(ctx context.Context) (place int64, some bool, err error) {
	for agreed, i := 0, 0; agreed < len(s.walked); i++ {
		place, some, err := s.walked[i%len(s.walked)].seek(ctx, s.at)
		switch {
		case err != nil || !some || place >= s.end:
			return 0, false, err
		case place == s.at:
			agreed++
		default:
			s.at, agreed = place, 1
		}
		if agreed < len(s.walked) && s.spent.over() {
			return s.at - 1, true, nil
		}
	}
	return s.at, true, nil
}

// keep adds to what was found the places whose records meet all that is asked for, and
// reports whether that is enough. Then the search goes on behind the last one.
func (s *search) keep(ctx context.Context, places []int64) (full bool, err error) {
	err = s.eachEntry(ctx, places, func(e *entry) bool {
		if !e.in(s.from, s.to) || slices.ContainsFunc(s.asked, func(codes []int64) bool { return !e.speaksOf(codes) }) {
			return true
		}
		s.found = append(s.found, entry{position: e.position, task: e.task, run: e.run})
		if full = len(s.found) == s.limit; full {
			s.at = s.way.turn(e.position) + 1
		}
		return !full
	})
	return full, err
}

// effects finds records that the one at a position led to, oldest first.
func (s *search) effects(ctx context.Context, cause int64) (Page, error) {
	w := walk{tx: s.tx, spent: &s.spent, code: effect(cause, 0).code}
	next := int64(0)
	var places []int64
	for at := (s.after + 1) * causesTogether; ; at++ {
		place, some, err := w.seek(ctx, at)
		if err != nil {
			return Page{}, err
		}
		if !some {
			break
		}
		at = place
		if len(places) == s.limit || s.spent.over() {
			next = at/causesTogether - 1
			break
		}
		if position := at / causesTogether; effect(cause, position).at == at {
			places = append(places, position)
		}
	}
	if _, err := s.keep(ctx, places); err != nil {
		return Page{}, err
	}
	return s.page(ctx, next)
}

// page is what was found, with its names.
func (s *search) page(ctx context.Context, next int64) (Page, error) {
	out := Page{Next: next, Found: make([]Found, len(s.found))}
	named, err := s.names(ctx)
	for i, e := range s.found {
		out.Found[i] = Found{Position: e.position, TaskID: named[e.task], RunID: named[e.run]}
	}
	return out, err
}
