package worker

import (
	"context"
	"errors"

	"hecate/domain/run"
	"hecate/runtime/model"
)

// routes finds who may be asked. A run that names no model can begin before providers have said
// which ones they have, right after the server did: it waits for that. A *model.RouteError says
// why nobody can be asked; no routes and no error, that the process stops.
func (a *attempt) routes(ctx context.Context) ([]model.Route, error) {
	routes, err := a.Router.Candidates(ctx, a.s.Route.Provider, a.s.Route.Model)
	var e *model.RouteError
	switch {
	case err == nil:
		return routes, nil
	case !errors.As(err, &e):
		return nil, &model.RouteError{Fault: err}
	case !e.Pending:
		return nil, err
	}
	if err := a.sayThatItWaits(ctx); err != nil {
		return nil, err
	}
	asking, stop := a.untilTold(ctx)
	defer stop()
	if a.Router.AwaitModels(asking); asking.Err() != nil {
		return nil, ctx.Err()
	}
	return a.Router.Candidates(ctx, a.s.Route.Provider, a.s.Route.Model)
}

// sayThatItWaits makes it seen in the run, once, what the run waits for.
func (a *attempt) sayThatItWaits(ctx context.Context) error {
	if a.s.Warned[run.WarnModelsAwaited] {
		return nil
	}
	a.stage(run.Warned{
		Code:    run.WarnModelsAwaited,
		Message: "the task names no model, and no provider had said which models it has: the model call waits for that, half a minute at most",
	})
	return a.flush(ctx)
}
