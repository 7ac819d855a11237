package traces

import (
	"hecate/domain/event"
	"hecate/domain/run"
)

// model takes what happens between the run and the providers.
func (r *Run) model(e event.Event) []Span {
	switch p := e.Payload.(type) {
	case run.ModelCallStarted:
		return r.callStarted(e, p)
	case run.ModelCallRetrying:
		r.callRetrying(e, p)
	case run.ModelCallCompleted:
		return r.callCompleted(e, p)
	case run.ModelCallFailed:
		return r.callFailed(e, p.ModelCallIndex, p.StepID, word(p.Kind), p.Retryable)
	case run.ModelCallAbandoned:
		return r.callFailed(e, p.ModelCallIndex, p.StepID, "abandoned", false)
	case run.ProgressCheckStarted:
		s := r.begin(e, Provider, Provider, r.run.SpanID)
		s.Kind = KindClient
		s.Attributes.puts(Attributes{"gen_ai.provider.name": Label(p.Provider), "gen_ai.request.model": Label(p.Model), "hecate.request.purpose": "repetition_check"})
		s.note("provider.call.started", e, nil)
		r.checks[p.ToolCallID] = s
	case run.ProgressCheckCompleted:
		return r.checked(e, p)
	}
	return nil
}

func (r *Run) callStarted(e event.Event, p run.ModelCallStarted) []Span {
	provider, model := Label(p.Provider), Label(p.Model)
	c := &call{step: r.begin(e, Step, Step, r.run.SpanID), since: e}
	c.step.Attributes.puts(Attributes{"hecate.step.id": p.StepID, "hecate.step.kind": "model"})
	c.provider = r.begin(e, Provider, Provider, c.step.SpanID)
	c.provider.Kind = KindClient
	c.provider.Attributes.puts(Attributes{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": model, "hecate.model_call.index": p.ModelCallIndex,
	})
	c.provider.note("provider.call.started", e, Attributes{"gen_ai.provider.name": provider, "gen_ai.request.model": model, "hecate.retry.attempt": int64(1)})
	c.attempt = r.Route.attempt(provider, model, 1, e)
	r.calls[p.ModelCallIndex] = c

	router := r.begin(e, Router, Router, c.step.SpanID)
	router.Attributes.puts(Attributes{"gen_ai.provider.name": provider, "gen_ai.request.model": model})
	router.note("router.selected", e, Attributes{"gen_ai.provider.name": provider, "gen_ai.request.model": model, "hecate.route.outcome": "selected"})
	return []Span{router.end(e, StatusOK, "")}
}

// callRetrying tells of an attempt that failed, and of the one that follows.
func (r *Run) callRetrying(e event.Event, p run.ModelCallRetrying) {
	c := r.calls[p.ModelCallIndex]
	if c == nil {
		return
	}
	from, to := Label(p.Provider), Label(p.NextProvider)
	fromModel, toModel := Label(p.Model), Label(p.NextModel)
	kind := word(p.Kind)
	c.attempt.failed(kind, true, e.At.Sub(c.since.At).Milliseconds())
	s := c.provider
	s.note("provider.call.failed", e, Attributes{
		"gen_ai.provider.name": from, "gen_ai.request.model": fromModel, "error.type": kind, "hecate.error.kind": "provider_call_failed",
		"hecate.retry.attempt": p.Attempt, "hecate.retry.retryable": true, "hecate.provider.latency_ms": e.At.Sub(c.since.At).Milliseconds(), "hecate.result": Failure,
	})
	c.attempt = r.Route.attempt(to, toModel, p.Attempt+1, e)
	if p.NextProvider != p.Provider {
		over := Attributes{
			"hecate.failover.from_provider": from, "hecate.failover.from_model": fromModel, "hecate.failover.to_provider": to,
			"hecate.failover.to_model": toModel, "hecate.failover.reason": kind,
		}
		s.note("provider.failover.triggered", e, over)
		s.note("provider.failover.selected", e, over)
		r.Route.failover(Failover{FromProvider: from, FromModel: fromModel, ToProvider: to, ToModel: toModel, Reason: kind, At: e.At})
		c.attempt.FailoverFrom = from
		s.Attributes.puts(Attributes{"hecate.failover.from_provider": from, "hecate.failover.active": true})
	} else {
		s.note("provider.retry.scheduled", e, Attributes{"hecate.retry.next_attempt": p.Attempt + 1, "hecate.retry.backoff_ms": p.WaitMS})
	}
	c.since = event.Event{At: e.At}
	s.note("provider.call.started", e, Attributes{"gen_ai.provider.name": to, "gen_ai.request.model": toModel, "hecate.retry.attempt": p.Attempt + 1})
	s.Attributes.puts(Attributes{"gen_ai.provider.name": to, "gen_ai.request.model": toModel, "hecate.retry.retry_count": p.Attempt})
}

func (r *Run) callCompleted(e event.Event, p run.ModelCallCompleted) []Span {
	route := labelled(p.Route)
	bill := account(p.Usage, p.CostPicoUSD, p.CostKnown)
	c := r.calls[p.ModelCallIndex]
	if c == nil { // given up before the answer came, which counts all the same
		return []Span{r.used(e, r.run.SpanID, route, bill)}
	}
	delete(r.calls, p.ModelCallIndex)
	latency := e.At.Sub(c.since.At).Milliseconds()
	c.attempt.selected(latency)
	r.Route.Provider, r.Route.ProviderKind, r.Route.Model = route.Provider, route.ProviderKind, route.Model
	about := answeredBy(route)
	about.puts(Attributes{"hecate.provider.latency_ms": latency, "hecate.result": Success, "hecate.retry.attempt": c.attempt.Attempt})
	c.provider.note("provider.call.finished", e, about)
	c.provider.Attributes.puts(answeredBy(route))
	c.provider.Attributes.puts(bill)
	c.provider.Attributes.puts(Attributes{"hecate.provider.latency_ms": latency, "hecate.retry.attempt_count": c.attempt.Attempt, "hecate.result": Success})
	c.step.note("orchestrator.step.completed", e, Attributes{"hecate.step.id": p.StepID})
	return []Span{r.used(e, c.provider.SpanID, route, bill), c.provider.end(e, StatusOK, ""), r.stepEnds(c.step, e, Success, "")}
}

// used is the account of one model call.
func (r *Run) used(e event.Event, parent string, route run.Route, bill Attributes) Span {
	s := r.begin(e, Usage, Usage, parent)
	s.Attributes.puts(answeredBy(route))
	s.Attributes.puts(bill)
	if _, ok := bill["gen_ai.usage.total_tokens"]; ok {
		s.note("usage.normalized", e, nil)
	}
	s.note("usage.recorded", e, nil)
	return s.end(e, StatusOK, "")
}

// callFailed ends a call, or tells of one that could not be made at all.
func (r *Run) callFailed(e event.Event, index int64, stepID, kind string, retryable bool) []Span {
	c := r.calls[index]
	if c == nil {
		step := r.begin(e, Step, Step, r.run.SpanID)
		step.Attributes.puts(Attributes{"hecate.step.id": stepID, "hecate.step.kind": "model"})
		router := r.begin(e, Router, Router, step.SpanID)
		router.note("router.failed", e, Attributes{"error.type": kind, "hecate.error.kind": "router_failed", "hecate.result": Failure})
		step.note("orchestrator.step.failed", e, Attributes{"error.type": kind})
		return []Span{router.end(e, StatusError, kind), r.stepEnds(step, e, Failure, kind)}
	}
	delete(r.calls, index)
	latency := e.At.Sub(c.since.At).Milliseconds()
	c.attempt.failed(kind, retryable, latency)
	c.provider.note("provider.call.failed", e, Attributes{
		"gen_ai.provider.name": c.attempt.Provider, "gen_ai.request.model": c.attempt.Model, "error.type": kind, "hecate.error.kind": "provider_call_failed",
		"hecate.retry.attempt": c.attempt.Attempt, "hecate.retry.retryable": retryable, "hecate.provider.latency_ms": latency, "hecate.result": Failure,
	})
	c.provider.Attributes.puts(Attributes{
		"error.type": kind, "hecate.error.kind": "provider_call_failed", "hecate.provider.latency_ms": latency,
		"hecate.retry.attempt_count": c.attempt.Attempt, "hecate.result": Failure,
	})
	c.step.note("orchestrator.step.failed", e, Attributes{"error.type": kind})
	return []Span{c.provider.end(e, StatusError, kind), r.stepEnds(c.step, e, Failure, kind)}
}

// checked ends a look at what a run repeats. It has a bill of its own.
func (r *Run) checked(e event.Event, p run.ProgressCheckCompleted) []Span {
	s := r.checks[p.ToolCallID]
	if s == nil {
		return nil
	}
	delete(r.checks, p.ToolCallID)
	route := labelled(p.Route)
	result, status := Success, StatusOK
	name := "provider.call.finished"
	if p.Problem != "" {
		result, status, name = Failure, StatusError, "provider.call.failed"
	}
	s.Attributes.puts(answeredBy(route))
	if !p.Asked {
		s.note("provider.call.blocked", e, nil)
		return []Span{s.end(e, StatusError, "not_asked")}
	}
	s.note(name, e, Attributes{
		"gen_ai.provider.name": s.Attributes["gen_ai.provider.name"], "gen_ai.request.model": s.Attributes["gen_ai.request.model"],
		"hecate.provider.kind": route.ProviderKind, "hecate.result": result, "hecate.retry.attempt": int64(1), "hecate.provider.latency_ms": e.At.Sub(s.Start).Milliseconds(),
	})
	bill := account(p.Usage, p.CostPicoUSD, p.CostKnown)
	s.Attributes.puts(bill)
	s.Attributes.put("hecate.result", result)
	return []Span{r.used(e, s.SpanID, route, bill), s.end(e, status, "")}
}

func labelled(route run.Route) run.Route {
	return run.Route{Provider: Label(route.Provider), ProviderKind: word(route.ProviderKind), Model: Label(route.Model)}
}

func answeredBy(route run.Route) Attributes {
	a := Attributes{}
	a.puts(Attributes{
		"gen_ai.provider.name": route.Provider, "hecate.provider.kind": route.ProviderKind,
		"gen_ai.request.model": route.Model, "gen_ai.response.model": route.Model,
	})
	return a
}

// account is what a call used and cost, as far as anybody knows.
func account(u *run.Usage, pico int64, known bool) Attributes {
	a := Attributes{"hecate.cost.known": known}
	if u != nil {
		a["gen_ai.usage.input_tokens"], a["gen_ai.usage.output_tokens"], a["gen_ai.usage.total_tokens"] = u.Input, u.Output, u.Input+u.Output
	}
	if known {
		a["hecate.cost.total_micros_usd"] = run.MicroUSD(pico)
	}
	return a
}
