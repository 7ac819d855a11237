package v1

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"

	"hecate/api/request"
	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/projections/audit"
	"hecate/projections/runs"
)

// sequencesMax bounds the single events of one request.
const sequencesMax = 1000

// eraseRequest says whose content is to be erased.
type eraseRequest struct {
	TaskID    string  `json:"task_id,omitempty" doc:"The task: all that it, its runs and the operations on their workspaces say, and what callers have added." example:"task_4f6b1f0c9d2e8a7b3c5d6e7f"`
	RunID     string  `json:"run_id,omitempty" doc:"The run, instead of a task."`
	Sequences []int64 `json:"sequences,omitempty" doc:"Single events, instead: at most 1000."`
	Reason    string  `json:"reason" doc:"What to tell those who find it missing. It stands in the log for good." example:"asked by its author"`
}

type eraseInput struct {
	Payload required[eraseRequest]
}

// erased is what was erased.
type erased struct {
	Erasures []int64 `json:"erasures" doc:"Sequences of the log.erased events that name it all; none if nothing was left to erase."`
	Records  int     `json:"records" doc:"How many events have lost their content."`
	Contents int     `json:"contents" doc:"How many large contents are gone."`
}

func (a *API) registerErase() {
	register(a, spec{
		id: "eraseContent", method: http.MethodPost, path: Base + "/audit/erasures", tag: "Audit",
		summary: "Erase what events say",
		description: "Takes away texts, arguments, output, paths and all else that somebody has written, and leaves that the events were there: ids, kinds, times, costs, decisions, and the digest that the proof of the log is made of. " +
			"A `log.erased` event says what was erased, by whom and why. It cannot be undone; nothing is erased of a run that goes on (409), nor of settings. " +
			"A large content is erased for all events that name it. To ask again does no harm. It takes a verified operator, unless the server asks nobody for proof.",
		fails: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict},
		body:  reflect.TypeFor[eraseRequest](), bodyExample: map[string]any{"run_id": "run_0a1b2c3d4e5f60718293a4b5", "reason": "asked by its author"},
		example: map[string]any{"object": "erasure", "data": map[string]any{"erasures": []int64{131}, "records": 42, "contents": 3}},
	}, a.erase)
}

func (a *API) erase(ctx context.Context, in *eraseInput) (*answer[erased], error) {
	body := in.Payload.Value
	given := 0
	for _, is := range []bool{body.TaskID != "", body.RunID != "", len(body.Sequences) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, invalid("say what to erase: one of task_id, run_id and sequences")
	}
	if len(body.Sequences) > sequencesMax {
		return nil, invalid("%d sequences, at most %d are allowed", len(body.Sequences), sequencesMax)
	}
	if a.Proof != ProofNever && !request.From(ctx).Verified() {
		return nil, notProved("what is erased cannot be brought back")
	}
	q := commands.EraseRequest{TaskID: body.TaskID, RunID: body.RunID, Positions: slices.Clone(body.Sequences), Reason: body.Reason}
	slices.Sort(q.Positions)
	q.Positions = slices.Compact(q.Positions)
	var err error
	if len(q.Positions) == 0 {
		if q.Operations, err = a.operationsOf(ctx, q.TaskID, q.RunID); err != nil {
			return nil, err
		}
	}
	done, err := a.Commands.Erase(ctx, request.From(ctx).Meta(), q)
	if err != nil && len(done.Erasures) == 0 {
		return nil, err
	}
	if err != nil {
		return nil, errors.Join(err, errPartlyErased)
	}
	a.ready(ctx, done.Position, runs.Name, audit.Name)
	out := erased{Erasures: done.Erasures, Records: done.Records, Contents: done.Contents}
	if out.Erasures == nil {
		out.Erasures = []int64{}
	}
	return of("erasure", out), nil
}

var errPartlyErased = errors.New("a part of it was erased; ask again for the rest")

// operationsOf finds the operations on the workspaces of a task or run.
func (a *API) operationsOf(ctx context.Context, taskID, runID string) (ids []string, err error) {
	head, err := a.Commands.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	if !a.ready(ctx, head, audit.Name) {
		return nil, fault.Unavailable("unavailable", "the history is not up to date yet, so that not everything could be found; try again")
	}
	f := audit.Filter{TaskID: taskID, RunID: runID, Types: []string{operation.Requested{}.EventType()}}
	for {
		page, err := a.Audit.Page(ctx, f, audit.OldestFirst, auditPageMax)
		if err != nil {
			return nil, err
		}
		for _, found := range page.Found {
			records, err := a.Commands.Store.ReadAll(ctx, found.Position-1, 1)
			if err != nil {
				return nil, err
			}
			p, err := event.Decode(records[0].Type, records[0].Schema, records[0].Data, nil)
			if o, ok := p.(operation.Requested); ok && err == nil {
				ids = append(ids, o.OperationID)
			}
		}
		if f.After = page.Next; f.After == 0 {
			return ids, nil
		}
	}
}
