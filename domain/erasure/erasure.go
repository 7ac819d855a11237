// Package erasure says what of the log's data was erased, by which rule and on whose word.
//
// An erasure takes away what records say and leaves that they were there: the record, its
// hash and the digest of its data stay, so that the log can still be proven.
package erasure

import "hecate/domain/event"

// Stream is where all erasures stand, one after the other.
const Stream = "erasures"

// Limits of one erasure. What is larger is erased in several.
const (
	RecordsMax  = 1000
	ContentsMax = 2000
	ReasonMax   = 4096 // bytes
)

// The rules that data is erased by.
const (
	RuleRequest   = "request"   // somebody has asked for it
	RuleRetention = "retention" // it was older, or more, than is to be kept
)

// Erased is recorded in the transaction that erases.
type Erased struct {
	Rule     string   `json:"rule"`               // request or retention
	Policy   string   `json:"policy,omitempty"`   // of retention: its name, such as model_call_events
	Reason   string   `json:"reason,omitempty"`   // what whoever asked has given
	Subject  string   `json:"subject"`            // what was asked for, in words: run run_1
	Records  []Record `json:"records"`            // in order of position
	Contents []string `json:"contents,omitempty"` // digests of large contents
	Types    []string `json:"types"`              // of the records, each once
	TaskIDs  []string `json:"task_ids,omitempty"` // that the records belong to, or mention
}

// Record is one record whose data was erased.
type Record struct {
	Position int64  `json:"position"`
	Form     string `json:"form"` // hex SHA-256 of what stands in the place of its data
}

// EventType names the event on the wire.
func (Erased) EventType() string { return "log.erased" }

// Type is the name of the event type.
var Type = Erased{}.EventType()

var _ = event.Define(Erased{
	Rule: RuleRequest, Reason: "asked by its author", Subject: "run run_1", Types: []string{"conversation.seeded"}, TaskIDs: []string{"task_1"},
	Records: []Record{{Position: 7, Form: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}},
})
