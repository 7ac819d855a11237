package traces

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hecate/domain/event"
	"hecate/domain/retention"
	"hecate/domain/trace"
	"hecate/eventstore"
)

// passName begins the request ids of passes.
const passName = "retention"

// PassID names a pass as the list of traces does.
func PassID(f retention.Finished) string {
	return strings.Join([]string{passName, f.Trigger, strconv.FormatInt(f.StartedAt.UnixNano(), 10)}, ":")
}

// PassStart is when a pass of that name began; ok is false if it names none.
func PassStart(id string) (at time.Time, ok bool) {
	name, rest, _ := strings.Cut(id, ":")
	_, nanos, _ := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(nanos, 10, 64)
	return time.Unix(0, n).UTC(), name == passName && err == nil
}

// Pass tells a pass of retention from the record at its end. Nothing is known of the times in
// between.
func Pass(rec eventstore.Record) (Trace, error) {
	p, err := event.Decode(rec.Type, rec.Schema, rec.Data, nil)
	if err != nil {
		return Trace{}, fmt.Errorf("tell a pass of retention: %w", err)
	}
	f, ok := p.(retention.Finished)
	if !ok {
		return Trace{}, fmt.Errorf("tell a pass of retention: record %d is of type %s", rec.Position, rec.Type)
	}
	began, ended := event.Event{ID: rec.ID, At: f.StartedAt}, event.Event{ID: rec.ID, At: rec.At}
	r := &Run{RequestID: PassID(f), ended: true}
	if r.Place, ok = trace.Parse(rec.Trace); !ok {
		r.Place = trace.Parent{TraceID: trace.ID(rec.ID)}
	}
	r.root = r.begin(began, Request, Request, r.Place.SpanID)
	r.root.Kind, r.root.Attributes = KindServer, Attributes{"hecate.trace.request_id": r.RequestID}
	r.root.Attributes.put("request.id", f.RequestID)
	pass := r.begin(began, PassSpan, PassSpan, r.root.SpanID)
	pass.Attributes = Attributes{}
	pass.Attributes.puts(Attributes{"retention.trigger": f.Trigger, "retention.deleted": f.Deleted(), "retention.results": int64(len(f.Results))})
	pass.note("retention.run.started", began, Attributes{"retention.trigger": f.Trigger})
	for _, one := range f.Results {
		about := Attributes{"retention.subsystem": word(one.Name), "retention.deleted": one.Deleted}
		switch {
		case one.Skipped:
		case one.Error != "":
			about["hecate.result"] = Failure
			pass.note("retention.subsystem.failed", ended, about)
		default:
			about["hecate.result"] = Success
			pass.note("retention.subsystem.finished", ended, about)
		}
	}
	pass.note("retention.history.persisted", ended, nil)
	pass.note("retention.run.finished", ended, Attributes{"retention.trigger": f.Trigger, "retention.deleted": f.Deleted()})
	root := r.root.end(ended, StatusOK, "")
	return Trace{Run: r, Spans: []Span{root, pass.end(ended, StatusOK, "")}}, nil
}
