package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/run"
	"hecate/domain/trace"
	"hecate/runtime/model"
	"hecate/tools"
)

// callModel gets one answer from a model. That the request may leave is durable
// before it does; the answer is recorded whole, or not at all. An attempt that failed
// before any of its answer came may be followed by another, which is recorded too.
func (a *attempt) callModel(ctx context.Context, e run.CallModel) error {
	routes, err := a.routes(ctx)
	if routed := (*model.RouteError)(nil); errors.As(err, &routed) {
		return a.noCall(ctx, e, routingCode(err), err)
	}
	if err != nil || len(routes) == 0 {
		return err
	}
	if err := a.encode(routes[0].Client); err != nil {
		return a.noCall(ctx, e, string(model.InvalidRequest), err)
	}
	routes, reserved, short := a.afford(routes)
	if short != nil {
		return a.fail(ctx, *short)
	}
	a.stage(run.ModelCallStarted{
		ModelCallIndex: e.Index, StepID: a.s.NextStepID(), Model: routes[0].Model, Provider: routes[0].Provider,
		InputTokensEstimate: a.inputTokens(), ReservedPicoUSD: reserved,
	})
	if err := a.flush(ctx); err != nil {
		return err
	}
	if !a.t.lease.Valid() {
		return tools.ErrLeaseLost // whoever has the run next makes the call
	}
	asking, stop := a.untilTold(ctx)
	defer stop()
	defer a.Progress.drop(a.s.ID)
	for tries := (trying{routes: routes, attempt: 1}); ; {
		resp, err := a.attemptCall(asking, tries.route())
		switch {
		case err == nil: // an answer counts, and costs, also if the run was ended meanwhile
			clear(a.ready)
			a.stage(a.s.Respond(a.answered(tries.route(), resp))...)
			return ctx.Err()
		case asking.Err() != nil:
			return ctx.Err() // ended or stopping: the call stays open in the log, or is given up by handBack
		}
		failed, wait, again := tries.next(a.Retry, err)
		if !again {
			a.stage(a.failure(e.Index, err))
			return a.flush(ctx)
		}
		switch err := a.retry(asking, failed, tries, wait); {
		case asking.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
	}
}

// routingCode is the stable word for why no provider could be asked.
func routingCode(err error) string {
	var e *model.RouteError
	if errors.As(err, &e) {
		if f, ok := fault.Of(e.Fault); ok {
			return f.Code
		}
	}
	return "routing"
}

// noCall records that the model could not even be asked.
func (a *attempt) noCall(ctx context.Context, e run.CallModel, kind string, err error) error {
	a.stage(run.ModelCallFailed{ModelCallIndex: e.Index, StepID: a.s.NextStepID(), Kind: kind, Message: err.Error()})
	return ctx.Err()
}

// untilTold is ctx for what is given up at once when the process stops.
func (a *attempt) untilTold(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		select {
		case <-a.stopping:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// attemptCall asks the model once.
func (a *attempt) attemptCall(ctx context.Context, route model.Route) (*model.Response, error) {
	if err := a.encode(route.Client); err != nil {
		return nil, err
	}
	asked := time.Now()
	resp, err := route.Client.Call(ctx, model.Call{
		Model: route.Model, Conversation: a.encoded, Tools: a.tools, Stream: true, MaxOutputTokens: a.OutputMax, Traceparent: a.traceparent(), Carried: a.s.Carried,
		OnText: func(delta string) { a.Progress.add(a.s.ID, delta, time.Now()) },
	})
	a.Router.Report(route, time.Since(asked), err)
	return resp, err
}

// traceparent names the span of the call that is under way. A call without an event of
// its own has none.
func (a *attempt) traceparent() string {
	if a.s.InFlight == nil {
		return ""
	}
	return trace.Parent{TraceID: a.s.Trace.TraceID, SpanID: trace.SpanID(a.s.InFlight.EventID, trace.PartCall), Flags: a.s.Trace.Flags}.String()
}

// trying is where the attempts at one model call have come to.
type trying struct {
	routes  []model.Route // still to try; the first one is being tried
	attempt int           // 1, 2, 3 … of all
	here    int           // attempts that failed at this route

	err *model.Error // the last failure
}

func (t *trying) route() model.Route { return t.routes[0] }

// patience is how long a provider may ask to wait while there is another one to go to.
const patience = 2 * time.Second

// next decides what follows a failed attempt: another one at the same provider, one
// at the next, or none. It returns the route that failed.
func (t *trying) next(policy func(int, *model.Error) (time.Duration, bool), err error) (failed model.Route, wait time.Duration, again bool) {
	failed = t.route()
	var e *model.Error
	if !errors.As(err, &e) {
		return failed, 0, false
	}
	t.attempt++
	t.here++
	t.err = e
	if policy != nil {
		if wait, again = policy(t.here, e); again && (wait <= patience || len(t.routes) == 1) {
			return failed, wait, true
		}
	}
	if len(t.routes) == 1 || !e.Elsewhere() {
		return failed, 0, false
	}
	t.routes, t.here = t.routes[1:], 0
	return failed, 0, true
}

// retry says in the log that another attempt follows, and waits for its time.
func (a *attempt) retry(ctx context.Context, failed model.Route, t trying, wait time.Duration) error {
	to := t.route()
	if to != failed {
		a.Router.Failover(failed, to, t.err)
	}
	a.stage(run.ModelCallRetrying{
		ModelCallIndex: a.s.InFlight.Index, StepID: a.s.InFlight.StepID, Attempt: int64(t.attempt) - 1,
		Provider: failed.Provider, Model: failed.Model, Kind: string(t.err.Kind), Message: t.err.Error(), WaitMS: wait.Milliseconds(),
		NextProvider: to.Provider, NextModel: to.Model,
	})
	if err := a.flush(ctx); err != nil {
		return err
	}
	pause(ctx, wait)
	return ctx.Err()
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
		f.Kind, f.Retryable, f.Begun, f.Partial = string(e.Kind), e.Retryable, e.Begun, event.NewText(e.Partial)
	}
	return f
}

func (a *attempt) answered(route model.Route, r *model.Response) run.Answered {
	out := run.Answered{
		Message: r.Message, FinishReason: r.FinishReason,
		Route: run.Route{Provider: route.Provider, ProviderKind: route.Kind, Model: route.Model},
	}
	out.Usage, out.CostPicoUSD, out.CostKnown = a.bill(route, r.Usage)
	return out
}

// bill is what a call used and what that costs, as far as anybody knows.
func (a *attempt) bill(route model.Route, u *model.Usage) (used *run.Usage, pico int64, known bool) {
	if u == nil {
		return nil, 0, false
	}
	used = &run.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Raw: u.Raw}
	switch {
	case u.CostPicoUSD != nil:
		return used, *u.CostPicoUSD, true
	case a.Prices != nil:
		pico, known = a.Prices.Cost(route, *u)
	}
	return used, pico, known
}

// inputTokens estimates the prompt: four characters make a token, more or less.
func (a *attempt) inputTokens() int64 { return a.chars/4 + 1 }

// afford keeps the routes at which the call cannot cost more than is left of the
// ceiling, if calls are reserved for, so that it costs no more wherever it goes in the
// end. It returns the most that it may cost at one of them, or why there is none.
func (a *attempt) afford(routes []model.Route) (kept []model.Route, pico int64, short *run.Fail) {
	if !a.Reserve || a.s.BudgetMicroUSD == 0 {
		return routes, 0, nil
	}
	for _, r := range routes {
		most, no := a.reserve(r)
		switch {
		case no == nil:
			kept, pico = append(kept, r), max(pico, most)
		case short == nil:
			short = no
		}
	}
	if len(kept) > 0 {
		return kept, pico, nil
	}
	return nil, 0, short
}

// reserve is the most that a call at the route may cost, and why the call may not be
// made there. Where tokens are dear to guess, it guesses high: a token for every two
// characters of conversation and tools.
func (a *attempt) reserve(route model.Route) (pico int64, short *run.Fail) {
	known := false
	if a.Prices != nil {
		pico, known = a.Prices.Estimate(route, (a.chars+int64(len(a.tools)))/2+1, a.OutputMax)
	}
	if !known {
		return 0, &run.Fail{Reason: "cost_unknown", Message: fmt.Sprintf(
			"the task has a cost ceiling that is to be held for every call, and the price of model %s at provider %s is not known; add it to HECATE_MODEL_PRICES", route.Model, route.Provider)}
	}
	return pico, a.s.Reserve(pico)
}
