package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"hecate/eventstore"
	"hecate/eventstore/internal/groupcommit"
	"hecate/eventstore/internal/versions"
)

// argumentsOfAppend is how many parameters hecate_append has.
const argumentsOfAppend = 26

// arguments are the columns that hecate_append takes, see there. Indexes begin at 1.
type arguments struct {
	streams []string
	known   []*int64

	command []string

	partRequest, partStream, partExpected, partEvents, partWork, partEpoch []int64

	part, number           []int64
	stream                 []string
	id                     []pgtype.UUID
	typ                    []string
	schema, at             []int64
	kind, name, org        []string
	causedBy               []int64
	commandID, trace       []string
	hash, head, salt, data [][]byte
}

// newArguments lists the group. A version in seen is passed on as known where the
// insert will prove it; a check without an insert always looks it up.
func newArguments(requests []*groupcommit.Request, seen *versions.Cache) *arguments {
	a := &arguments{streams: touched(requests)}
	a.known = knownVersions(a.streams, requests, seen)
	for i, r := range requests {
		a.command = append(a.command, r.Batch.CommandID)
		record := 0
		for _, s := range r.Batch.Streams {
			index, _ := slices.BinarySearch(a.streams, s.Stream)
			a.partRequest = append(a.partRequest, int64(i)+1)
			a.partStream = append(a.partStream, int64(index)+1)
			a.partExpected = append(a.partExpected, s.Expected)
			a.partEvents = append(a.partEvents, int64(len(s.Events)))
			a.partWork = append(a.partWork, int64(s.Work))
			a.partEpoch = append(a.partEpoch, s.Epoch)
			for n := range s.Events {
				a.addEvent(r, record, int64(n)+1)
				record++
			}
		}
	}
	return a
}

// touched returns the streams of the group, sorted, each once.
func touched(requests []*groupcommit.Request) []string {
	var out []string
	for _, r := range requests {
		for _, s := range r.Batch.Streams {
			out = append(out, s.Stream)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// knownVersions returns for each stream a version that certainly exists and that
// the first request for it starts from, or nil: always nil if seen is.
func knownVersions(streams []string, requests []*groupcommit.Request, seen *versions.Cache) []*int64 {
	known := make([]*int64, len(streams))
	if seen == nil {
		return known
	}
	first := make([]bool, len(streams)) // whether the stream was met
	for _, r := range requests {
		refused := outdated(r, seen)
		for _, s := range r.Batch.Streams {
			i, _ := slices.BinarySearch(streams, s.Stream)
			if len(s.Events) == 0 || refused {
				first[i], known[i] = true, nil
			}
			if first[i] {
				continue
			}
			first[i] = true
			version, ok := seen.Get(s.Stream)
			if !ok && s.Expected == eventstore.NoStream {
				version, ok = 0, true // every stream has been there
			}
			if ok && (s.Expected == version || s.Expected == eventstore.AnyVersion) {
				known[i] = &version
			}
		}
	}
	return known
}

// outdated reports whether a request starts from another version of a stream than the one
// seen. It will be refused, and is to be told of the first stream that keeps it back: so all of
// them are looked up.
func outdated(r *groupcommit.Request, seen *versions.Cache) bool {
	return slices.ContainsFunc(r.Batch.Streams, func(s eventstore.StreamAppend) bool {
		version, ok := seen.Get(s.Stream)
		return ok && s.Expected != version && s.Expected != eventstore.AnyVersion
	})
}

// addEvent adds the record of r with the given index, the nth of the last part.
func (a *arguments) addEvent(r *groupcommit.Request, record int, n int64) {
	rec := &r.Records[record]
	a.part = append(a.part, int64(len(a.partRequest)))
	a.number = append(a.number, n)
	a.stream = append(a.stream, rec.Stream)
	a.id = append(a.id, pgtype.UUID{Bytes: rec.ID, Valid: true})
	a.typ = append(a.typ, rec.Type)
	a.schema = append(a.schema, int64(rec.Schema))
	a.at = append(a.at, rec.At.UnixMicro())
	a.kind = append(a.kind, rec.Actor.Kind)
	a.name = append(a.name, rec.Actor.Name)
	a.org = append(a.org, rec.Actor.Org)
	a.causedBy = append(a.causedBy, rec.CausedBy)
	a.commandID = append(a.commandID, rec.CommandID)
	a.trace = append(a.trace, rec.Trace)
	head := r.Head(record)
	a.head = append(a.head, head)
	if head == nil {
		a.hash = append(a.hash, rec.Hash[:])
	} else {
		a.hash = append(a.hash, nil) // the server completes it
	}
	a.salt = append(a.salt, rec.Salt[:])
	a.data = append(a.data, rec.Data)
}

// values returns the arguments in the order of the function's parameters.
func (a *arguments) values() []any {
	return []any{
		orEmpty(a.streams), a.known, orEmpty(a.command),
		orEmpty(a.partRequest), orEmpty(a.partStream), orEmpty(a.partExpected), orEmpty(a.partEvents), orEmpty(a.partWork), orEmpty(a.partEpoch),
		orEmpty(a.part), orEmpty(a.number), orEmpty(a.stream), orEmpty(a.id), orEmpty(a.typ), orEmpty(a.schema), orEmpty(a.at),
		orEmpty(a.kind), orEmpty(a.name), orEmpty(a.org), orEmpty(a.causedBy), orEmpty(a.commandID), orEmpty(a.trace),
		orEmpty(a.hash), orEmpty(a.head), orEmpty(a.salt), orEmpty(a.data),
	}
}

// orEmpty keeps a column without rows from becoming NULL.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
