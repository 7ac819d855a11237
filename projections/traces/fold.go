package traces

import (
	"cmp"

	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/trace"
)

// Run is a trace that grows with the events of its run.
type Run struct {
	ID        string
	Version   int64 // of the last event that was applied
	RequestID string
	Place     trace.Parent // where in whose trace the run is; the zero value before run.created
	Route     Route

	backend   string
	root      *Span
	task, run *Span
	queue     *Span
	calls     map[int64]*call  // model calls under way, by index
	steps     map[string]*Span // tool calls under way, by the id of their step
	byCall    map[string]*Span // the same, by the id of the call
	approvals map[string]*Span // not answered yet
	checks    map[string]*Span // of the repetition guard, by the id of the call they are about
	ended     bool
}

// call is one model call under way.
type call struct {
	step, provider *Span
	attempt        *Candidate
	since          event.Event // the attempt's beginning
}

// New returns the trace of a run that has no events yet. Backend is what holds the
// queue: sqlite, postgres or memory.
func New(runID, backend string) *Run {
	return &Run{
		ID: runID, backend: backend, calls: map[int64]*call{}, steps: map[string]*Span{}, byCall: map[string]*Span{},
		approvals: map[string]*Span{}, checks: map[string]*Span{},
	}
}

// Apply takes the next event and returns the spans that it ends, children first. It
// never fails: a recorded fact is not up for debate.
func (r *Run) Apply(e event.Event) []Span {
	r.Version = e.Version
	if p, ok := e.Payload.(run.Created); ok {
		r.create(e, p)
		return nil
	}
	if r.root == nil {
		return nil // a stream that begins elsewhere
	}
	switch p := e.Payload.(type) {
	case run.Queued, run.Claimed, run.Started, run.Disconnected:
		return r.lifecycle(e)
	case run.Finished:
		return r.finish(e, run.StatusCompleted, "")
	case run.Failed:
		return r.finish(e, run.StatusFailed, word(cmp.Or(p.Reason, p.Code)))
	case run.Cancelled:
		return r.finish(e, run.StatusCancelled, "cancelled")
	case run.ModelCallStarted, run.ModelCallRetrying, run.ModelCallCompleted, run.ModelCallFailed, run.ModelCallAbandoned,
		run.ProgressCheckStarted, run.ProgressCheckCompleted:
		return r.model(e)
	case run.ApprovalRequested, run.ApprovalResolved, run.ToolBlocked:
		return r.approval(e)
	}
	return r.tool(e)
}

// Open returns the spans that have not ended, the root first.
func (r *Run) Open() []Span {
	var out []Span
	add := func(spans ...*Span) {
		for _, s := range spans {
			if s != nil && s.End.IsZero() {
				out = append(out, *s)
			}
		}
	}
	add(r.root, r.task, r.run, r.queue)
	for _, s := range sorted(r.approvals) {
		add(s)
	}
	for _, c := range sortedCalls(r.calls) {
		add(c.step, c.provider)
	}
	for _, s := range sorted(r.steps) {
		add(s)
	}
	for _, s := range sorted(r.checks) {
		add(s)
	}
	return out
}

// begin makes a span that the event begins.
func (r *Run) begin(e event.Event, name, part, parent string) *Span {
	return &Span{
		TraceID: r.Place.TraceID, SpanID: trace.SpanID(e.ID, part), ParentID: parent, Name: name, Kind: KindInternal, Start: e.At,
		Status: StatusUnset, Attributes: Attributes{"hecate.run.id": r.ID},
	}
}

func (r *Run) create(e event.Event, p run.Created) {
	r.RequestID = p.RequestID
	r.Place = p.Place(e.ID)
	about := Attributes{
		"hecate.task.id": p.TaskID, "hecate.run.number": p.Number, "hecate.execution.kind": word(p.Spec.ExecutionKind),
		"gen_ai.request.model": Label(p.Route.Model),
	}
	r.root = r.begin(e, Request, Request, r.Place.SpanID)
	r.root.Kind = KindServer
	r.root.Attributes.puts(about)
	r.root.Attributes.puts(Attributes{"request.id": p.RequestID, "hecate.trace.request_id": p.RequestID, "gen_ai.provider.name": Label(p.Route.Provider)})
	r.root.note("request.received", e, nil)
	r.task = r.begin(e, Task, Task, r.root.SpanID)
	r.task.Attributes.puts(about)
	r.task.note("orchestrator.task.started", e, nil)
	r.run = r.begin(e, RunSpan, RunSpan, r.task.SpanID)
	r.run.Attributes.puts(about)
}

func (r *Run) lifecycle(e event.Event) []Span {
	switch p := e.Payload.(type) {
	case run.Queued:
		if r.queue == nil && !r.ended {
			r.queue = r.begin(e, Queue, Queue, r.run.SpanID)
			r.queue.Attributes.put("hecate.queue.backend", r.backend)
			r.queue.note("queue.enqueued", e, nil)
		}
	case run.Claimed:
		r.run.Attributes.put("hecate.worker.id", p.NodeID)
		return r.dequeue(e, Attributes{"hecate.queue.claim_id": p.Epoch, "hecate.worker.id": p.NodeID})
	case run.Started:
		if len(r.run.Events) == 0 {
			r.run.note("orchestrator.run.started", e, Attributes{"hecate.worker.id": p.WorkerID})
		}
		return r.dequeue(e, Attributes{"hecate.worker.id": p.WorkerID}) // nobody claims where there are no leases
	case run.Disconnected:
		name := "queue.nacked"
		if p.Reason == "worker_lease_expired" {
			name = "queue.lease_extend_failed"
		}
		s := r.begin(e, Queue, Queue, r.run.SpanID)
		s.Attributes.put("hecate.queue.backend", r.backend)
		s.note(name, e, Attributes{"error.type": word(p.Reason)})
		return []Span{s.end(e, StatusError, word(p.Reason))}
	}
	return nil
}

// dequeue ends the wait for a worker, if there is one.
func (r *Run) dequeue(e event.Event, by Attributes) []Span {
	q := r.queue
	if q == nil {
		return nil
	}
	r.queue = nil
	q.note("queue.claimed", e, by)
	out := q.end(e, StatusOK, "")
	out.Attributes.puts(by)
	out.Attributes.put("hecate.queue.wait_ms", out.milliseconds())
	return []Span{out}
}

// finish ends the run. What it has begun and what was not settled ends with its own events.
func (r *Run) finish(e event.Event, status run.Status, reason string) []Span {
	if r.ended {
		return nil
	}
	r.ended = true
	var out []Span
	if r.queue != nil {
		out = append(out, r.queue.end(e, StatusUnset, ""))
		r.queue = nil
	}
	result, code := Success, StatusOK
	if status != run.StatusCompleted {
		result, code = Failure, StatusError
	}
	name := "orchestrator.run.finished"
	if status == run.StatusFailed {
		name = "orchestrator.run.failed"
	}
	r.run.note(name, e, Attributes{"hecate.run.status": string(status), "hecate.result": result, "error.type": reason})
	r.task.note("orchestrator.task.finished", e, Attributes{"hecate.task.status": string(status)})
	for _, s := range []*Span{r.run, r.task, r.root} {
		s.end(e, code, reason)
		s.Attributes.puts(Attributes{"hecate.run.status": string(status), "hecate.result": result, "error.type": reason, "hecate.run.duration_ms": s.milliseconds()})
	}
	for _, s := range []*Span{r.run, r.task, r.root} {
		if _, asked := s.Attributes["gen_ai.request.model"]; !asked {
			s.Attributes.put("gen_ai.request.model", r.Route.Model)
		}
	}
	r.root.Attributes.puts(Attributes{"gen_ai.response.model": r.Route.Model, "hecate.provider.kind": r.Route.ProviderKind})
	if r.Route.Provider != "" {
		r.root.Attributes["gen_ai.provider.name"] = r.Route.Provider
	}
	return append(out, *r.run, *r.task, *r.root)
}
