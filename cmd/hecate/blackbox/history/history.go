// Package history judges a log after the fact: whether what Hecate promises about
// runs was kept, whoever wrote the log and whatever died meanwhile.
//
// It knows events by their names and members only, as an auditor would, and shares no
// code with what it judges. Read the log with Records and the feed with Events, and
// give both to Check, which returns one line for each promise that was broken.
package history

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Event is an item of the list of all events, as clients get it.
type Event struct {
	Sequence int64  `json:"sequence"`
	ID       string `json:"event_id"`
	Type     string `json:"type"`
	TaskID   string `json:"task_id"`
	RunID    string `json:"run_id"`
}

// Record is a row of the log.
type Record struct {
	Position  int64
	Stream    string
	Version   int64
	Type      string
	ActorKind string
	ActorName string
	Data      []byte // JSON; nothing if it was erased
}

// Check returns what is wrong with a log, one sentence for each finding, nothing if
// all is well. Records are the whole log in the order of its positions. Events are
// the whole feed, read when nothing was going on; nil leaves it out.
func Check(events []Event, records []Record) []string {
	c := &checker{tasks: map[string]*task{}, runs: map[string]*run{}, intents: map[call]string{}, epochs: map[int64]string{}, held: map[string][]*hold{}}
	c.order(records)
	for _, r := range records {
		var f facts
		if len(r.Data) > 0 {
			if err := json.Unmarshal(r.Data, &f); err != nil {
				c.wrong(r, "the data cannot be read: %v", err)
			}
		}
		switch kind, id, _ := strings.Cut(r.Stream, "-"); kind {
		case "task":
			c.task(id).apply(c, r, f)
		case "run":
			c.run(id).apply(c, r, f)
		}
	}
	c.pairs()
	if events != nil {
		c.feed(events, records)
	}
	return c.findings
}

// Twice returns the marks that occur more than once: side effects that happened twice
// if every one of them leaves a mark of its own.
func Twice(marks []string) []string {
	var out []string
	seen := map[string]int{}
	for _, m := range marks {
		if seen[m]++; seen[m] == 2 {
			out = append(out, m)
		}
	}
	return out
}

type checker struct {
	findings []string
	tasks    map[string]*task
	runs     map[string]*run
	intents  map[call]string  // run in which each call was dispatched
	epochs   map[int64]string // run of each claim
	held     map[string][]*hold
}

// wrong notes a finding about a record.
func (c *checker) wrong(r Record, format string, args ...any) {
	c.findings = append(c.findings, fmt.Sprintf("%s version %d (position %d, %s): %s", r.Stream, r.Version, r.Position, r.Type, fmt.Sprintf(format, args...)))
}

// facts are the members of all events that a judgement depends on.
type facts struct {
	RunID  string `json:"run_id"`
	TaskID string `json:"task_id"`
	Number int64  `json:"number"`
	Status string `json:"status"`

	Budget int64 `json:"budget_micros_usd"`
	Prior  int64 `json:"prior_cost_pico_usd"`
	Source *struct {
		Kind  string `json:"kind"`
		RunID string `json:"run_id"`
	} `json:"source"`

	NodeID string `json:"node_id"`
	Epoch  int64  `json:"epoch"`
	Action string `json:"action"`

	ApprovalID string `json:"approval_id"`
	Decision   string `json:"decision"`
	Digest     string `json:"digest"`
	Continue   bool   `json:"continue"`
	Calls      []struct {
		ID       string  `json:"tool_call_id"`
		Ruling   *ruling `json:"ruling"`
		Decision string  `json:"decision"`
	} `json:"calls"`
	Message   json.RawMessage `json:"message"` // a model's, or a text
	FromRunID string          `json:"from_run_id"`
	Pending   *struct {
		Begun []string `json:"begun"`
		Calls bundle   `json:"calls"`
	} `json:"pending"`

	CallID      string   `json:"tool_call_id"`
	CallDigest  string   `json:"tool_call_digest"`
	Index       int64    `json:"model_call_index"`
	SourceRunID string   `json:"source_run_id"`
	SourceIndex int64    `json:"source_model_call_index"`
	Outcome     string   `json:"outcome"`
	ErrorKind   string   `json:"error_kind"`
	Ruling      *ruling  `json:"ruling"`
	Locks       []string `json:"locks"`

	Before      string `json:"before"` // snapshots of the workspace
	After       string `json:"after"`
	OperationID string `json:"operation_id"`

	Pico      int64 `json:"cost_pico_usd"`
	RunMicro  int64 `json:"run_cumulative_cost_micros_usd"`
	TaskMicro int64 `json:"task_cumulative_cost_micros_usd"`
}
