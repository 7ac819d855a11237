package runs

import (
	"maps"
	"strconv"

	"hecate/domain/event"
	"hecate/domain/ident"
	"hecate/domain/run"
	"hecate/projections"
	"hecate/projections/runner"
)

// change is the effect of one fact on one run.
type change struct {
	f     *fold
	r     *runState
	fact  runner.Fact
	again bool // the run has an artifact of the fact's id already
}

// The words of the contract for steps.
const (
	statusRunning   = "running"
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusCancelled = "cancelled"
	statusWaiting   = "awaiting_approval"

	resultSuccess = "success"
	resultError   = "error"
	resultDenied  = "denied"

	phaseThinking  = "thinking"
	phaseExecution = "execution"
	phaseApproval  = "approval"
	phasePolicy    = "policy"
	phaseRecovery  = "recovery"

	errorKindCancelled = "run_cancelled"
)

func stamp(fact runner.Fact) string { return projections.FormatTime(fact.At) }

func (c change) apply() {
	c.waitEnds()
	switch p := c.fact.Payload.(type) {
	case run.Queued:
		c.goes(run.StatusQueued)
		c.route(p.Route)
	case run.Claimed:
		c.claimed(p)
	case run.Started:
		c.started(p)
	case run.AwaitingApproval:
		c.goes(run.StatusAwaitingApproval)
	case run.Disconnected:
		c.disconnected(p)
	case run.Finished:
		c.end(run.StatusCompleted, "", "")
	case run.Failed:
		c.failed(p)
	case run.Cancelled:
		c.end(run.StatusCancelled, p.Reason, "")
	case run.ApprovalRequested:
		c.requested(p)
	case run.ApprovalResolved:
		c.resolved(p)
	default:
		c.applyModel()
	}
}

func (c change) applyModel() {
	switch p := c.fact.Payload.(type) {
	case run.ConversationInherited:
		c.inherited(p)
	case run.ConversationSeeded:
		c.say(p.Messages)
	case run.ModelCallStarted:
		c.callStarted(p)
	case run.ModelCallRetrying:
		c.retrying(p)
	case run.ModelResponseRecorded:
		c.responded(p)
	case run.ModelCallCompleted:
		c.callCompleted(p)
	case run.ModelCallFailed:
		c.callFailed(p)
	case run.ModelCallAbandoned:
		c.callAbandoned(p)
	case run.FinalAnswer:
		c.answered(p)
	case run.Warned:
		c.warned(p)
	default:
		c.applyTool()
	}
}

func (c change) applyTool() {
	switch p := c.fact.Payload.(type) {
	case run.DispatchIntended:
		c.intended(p)
	case run.DispatchSettled:
		c.settled(p)
	case run.OutcomeStated:
		c.stated(p)
	case run.ShellCommand:
		c.shellStarted(p)
	case run.ShellOutput:
		c.shellOutput(p)
	case run.ShellExited:
		c.shellEnded(p.ToolCallID, p.Cancelled)
	case run.ToolFailed: // also of a command that policy refused, which never exits
		c.shellEnded(p.ToolCallID, false)
	case run.ToolTimedOut:
		c.shellEnded(p.ToolCallID, false)
	case run.ToolCancelled:
		c.shellEnded(p.ToolCallID, true)
	case run.FilePatch:
		c.patched(p)
	case run.ArtifactRecorded:
		c.recorded(p)
	default:
		c.applyNote()
	}
}

// late takes what arrives after the run's end. It changes no status: it adds to the
// account, to the output of a command that was killed, to what its step says, to the
// conversation that a later run may go on with and to the files that were changed.
func (c change) late() {
	switch p := c.fact.Payload.(type) {
	case run.ModelCallCompleted:
		c.account(p)
	case run.ModelCallAbandoned:
		c.r.doc.Item.CostKnown = false
	case run.DispatchSettled:
		c.settledLate(p)
	case run.OutcomeStated:
		c.stated(p)
	case run.ShellOutput:
		c.shellOutput(p)
	case run.ShellExited:
		c.shellEnded(p.ToolCallID, p.Cancelled)
	case run.ToolFailed:
		c.shellEnded(p.ToolCallID, false)
	case run.ToolTimedOut:
		c.shellEnded(p.ToolCallID, false)
	case run.ToolCancelled:
		c.shellEnded(p.ToolCallID, true)
	case run.FilePatch:
		c.patched(p)
	case run.ArtifactRecorded:
		c.recorded(p)
	case run.ProgressCheckCompleted:
		c.checked(p)
	case run.PermissionRevoked:
		c.revoked(p)
	}
}

func (c change) route(r run.Route) {
	it := &c.r.doc.Item
	if r.Model != "" {
		it.Model = r.Model
	}
	if r.Provider != "" {
		it.Provider = r.Provider
	}
	if r.ProviderKind != "" {
		it.ProviderKind = r.ProviderKind
	}
}

// addStep gives the next index to a step. An empty id becomes the one that the
// run's own fold would give.
func (c change) addStep(s projections.Step, pending bool) *stepRow {
	c.r.doc.Item.StepCount++
	s.Index = c.r.doc.Item.StepCount
	if s.ID == "" {
		s.ID = ident.Derive("step", c.r.id, strconv.FormatInt(s.Index, 10))
	}
	s.StartedAt = stamp(c.fact)
	row := &stepRow{run: c.r.pos, pos: c.fact.Position, pending: pending, doc: s}
	if pending {
		c.r.steps[s.ID] = row
	}
	c.touchStep(row)
	return row
}

func (c change) touchStep(s *stepRow) {
	if !s.dirty {
		s.dirty = true
		c.f.dirtySteps = append(c.f.dirtySteps, s)
	}
	if !s.pending {
		delete(c.r.steps, s.doc.ID)
	}
}

// finishStep ends a step for good. Only of one whose outcome is unknown there may
// be more to say.
func (c change) finishStep(s *stepRow, status, result string) {
	s.doc.Status, s.doc.Result, s.doc.FinishedAt = status, result, stamp(c.fact)
	s.pending = s.doc.Outcome == string(run.OutcomeUnknown)
	c.touchStep(s)
}

// addArtifact adds an artifact with its content so far.
func (c change) addArtifact(a artifactDoc, pending bool, content ...event.Text) *artifactRow {
	c.r.doc.Item.ArtifactCount++
	a.StorageKind, a.CreatedAt = "inline", stamp(c.fact)
	row := &artifactRow{run: c.r.pos, pos: c.fact.Position, pending: pending, doc: a}
	if pending {
		c.r.artifacts[a.ID] = row
	}
	for _, t := range content {
		c.addPart(row, t)
	}
	c.touchArtifact(row)
	return row
}

func (c change) touchArtifact(a *artifactRow) {
	if !a.dirty {
		a.dirty = true
		c.f.dirtyArtifacts = append(c.f.dirtyArtifacts, a)
	}
	if !a.pending {
		delete(c.r.artifacts, a.doc.ID)
	}
}

const previewBytes = 2001 // one more than activity shows, so that it can tell

func (c change) addPart(a *artifactRow, t event.Text) {
	a.doc.SizeBytes += t.Len()
	if ref := t.Ref(); ref != nil {
		c.addBody(a, partBlob, []byte(ref.Digest))
		return
	}
	if t.Len() == 0 {
		return
	}
	text := t.String()
	if t.Erased() && a.doc.Gone {
		return // it says so once
	}
	a.doc.Gone = a.doc.Gone || t.Erased()
	if room := previewBytes - len(a.doc.Preview); room > 0 && (a.doc.Kind == "stdout" || a.doc.Kind == "stderr") {
		a.doc.Preview = append(a.doc.Preview, text[:min(room, len(text))]...)
	}
	c.addBody(a, partBytes, []byte(text))
}

// addBody adds a piece. Pieces are numbered by position: they only grow, and those of
// an older form of the artifact are below its own position.
func (c change) addBody(a *artifactRow, kind int64, body []byte) {
	c.f.parts.Add(a.run, a.doc.ID, c.fact.Position, kind, body)
}

func addTo(to *map[string]any, from map[string]any) {
	if len(from) == 0 {
		return
	}
	if *to == nil {
		*to = make(map[string]any, len(from))
	}
	maps.Copy(*to, from)
}
