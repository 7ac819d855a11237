package runs

import (
	"time"

	"hecate/domain/task"
	"hecate/projections"
)

// taskDoc is what is kept of a task. Texts that stand in blobs stay references.
type taskDoc struct {
	Definition task.Definition `json:"definition"`
	RequestID  string          `json:"request_id,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	UpdatedAt  time.Time       `json:"updated_at"`          // of the task's own stream
	StartedAt  time.Time       `json:"started_at,omitzero"` // of the first run
}

type taskState struct {
	id        string
	pos       int64
	latestRun string
	doc       taskDoc
	dirty     bool
}

// runDoc is what is kept of a run. Item lacks what is filled in when it is read.
type runDoc struct {
	Item      projections.Run `json:"item"`
	Kind      string          `json:"kind"` // of execution
	PicoUSD   int64           `json:"pico_usd"`
	PriorPico int64           `json:"prior_pico_usd"`
	UpdatedAt time.Time       `json:"updated_at"`
	Pending   int64           `json:"pending_approvals,omitempty"`
	Messages  int64           `json:"messages,omitempty"`
	Call      int64           `json:"call,omitempty"` // index of the last model call that was answered
	Talk      *conversation   `json:"conversation,omitempty"`
	Since     int64           `json:"since,omitempty"` // the last change of status, in microseconds since 1970
	Inherited *inherited      `json:"inherited,omitempty"`
	Open      *openNote       `json:"open,omitempty"`
}

// openNote is the note about what the run is doing: waiting for a lock, or having
// itself checked. It does one of them at a time.
type openNote struct {
	Pos  int64            `json:"pos"`
	Note projections.Note `json:"note"`
}

// inherited are the calls of an answer that a run took over because some of them had
// no outcome.
type inherited struct {
	From  string          `json:"from"`  // the run that it was taken over from
	RunID string          `json:"run"`   // the run whose model gave the answer
	Index int64           `json:"index"` // of the model call there
	Calls []inheritedCall `json:"calls"`
}

type inheritedCall struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Settled bool   `json:"settled,omitempty"` // in an earlier run
	Begun   bool   `json:"begun,omitempty"`   // in an earlier run, without an outcome
}

// conversation is the artifact that is put together from the messages.
type conversation struct {
	Pos       int64     `json:"pos"`
	CreatedAt time.Time `json:"created_at"`
	Status    string    `json:"status"` // streaming while a model call is under way
}

type runState struct {
	id    string
	pos   int64 // of run.created; names the run's rows
	doc   runDoc
	dirty bool

	// What an event may still change, by id. The rest is only in the rows.
	steps     map[string]*stepRow
	artifacts map[string]*artifactRow
	approvals map[string]*approvalRow

	whole    bool            // in memory since its first event, so that recorded has all
	recorded map[string]bool // ids of artifacts that came by artifact.recorded
}

// stepRow is a step. Doc lacks what its run says: task, run, request and trace.
type stepRow struct {
	run     int64
	pos     int64
	pending bool // an event may still change it
	dirty   bool
	doc     projections.Step
}

type artifactDoc struct {
	projections.Artifact
	CallID  string `json:"call,omitempty"`           // of the tool call that fills it
	Preview []byte `json:"preview,omitempty"`        // how stdout and stderr begin
	Existed bool   `json:"before_existed,omitempty"` // patches only
	Gone    bool   `json:"gone,omitempty"`           // something of it was erased
}

type artifactRow struct {
	run     int64
	pos     int64
	pending bool
	dirty   bool
	doc     artifactDoc
}

type approvalRow struct {
	run     int64
	pos     int64
	pending bool
	dirty   bool
	doc     projections.Approval
}

// The kinds of parts of a content.
const (
	partBytes   int64 = iota // the bytes themselves
	partBlob                 // the digest of a blob of the log
	partMessage              // the version of the message that holds the text, in decimal digits
)
