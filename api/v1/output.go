package v1

import (
	"context"
	"strconv"

	"hecate/api/envelope"
)

// answer is a successful answer of one kind of data.
type answer[T any] struct {
	Placed
	Body envelope.Answer[T]
}

// Placed says where in the log an answer stands. The server adds the position of
// the read models where an operation gives none.
type Placed struct {
	Position string `header:"Hecate-Position" doc:"Position in the log that this answer reflects. A later request can demand it with Hecate-Min-Position."`
	Stale    string `header:"Hecate-Stale" doc:"\"true\" if the read models did not reach the command's position in time and the answer was made from the log itself; counts may be missing." enum:"true"`
}

func of[T any](object string, data T) *answer[T] {
	return &answer[T]{Body: envelope.Answer[T]{Object: object, Data: data}}
}

// list is of for a list: never null.
func list[T any](object string, data []T) *answer[[]T] {
	if data == nil {
		data = []T{}
	}
	return of(object, data)
}

func (p *Placed) at(position int64) {
	if position > 0 {
		p.Position = strconv.FormatInt(position, 10)
	}
}

// after answers a command that ended at a position: from the read models once they
// show it, else from the command's own fold, marked as such.
func after[T any](ctx context.Context, a *API, object string, position int64, read, fold func() (T, error)) (*answer[T], error) {
	if a.ready(ctx, position) {
		data, err := read()
		out := of(object, data)
		out.at(position)
		return out, err
	}
	data, err := fold()
	out := of(object, data)
	out.at(position)
	out.Stale = "true"
	return out, err
}
