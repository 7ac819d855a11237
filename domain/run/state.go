package run

import (
	"slices"
	"strconv"

	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/permission"
	"hecate/domain/permission/repetition"
	"hecate/domain/trace"
)

// State is what a run's events fold to: everything that the loop needs to go on.
// It is a cache of the log and can be dropped at any time.
type State struct {
	ID       string
	Version  int64 // of the last event folded; 0 means that there is no such run
	Position int64 // of the last event folded that was read from the log

	TaskID         string
	Number         int64
	Status         Status
	Spec           Spec
	Route          Route
	ModelCallsMax  int64
	BudgetMicroUSD int64
	PriorPicoUSD   int64 // spent by the runs that this one continues
	SpentPicoUSD   int64
	HeldPicoUSD    int64           // reserved in the chain for calls whose cost nobody knows: it counts as spent
	CostKnown      bool            // false once a call's cost could not be known
	Warned         map[string]bool // codes of the warnings given

	Trace         trace.Parent // where it belongs, see Created.Place
	Carried       trace.Carried
	Source        *Source  // the earlier run that this one follows
	Claim         *Claimed // the worker that has the run; nil while none has
	Reach         string   // the place that holds the workspace, see Claimed; "" before there is one
	WorkspacePath string
	Begun         bool  // a worker has started it at least once
	Waiting       bool  // its workspace stands where no live worker reaches it
	Disconnects   int64 // takeovers since the last new fact

	Seeded       bool
	Inherited    []Segment // the beginning of the conversation, in earlier runs
	Conversation []Message // in order; a pending batch's results are added as they settle
	Turns        []int64   // versions of the run's events that added to the conversation
	Answers      []int64   // versions of the model's answers, by their index
	Notes        []Message // to be told before the next model call
	Learned      []Message // what operators found out about calls of inherited runs since this one was opened; for who opens a run from it
	CallsStarted int64     // model calls begun, abandoned ones included
	CallsDone    int64     // model calls answered
	InFlight     *InFlight // a model call without an answer
	reserved     int64     // pico-USD for the last call; they are held if nobody learns what it cost
	Failure      *ModelCallFailed
	Batch        *Batch // the last answer, nil before the first

	Snapshot string // the last one of the workspace; "" before the first change

	Steps    int64 // steps so far; their ids are derived from their numbers
	Approval *ApprovalRequested
	Resolved map[string]string // decided approvals by id
	Direct   *Batch            // a direct run's one call
	Granted  *Grant            // the last answer that let the run go on
	Doubtful []Doubt           // calls whose outcome is unknown

	Ahead    Ahead          // the answers that it was opened with
	Session  []SessionGrant // given in this run and the ones that it goes on from, and not revoked
	Unsaved  []SessionGrant // of these: still to be written into the project's file
	Repeats  repetition.State
	Checking *ProgressCheckStarted             // a check without a result
	Assessed map[string]ProgressCheckCompleted // of calls of Batch, by id
}

// Doubt is a call whose effect may have happened, and what an operator says of it.
type Doubt struct {
	Call    DispatchSettled
	Version int64          // of the settlement as unknown
	Stated  *OutcomeStated // nil until an operator has looked
	At      int64          // position of what the operator said
}

// InFlight is a model call whose answer is not in the log.
type InFlight struct {
	Index    int64
	StepID   string
	Model    string
	Reserved int64    // pico-USD
	EventID  [16]byte // of its model.call.started
}

// Grant is a person's answer about what Digest names.
type Grant struct {
	ApprovalID string
	Digest     string
	Refused    map[string]string            // calls that the person refused, with what the model is told
	Opened     map[string][]permission.Gate // by call: the gates that the answer opens
	All        bool                         // of a direct run: all gates
}

// Batch is one answer of the model with the fate of its calls.
type Batch struct {
	Index        int64
	Response     int64   // version of the response in the run's stream
	Origin       *Origin // of an inherited answer: Index and Response are 0 then
	Message      Message
	FinishReason string
	Intents      map[string]DispatchIntended // by call id: dispatched or about to be, here or in the run that the answer comes from
	Settled      map[string]DispatchSettled
}

// Origin is the run whose model gave an inherited answer.
type Origin struct {
	RunID string
	Index int64 // of the model call there
}

// New returns the state of a run that has no events yet.
func New(id string) State { return State{ID: id, CostKnown: true} }

// Fold applies events in order to a new state.
func Fold(id string, events []event.Event) State {
	s := New(id)
	for _, e := range events {
		s.Apply(e)
	}
	return s
}

// StepID is the id of the run's nth step. It depends on run and number alone.
func (s *State) StepID(n int64) string {
	return ident.Derive("step", s.ID, strconv.FormatInt(n, 10))
}

// NextStepID is the id of the step that the next event may open.
func (s *State) NextStepID() string { return s.StepID(s.Steps + 1) }

// Apply folds one event. It never fails: a recorded fact is not up for debate.
// What arrives after the end of the run adds to the account and to what a later run
// may inherit, and changes nothing else.
func (s *State) Apply(e event.Event) {
	s.Version = e.Version
	if e.Position > 0 {
		s.Position = e.Position
	}
	if p, ok := e.Payload.(WorkspaceChanged); ok {
		if p.After != "" {
			s.Snapshot = p.After
		}
		return
	}
	if s.Status.Terminal() {
		s.applyLate(e)
		return
	}
	switch p := e.Payload.(type) {
	case Created:
		s.applyCreated(p)
		s.Trace, s.Carried = p.Place(e.ID), p.Carried
	case Queued:
		s.Status, s.Claim = StatusQueued, nil
	case Claimed:
		s.Claim, s.Reach, s.Waiting = &p, p.Reach, false
	case Started:
		s.applyStarted(p)
	case AwaitingApproval:
		s.Status, s.Claim = StatusAwaitingApproval, nil
	case Disconnected:
		s.applyDisconnected(p)
	case Finished:
		s.Status = StatusCompleted
	case Failed:
		s.Status = StatusFailed
	case Cancelled:
		s.Status = StatusCancelled
	case ApprovalRequested:
		s.Approval = &p
		if p.StepID != "" {
			s.Steps++
		}
	case ApprovalResolved:
		s.applyResolved(p)
	case PermissionRevoked:
		s.revoke(p.GrantID)
	default:
		s.applyLoop(e)
	}
}

// Home is the task that the run's workspace was made for: its own, unless it goes on in
// another one's.
func (s *State) Home() string {
	if r := s.Spec.Reuse; r != nil {
		return r.TaskID
	}
	return s.TaskID
}

// Before is the run that this one goes on from, in the same workspace; "" if it begins in a
// fresh one.
func (s *State) Before() string {
	switch {
	case s.Source != nil && s.Source.Kind != SourceRetry:
		return s.Source.RunID
	case s.Spec.Reuse != nil:
		return s.Spec.Reuse.RunID
	}
	return ""
}

func (s *State) applyCreated(p Created) {
	s.TaskID, s.Number, s.Status, s.Spec, s.Route = p.TaskID, p.Number, p.Status, p.Spec, p.Route
	s.ModelCallsMax, s.BudgetMicroUSD, s.PriorPicoUSD = p.ModelCallsMax, p.BudgetMicroUSD, p.PriorPicoUSD
	s.HeldPicoUSD = p.PriorHeldPicoUSD
	s.Source, s.WorkspacePath, s.Reach = p.Source, p.WorkspacePath, p.Reach
	s.Ahead, s.Session = p.Ahead, slices.Clone(p.Session)
}

// applyDisconnected notes a takeover. A run that only waits for its place was taken
// over by nobody.
func (s *State) applyDisconnected(p Disconnected) {
	s.Status, s.Claim = StatusQueued, nil
	s.Waiting = p.Action == ActionWaiting
	if !s.Waiting {
		s.Disconnects++
	}
}

func (s *State) applyStarted(p Started) {
	s.Status, s.Begun = StatusRunning, true
	s.WorkspacePath = p.WorkspacePath
	if p.Route != (Route{}) {
		s.Route = p.Route
	}
	if p.Resume != nil && p.Resume.ToolCalls > 0 {
		s.Steps++ // the control step
	}
}
