package stream

import (
	"encoding/json"

	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/projections"
)

// runFold is how far a run had come at an event: enough to show the run as it was
// then. It holds no texts.
type runFold struct {
	id       string
	position int64 // of the last record
	status   run.Status
	calls    int64
	picoUSD  int64
	ended    int64 // position of the event that ended the run
	endType  string
}

// apply folds one record of the run, or a caller's event about it.
func (f *runFold) apply(r *eventstore.Record) {
	f.position = r.Position
	if f.status.Terminal() {
		return
	}
	switch r.Type {
	case run.Created{}.EventType():
		var e run.Created
		if json.Unmarshal(r.Data, &e) == nil {
			f.status = e.Status
		}
	case run.Queued{}.EventType(), run.Disconnected{}.EventType():
		f.status = run.StatusQueued
	case run.Started{}.EventType():
		f.status = run.StatusRunning
	case run.AwaitingApproval{}.EventType():
		f.status = run.StatusAwaitingApproval
	case run.ModelCallCompleted{}.EventType():
		f.calls++
		var e run.ModelCallCompleted
		if json.Unmarshal(r.Data, &e) == nil {
			f.picoUSD += e.CostPicoUSD
		}
	case run.ProgressCheckCompleted{}.EventType():
		var e run.ProgressCheckCompleted
		if json.Unmarshal(r.Data, &e) == nil {
			f.picoUSD += e.CostPicoUSD
		}
	case run.Finished{}.EventType():
		f.end(r, run.StatusCompleted)
	case run.Failed{}.EventType():
		f.end(r, run.StatusFailed)
	case run.Cancelled{}.EventType():
		f.end(r, run.StatusCancelled)
	}
}

func (f *runFold) end(r *eventstore.Record, s run.Status) {
	f.status, f.ended, f.endType = s, r.Position, r.Type
}

// asOf takes back what the run did after this point. A reader of old events must not
// see the end before it comes.
func (f *runFold) asOf(r projections.Run) projections.Run {
	r.Status = string(f.status)
	if !f.status.Terminal() {
		r.FinishedAt, r.LastError, r.OTelStatus, r.OTelMessage = "", "", "", ""
	}
	r.ModelCallCount, r.CostMicroUSD = f.calls, run.MicroUSD(f.picoUSD)
	return r
}

// typeOf is the public type of a record.
func typeOf(r *eventstore.Record) string {
	var e struct {
		Type string `json:"type"`
	}
	if r.Type == (run.ExternalEvent{}).EventType() && json.Unmarshal(r.Data, &e) == nil && e.Type != "" {
		return e.Type
	}
	return r.Type
}

func modelCall(r *eventstore.Record) *ModelCall {
	var m ModelCall
	if r.Type != (run.ModelCallCompleted{}).EventType() || json.Unmarshal(r.Data, &m) != nil {
		return nil
	}
	return &m
}
