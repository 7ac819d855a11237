package feed

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"hecate/domain/event"
	"hecate/eventstore"
)

// Place is where a record stands, and what it belongs to.
type Place struct {
	Position      int64
	TaskID, RunID string // "" for a record that belongs to none
}

// farMax is how many records may lie between two places that are read in one go.
const farMax = 16

// Places returns the records at the places, in their order, as the envelope shows them.
// Unlike the feed it shows records of all streams, and of deleted tasks: who asks for a
// place wants to know what happened there.
func (r *Reader) Places(ctx context.Context, places []Place) ([]*Item, error) {
	sorted := slices.SortedFunc(slices.Values(places), func(a, b Place) int { return cmp.Compare(a.Position, b.Position) })
	p, items := newPresenter(r.log), make(map[int64]*Item, len(places))
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].Position-sorted[n-1].Position <= farMax && sorted[n].Position-sorted[0].Position < pageMax {
			n++
		}
		if err := r.places(ctx, p, sorted[:n], items); err != nil {
			return nil, err
		}
		sorted = sorted[n:]
	}
	out := make([]*Item, len(places))
	for i, place := range places {
		out[i] = items[place.Position]
	}
	return out, nil
}

// places adds the records at neighbouring places.
func (r *Reader) places(ctx context.Context, p *presenter, places []Place, to map[int64]*Item) error {
	first, last := places[0].Position, places[len(places)-1].Position
	records, err := r.log.ReadAll(ctx, first-1, int(last-first)+1)
	if err != nil {
		return err
	}
	for _, place := range places {
		i := int(place.Position - first)
		if i >= len(records) || records[i].Position != place.Position {
			return fmt.Errorf("read the log: there is no record at position %d", place.Position)
		}
		item, err := p.item(ctx, &records[i], place.TaskID, place.RunID)
		if err != nil {
			return err
		}
		to[place.Position] = item
	}
	return nil
}

// CausedBy is the position of the event that led to this one, 0 if there is none.
func (i *Item) CausedBy() int64 { return i.record.CausedBy }

// inlined is a payload with its texts put back.
func inlined(p event.Payload) any {
	v := reflect.New(reflect.TypeOf(p))
	v.Elem().Set(reflect.ValueOf(p))
	t, ok := v.Interface().(interface{ Texts() []*event.Text })
	if !ok {
		return p
	}
	for _, text := range t.Texts() {
		*text = event.NewText(text.String())
	}
	return v.Elem().Interface()
}

// private reports whether a stream is not in the feed. What its records hold was never
// made for clients, so their texts are put back.
func private(r *eventstore.Record) bool {
	_, public := runOf(r.Stream)
	return !public
}
