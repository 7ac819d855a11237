package run

import (
	"strconv"

	"hecate/domain/event"
	"hecate/domain/ident"
)

// State is what a run's events fold to: everything that the loop needs to go on.
// It is a cache of the log and can be dropped at any time.
type State struct {
	ID      string
	Version int64 // of the last event folded; 0 means that there is no such run

	TaskID         string
	Number         int64
	Status         Status
	Spec           Spec
	Route          Route
	ModelCallsMax  int64
	BudgetMicroUSD int64
	PriorPicoUSD   int64 // spent by the runs that this one continues
	SpentPicoUSD   int64
	CostKnown      bool // false once a call's cost could not be known

	WorkspacePath string
	Begun         bool  // a worker has started it at least once
	StartedAt     int64 // version of the last run.started: whose attempt this is
	Disconnects   int64 // takeovers since the last new fact

	Seeded       bool
	Conversation []Message // in order; a pending batch's results are added as they settle
	CallsStarted int64     // model calls begun, abandoned ones included
	CallsDone    int64     // model calls answered
	InFlight     *InFlight // a model call without an answer
	Failure      *ModelCallFailed
	Batch        *Batch // the last answer, nil before the first

	Steps    int64 // steps so far; their ids are derived from their numbers
	Approval *ApprovalRequested
	Resolved map[string]string // decided approvals by id
	Direct   *Batch            // a direct run's one call
	Granted  *Grant            // the last yes
}

// InFlight is a model call whose answer is not in the log.
type InFlight struct {
	Index  int64
	StepID string
	Model  string
}

// Grant is a person's yes: it covers what Digest names.
type Grant struct {
	ApprovalID string
	Digest     string
}

// Batch is one answer of the model with the fate of its calls.
type Batch struct {
	Index        int64
	Response     int64 // version of the response in the run's stream
	Message      Message
	FinishReason string
	Intents      map[string]DispatchIntended // by call id: dispatched or about to be
	Settled      map[string]DispatchSettled
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
// What arrives after the end of the run changes nothing but the account.
func (s *State) Apply(e event.Event) {
	s.Version = e.Version
	if s.Status.Terminal() {
		if p, ok := e.Payload.(ModelCallCompleted); ok {
			s.account(p)
		}
		return
	}
	switch p := e.Payload.(type) {
	case Created:
		s.applyCreated(p)
	case Queued:
		s.Status = StatusQueued
	case Started:
		s.applyStarted(p)
	case AwaitingApproval:
		s.Status = StatusAwaitingApproval
	case Disconnected:
		s.Status = StatusQueued
		s.Disconnects++
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
	default:
		s.applyLoop(e)
	}
}

func (s *State) applyCreated(p Created) {
	s.TaskID, s.Number, s.Status, s.Spec, s.Route = p.TaskID, p.Number, p.Status, p.Spec, p.Route
	s.ModelCallsMax, s.BudgetMicroUSD, s.PriorPicoUSD = p.ModelCallsMax, p.BudgetMicroUSD, p.PriorPicoUSD
}

func (s *State) applyStarted(p Started) {
	s.Status, s.Begun, s.StartedAt = StatusRunning, true, s.Version
	s.WorkspacePath = p.WorkspacePath
	if p.Route != (Route{}) {
		s.Route = p.Route
	}
	if p.Resume != nil && p.Resume.ToolCalls > 0 {
		s.Steps++ // the control step
	}
}

func (s *State) applyResolved(p ApprovalResolved) {
	s.Disconnects = 0
	if s.Resolved == nil {
		s.Resolved = map[string]string{}
	}
	s.Resolved[p.ApprovalID] = p.Decision
	if s.Approval == nil || s.Approval.ApprovalID != p.ApprovalID {
		return
	}
	if p.Decision == DecisionApproved && p.Digest == s.Approval.Digest {
		s.Granted = &Grant{ApprovalID: p.ApprovalID, Digest: p.Digest}
	}
	s.Approval = nil
}

// applyLoop folds what the model and the tools did.
func (s *State) applyLoop(e event.Event) {
	switch p := e.Payload.(type) {
	case ConversationSeeded:
		s.Seeded = true
		s.Conversation = append(s.Conversation, p.Messages...)
	case ModelCallStarted:
		s.Steps++
		s.CallsStarted++
		s.InFlight = &InFlight{Index: p.ModelCallIndex, StepID: p.StepID, Model: p.Model}
	case ModelResponseRecorded:
		s.InFlight, s.Disconnects = nil, 0
		s.CallsDone++
		s.Batch = &Batch{Index: p.ModelCallIndex, Response: e.Version, Message: p.Message, FinishReason: p.FinishReason}
		s.Conversation = append(s.Conversation, p.Message)
	case ModelCallCompleted:
		s.account(p)
	case ModelCallFailed:
		s.InFlight, s.Failure = nil, &p
		s.CostKnown = s.CostKnown && p.Partial.Len() == 0 // a provider may charge for what it sent
	case ModelCallAbandoned:
		s.InFlight = nil
		s.CostKnown = false
	case DispatchIntended:
		s.Steps++
		b := s.batchFor(p.ModelCallIndex)
		if b.Intents == nil {
			b.Intents = map[string]DispatchIntended{}
		}
		b.Intents[p.ToolCallID] = p
	case DispatchSettled:
		s.applySettled(p)
	}
}

func (s *State) account(p ModelCallCompleted) {
	s.SpentPicoUSD += p.CostPicoUSD
	s.CostKnown = s.CostKnown && p.CostKnown
	s.Route = p.Route
}

// batchFor returns the batch that a dispatch belongs to: the last answer's, or the
// one call of a direct run.
func (s *State) batchFor(index int64) *Batch {
	if index > 0 && s.Batch != nil {
		return s.Batch
	}
	if s.Direct == nil {
		s.Direct = &Batch{}
	}
	return s.Direct
}

func (s *State) applySettled(p DispatchSettled) {
	s.Disconnects = 0
	b := s.batchFor(p.ModelCallIndex)
	if _, ok := b.Intents[p.ToolCallID]; !ok {
		s.Steps++ // settled without ever being dispatched
	}
	if b.Settled == nil {
		b.Settled = map[string]DispatchSettled{}
	}
	b.Settled[p.ToolCallID] = p
	if b == s.Batch {
		s.Conversation = append(s.Conversation, Message{
			Role: RoleTool, Content: p.Result, ToolCallID: p.ToolCallID, ToolError: p.ToolError,
		})
	}
}

// Unsettled returns the batch's calls that have no outcome yet, in order.
func (b *Batch) Unsettled() []ToolCall {
	if b == nil {
		return nil
	}
	var out []ToolCall
	for _, c := range b.Message.ToolCalls {
		if _, ok := b.Settled[c.ID]; !ok {
			out = append(out, c)
		}
	}
	return out
}
