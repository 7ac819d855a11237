package feed

import (
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

// Places returns the records at the places, in their order, as the envelope shows them.
// Unlike the feed it shows records of all streams, and of deleted tasks: who asks for a
// place wants to know what happened there.
func (r *Reader) Places(ctx context.Context, places []Place) ([]*Item, error) {
	positions := make([]int64, len(places))
	for i, place := range places {
		positions[i] = place.Position
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	at := make(map[int64]*eventstore.Record, len(positions))
	for part := range slices.Chunk(positions, pageMax) {
		records, err := r.log.ReadAt(ctx, part)
		if err != nil {
			return nil, err
		}
		for i := range records {
			at[records[i].Position] = &records[i]
		}
	}
	p, out := newPresenter(r.log), make([]*Item, len(places))
	for i, place := range places {
		record, ok := at[place.Position]
		if !ok {
			return nil, fmt.Errorf("read the log: there is no record at position %d", place.Position)
		}
		item, err := p.item(ctx, record, place.TaskID, place.RunID)
		if err != nil {
			return nil, err
		}
		out[i] = item
	}
	return out, nil
}

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
