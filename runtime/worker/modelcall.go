package worker

import (
	"context"
	"errors"
	"time"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/runtime/model"
)

// callModel asks the model once. That the request may leave is durable before it
// does; the answer is recorded whole, or not at all.
func (a *attempt) callModel(ctx context.Context, e run.CallModel) error {
	route, err := a.Router.Route(a.s.Route.Provider, a.s.Route.Model)
	if err != nil {
		a.stage(run.ModelCallFailed{ModelCallIndex: e.Index, StepID: a.s.NextStepID(), Kind: "routing", Message: err.Error()})
		return nil
	}
	if err := a.encode(route.Client); err != nil {
		a.stage(run.ModelCallFailed{ModelCallIndex: e.Index, StepID: a.s.NextStepID(), Kind: string(model.InvalidRequest), Message: err.Error()})
		return nil
	}
	a.stage(run.ModelCallStarted{
		ModelCallIndex: e.Index, StepID: a.s.NextStepID(), Model: route.Model, Provider: route.Provider, InputTokensEstimate: a.chars/4 + 1,
	})
	if err := a.flush(ctx); err != nil {
		return err
	}
	resp, err := route.Client.Call(ctx, model.Call{
		Model: route.Model, Conversation: a.encoded, Tools: a.tools, Stream: true,
		OnText: func(delta string) { a.Progress.add(a.s.ID, delta, time.Now()) },
	})
	defer a.Progress.drop(a.s.ID)
	switch {
	case err == nil: // an answer counts, and costs, also if the run was ended meanwhile
		clear(a.ready)
		a.stage(a.s.Respond(answered(route, resp))...)
		return ctx.Err()
	case ctx.Err() != nil:
		return ctx.Err() // ended or shutting down: the call stays open in the log
	}
	a.stage(a.failure(e.Index, err))
	return a.flush(ctx)
}

// encode brings the encoded conversation up to date; each message is written once.
func (a *attempt) encode(c model.Client) error {
	if a.client != c {
		tools, err := c.EncodeTools(a.catalogue())
		if err != nil {
			return err
		}
		a.client, a.tools, a.encoded, a.chars = c, tools, nil, 0
	}
	for _, m := range a.s.Conversation[len(a.encoded):] {
		enc, err := c.Encode(m)
		if err != nil {
			return err
		}
		a.encoded = append(a.encoded, enc)
		a.chars += m.Content.Len()
		for _, call := range m.ToolCalls {
			a.chars += call.Arguments.Len()
		}
	}
	return nil
}

// catalogue is the list of tools that the run's model sees.
func (a *attempt) catalogue() []model.ToolDefinition {
	posture := a.posture()
	var offered []model.ToolDefinition
	for _, t := range a.Tools {
		if !t.Direct && posture.Offered(t.Name) {
			offered = append(offered, model.ToolDefinition{Name: t.Name, Description: t.Summary, Parameters: t.Schema})
		}
	}
	return offered
}

func (a *attempt) failure(index int64, err error) run.ModelCallFailed {
	f := run.ModelCallFailed{ModelCallIndex: index, StepID: a.s.InFlight.StepID, Kind: string(model.UpstreamError), Message: err.Error()}
	var e *model.Error
	if errors.As(err, &e) {
		f.Kind, f.Retryable, f.Partial = string(e.Kind), e.Retryable, event.NewText(e.Partial)
	}
	return f
}

func answered(route model.Route, r *model.Response) run.Answered {
	a := run.Answered{
		Message: r.Message, FinishReason: r.FinishReason,
		Route: run.Route{Provider: route.Provider, ProviderKind: route.Kind, Model: route.Model},
	}
	if u := r.Usage; u != nil {
		a.Usage = &run.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Raw: u.Raw}
		if u.CostPicoUSD != nil {
			a.CostPicoUSD, a.CostKnown = *u.CostPicoUSD, true
		}
	}
	return a
}
