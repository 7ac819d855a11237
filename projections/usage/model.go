// Package usage keeps what model calls used and cost: one row per call, and sums per
// provider. Checks of the repetition guard are such calls, marked as what they are. Sums are exact, in pico-USD, and rounded once when they are shown. They
// never shrink: the calls of a deleted task keep counting.
package usage

import (
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/migrations/readmodel"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// Name is the model's name, for runner.WaitFor and the like.
const Name = "usage"

// version counts changes of the tables or of what a fact means in them.
const version = 2

// Model is the read model of usage.
type Model struct{}

// Name returns Name.
func (Model) Name() string { return Name }

// Version returns the version of the code and the tables.
func (Model) Version() int64 { return version }

// Schema makes the tables.
func (Model) Schema() string { return readmodel.Usage }

// Wants reports whether facts of this type matter.
func (Model) Wants(eventType string) bool { return wanted[eventType] }

// NewFold returns a fold that knows nothing yet.
func (Model) NewFold() runner.Fold { return newFold() }

var wanted = types(
	run.Created{}, run.ModelCallStarted{}, run.ModelCallRetrying{}, run.ModelCallCompleted{}, run.ModelCallFailed{}, run.ModelCallAbandoned{},
	run.ProgressCheckStarted{}, run.ProgressCheckCompleted{},
)

func types(payloads ...event.Payload) map[string]bool {
	out := map[string]bool{}
	for _, p := range payloads {
		out[p.EventType()] = true
	}
	return out
}

func column(name string, t readdb.Type) readdb.Column { return readdb.Column{Name: name, Type: t} }

var (
	eventsTable = &readdb.Table{Name: "hecate_view_usage_events_@", Key: 1, Columns: []readdb.Column{
		column("position", readdb.Int), column("at", readdb.Int), column("run_id", readdb.Text), column("provider", readdb.Text),
		column("model", readdb.Text), column("detail", readdb.Text), column("input", readdb.Int), column("output", readdb.Int),
		column("pico_usd", readdb.Int), column("known", readdb.Int),
	}}
	sumsTable = &readdb.Table{Name: "hecate_view_usage_sums_@", Key: 1, Columns: []readdb.Column{
		column("provider", readdb.Text), column("pico_usd", readdb.Int), column("unknown", readdb.Int),
	}}
	runsTable = &readdb.Table{Name: "hecate_view_usage_runs_@", Key: 1, Columns: []readdb.Column{
		column("run_id", readdb.Text), column("task_id", readdb.Text), column("request_id", readdb.Text),
		column("provider", readdb.Text), column("model", readdb.Text), column("checker", readdb.Text), column("checker_model", readdb.Text),
	}}
)
