package stored

import (
	"context"
	"encoding/binary"
	"hash/maphash"
)

// Places sums up which record is which version of which stream, so that two accounts of it
// can be compared without keeping either. What is summed are hashes under a seed that nobody
// could know when the accounts were written: equal sums of as many places are the same places.
type Places struct {
	seed  maphash.Seed
	sum   uint64
	count int64
	room  []byte
}

// NewPlaces returns two empty sums that can be compared.
func NewPlaces() (a, b Places) {
	seed := maphash.MakeSeed()
	return Places{seed: seed}, Places{seed: seed}
}

// Add adds the place of a record.
func (p *Places) Add(stream string, version, position int64) {
	p.add(append(p.room[:0], stream...), version, position)
}

func (p *Places) add(room []byte, version, position int64) {
	room = binary.LittleEndian.AppendUint64(room, uint64(version))
	room = binary.LittleEndian.AppendUint64(room, uint64(position))
	p.sum += maphash.Bytes(p.seed, room)
	p.count++
	p.room = room
}

// Equal reports whether the same places were added to both.
func (p *Places) Equal(o *Places) bool { return p.sum == o.sum && p.count == o.count }

// AddStreams adds what the table of streams says about records up to a position. Databases
// without such a table have nothing to say.
func (l *Log) AddStreams(ctx context.Context, upTo int64, p *Places) error {
	if !l.indexed {
		return nil
	}
	return l.scan(ctx, l.sql(`SELECT stream, version, position FROM hecate_streams`), nil, func(cells []cell) error {
		if position := cells[2].n; position <= upTo {
			p.add(append(p.room[:0], cells[0].b...), cells[1].n, position)
		}
		return nil
	})
}
