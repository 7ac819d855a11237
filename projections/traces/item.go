package traces

import (
	"context"
	"slices"

	"hecate/projections"
)

// Trace is the trace of a run, or of a pass of retention, as it stands in the log, with all its spans.
type Trace struct {
	Run   *Run
	Spans []Span // in the order of their beginnings, each after its parent
}

// Read folds the whole stream of a run.
func Read(ctx context.Context, log Log, runID, backend string) (Trace, error) {
	t := Trace{Run: New(runID, backend)}
	if err := t.Run.Catch(ctx, log, 0, func(s Span) { t.Spans = append(t.Spans, s) }); err != nil {
		return Trace{}, err
	}
	t.Spans = append(t.Spans, t.Run.Open()...)
	slices.SortStableFunc(t.Spans, func(a, b Span) int {
		if c := a.Start.Compare(b.Start); c != 0 {
			return c
		}
		return depths[a.Name] - depths[b.Name]
	})
	return t, nil
}

// depths order what begins at the same moment.
var depths = map[string]int{Request: 0, Task: 1, RunSpan: 2, Queue: 3, Approval: 3, Step: 4, Router: 5, Provider: 6, Artifact: 6, Usage: 7}

// Root is the span of the whole run, nil if the log has no beginning of it.
func (t Trace) Root() *Span { return t.Run.root }

// Item is the trace as the list of traces shows it.
func (t Trace) Item() projections.Trace {
	root := t.Root()
	it := projections.Trace{RequestID: t.Run.RequestID, TraceID: t.Run.Place.TraceID, RunID: t.Run.ID, SpanCount: len(t.Spans), Route: t.Run.Route.item()}
	if root == nil {
		return it
	}
	it.TaskID, _ = root.Attributes["hecate.task.id"].(string)
	it.StartedAt, it.StatusCode, it.StatusText = projections.FormatTime(root.Start), root.Status, root.Message
	if !root.End.IsZero() {
		it.DurationMS = root.milliseconds()
	}
	return it
}

// Detail is the trace with its spans.
func (t Trace) Detail() projections.TraceDetail {
	it := t.Item()
	d := projections.TraceDetail{RequestID: it.RequestID, TraceID: it.TraceID, RunID: it.RunID, TaskID: it.TaskID, StartedAt: it.StartedAt, Route: it.Route}
	if root := t.Root(); root != nil {
		d.EndedAt = projections.FormatTime(root.End)
	}
	for _, s := range t.Spans {
		d.Spans = append(d.Spans, s.item())
	}
	return d
}

func (s Span) item() projections.TraceSpan {
	it := projections.TraceSpan{
		TraceID: s.TraceID, SpanID: s.SpanID, ParentID: s.ParentID, Name: s.Name, Kind: s.Kind,
		StartTime: projections.FormatTime(s.Start), EndTime: projections.FormatTime(s.End), Attributes: s.Attributes,
		StatusCode: s.Status, StatusText: s.Message,
	}
	for _, e := range s.Events {
		it.Events = append(it.Events, projections.TraceEvent{Name: e.Name, Timestamp: projections.FormatTime(e.At), Attributes: e.Attributes})
	}
	return it
}

func (r Route) item() projections.TraceRoute {
	it := projections.TraceRoute{FinalProvider: r.Provider, FinalProviderKind: r.ProviderKind, FinalModel: r.Model}
	for _, c := range r.Candidates {
		it.Candidates = append(it.Candidates, projections.TraceCandidate{
			Provider: c.Provider, Model: c.Model, Outcome: c.Outcome, Attempt: c.Attempt, Retryable: c.Retryable, LatencyMS: c.LatencyMS,
			FailoverFrom: c.FailoverFrom, Detail: c.Detail, Timestamp: projections.FormatTime(c.At),
		})
		if c.Outcome == "selected" {
			it.FallbackFrom = c.FailoverFrom
		}
	}
	for _, f := range r.Failovers {
		it.Failovers = append(it.Failovers, projections.TraceFailover{
			FromProvider: f.FromProvider, FromModel: f.FromModel, ToProvider: f.ToProvider, ToModel: f.ToModel, Reason: f.Reason,
			Timestamp: projections.FormatTime(f.At),
		})
	}
	return it
}
