// Package retention says what the passes of retention did: what of the log is no longer
// kept, by which policy. What a pass takes away is erased as erasure.Erased says; the
// records stay, and of a conversation and its cost nothing is ever taken.
package retention

import (
	"time"

	"hecate/domain/event"
)

// Stream is where all passes stand, one after the other.
const Stream = "retention"

// Who wanted a pass.
const (
	TriggerManual    = "manual"
	TriggerScheduled = "scheduled"
)

// The subsystems that have a policy.
const (
	TraceSnapshots  = "trace_snapshots"
	UsageEvents     = "usage_events"
	AuditEvents     = "audit_events"
	ProviderHistory = "provider_history"
	ModelCallEvents = "model_call_events" // content of model.call.completed
	ChatApprovals   = "chat_approvals"
	RunContents     = "run_contents" // output of the commands of runs that have ended
)

// Finished is recorded at the end of a pass.
type Finished struct {
	StartedAt time.Time `json:"started_at"`
	Trigger   string    `json:"trigger"`              // manual or scheduled
	RequestID string    `json:"request_id,omitempty"` // of a manual pass
	Results   []Result  `json:"results"`              // one for each subsystem
}

// Result is what a pass did in one subsystem.
type Result struct {
	Name       string `json:"name"`
	Deleted    int64  `json:"deleted"`              // records whose content was erased
	MaxAgeMS   int64  `json:"max_age_ms,omitempty"` // of the policy; 0: any age
	MaxCount   int64  `json:"max_count"`            // of the policy; 0: any number
	Error      string `json:"error,omitempty"`      // why it ended early
	Skipped    bool   `json:"skipped,omitempty"`    // not asked for, switched off, or nothing that could be pruned
	Incomplete bool   `json:"incomplete,omitempty"` // there is more, for the next pass
	Through    int64  `json:"through,omitempty"`    // position up to which nothing is left to do
}

// EventType names the event on the wire.
func (Finished) EventType() string { return "retention.finished" }

// Type is the name of the event type.
var Type = Finished{}.EventType()

var _ = event.Define(Finished{
	StartedAt: time.Date(2026, 2, 3, 9, 30, 0, 0, time.UTC), Trigger: TriggerScheduled,
	Results: []Result{{Name: ModelCallEvents, Deleted: 12, MaxAgeMS: 604_800_000, MaxCount: 100_000, Through: 2048}},
})

// Deleted is how many records a pass erased the content of.
func (f Finished) Deleted() (n int64) {
	for _, r := range f.Results {
		n += r.Deleted
	}
	return n
}

// Result returns what a pass did in a subsystem, the zero value if nothing.
func (f Finished) Result(name string) Result {
	for _, r := range f.Results {
		if r.Name == name {
			return r
		}
	}
	return Result{Name: name}
}
