package traces

import (
	"slices"
	"strings"

	"hecate/domain/event"
	"hecate/domain/run"
)

// tool takes what tools do, and what they leave.
func (r *Run) tool(e event.Event) []Span {
	switch p := e.Payload.(type) {
	case run.DispatchIntended:
		s := r.begin(e, Step, Step, r.run.SpanID)
		s.Attributes.puts(Attributes{"hecate.step.id": p.StepID, "hecate.step.kind": word(p.StepKind), "hecate.step.tool_name": Label(p.ToolName), "hecate.approval.id": p.ApprovalID})
		r.steps[p.StepID], r.byCall[p.ToolCallID] = s, s
	case run.ToolStarted:
		r.confined(p.ShellPosture)
	case run.ShellCommand:
		if s := r.byCall[p.ToolCallID]; s != nil {
			s.Attributes.put("hecate.tool.timeout_ms", p.TimeoutMS)
		}
	case run.ToolCompleted:
		r.exited(e, "tool.completed", p.ToolEnd)
	case run.ToolFailed:
		r.exited(e, "tool.failed", p.ToolEnd)
	case run.ToolCancelled:
		r.exited(e, "tool.failed", p.ToolEnd)
	case run.ToolTimedOut:
		r.exited(e, "tool.failed", p.ToolEnd)
	case run.FilePatch:
		if s := r.steps[p.StepID]; s != nil {
			s.Attributes.puts(Attributes{
				"hecate.tool.file.operation": word(p.Operation), "hecate.tool.file.bytes_written": p.BytesWritten,
				"hecate.tool.file.before_existed": p.BeforeExisted, "hecate.tool.file.diff_bytes": p.DiffBytes, "hecate.tool.file.artifact_status": word(p.ArtifactStatus),
			})
		}
		return r.artifact(e, p.StepID, p.ArtifactID, "patch", p.Diff.Len())
	case run.ArtifactRecorded:
		return r.artifact(e, p.StepID, p.ArtifactID, word(p.Kind), p.Content.Len())
	case run.FinalAnswer:
		return r.artifact(e, "", p.ArtifactID, "final_answer", 0)
	case run.DispatchSettled:
		return r.settled(e, p)
	}
	return nil
}

// confined says what held a command.
func (r *Run) confined(p run.ShellPosture) {
	s := r.byCall[p.ToolCallID]
	if s == nil {
		return
	}
	s.Attributes.puts(Attributes{
		"hecate.sandbox.wrapper.kind": word(p.Wrapper), "hecate.sandbox.network.enabled": p.Network, "hecate.sandbox.read_only": p.ReadOnly,
		"hecate.sandbox.output_limit.bytes": p.OutputLimitBytes, "hecate.sandbox.rtk.enabled": p.RTK,
	})
}

// exited says how a command ended.
func (r *Run) exited(e event.Event, name string, p run.ToolEnd) {
	s := r.byCall[p.ToolCallID]
	if s == nil {
		return
	}
	how := Attributes{
		"hecate.tool.stdout.bytes": p.StdoutBytes, "hecate.tool.stderr.bytes": p.StderrBytes, "hecate.tool.timed_out": p.TimedOut,
		"hecate.tool.cancelled": p.Cancelled, "hecate.tool.output_truncated": p.Truncated,
	}
	s.note(name, e, how)
	s.Attributes.puts(how)
	s.Attributes["hecate.tool.exit_code"] = p.ExitCode
}

// settled ends the step of a call, or tells of one that was never begun.
func (r *Run) settled(e event.Event, p run.DispatchSettled) []Span {
	s := r.steps[p.StepID]
	if s == nil {
		s = r.begin(e, Step, Step, r.run.SpanID)
		s.Attributes.puts(Attributes{"hecate.step.id": p.StepID, "hecate.step.kind": "tool", "hecate.approval.id": p.ApprovalID})
		if p.Ruling != nil { // it is the name of a tool, and not just what a model made up
			s.Attributes.put("hecate.step.tool_name", Label(p.ToolName))
		}
	}
	delete(r.steps, p.StepID)
	if r.byCall[p.ToolCallID] == s {
		delete(r.byCall, p.ToolCallID)
	}
	result, kind := Failure, word(p.ErrorKind)
	switch p.Outcome {
	case run.OutcomeCompleted:
		result = Success
	case run.OutcomeBlocked, run.OutcomeRefused:
		result = Denied
	}
	name := "orchestrator.step.completed"
	if result != Success {
		name = "orchestrator.step.failed"
		if kind == "" {
			kind = string(p.Outcome)
		}
	}
	s.note(name, e, Attributes{"hecate.step.id": p.StepID, "error.type": kind})
	return []Span{r.stepEnds(s, e, result, kind)}
}

// stepEnds closes a step of any kind.
func (r *Run) stepEnds(s *Span, e event.Event, result, kind string) Span {
	status := StatusOK
	if result != Success {
		status = StatusError
	}
	out := s.end(e, status, kind)
	out.Attributes.puts(Attributes{"hecate.result": result, "hecate.step.duration_ms": out.milliseconds(), "error.type": kind})
	return out
}

// artifact tells of a text that was kept, below the step that made it if that goes on.
func (r *Run) artifact(e event.Event, stepID, id, kind string, size int64) []Span {
	parent := r.run.SpanID
	if s := r.steps[stepID]; s != nil {
		parent = s.SpanID
	}
	s := r.begin(e, Artifact, Artifact, parent)
	about := Attributes{"hecate.artifact.id": id, "hecate.artifact.kind": kind, "hecate.artifact.size_bytes": size}
	s.Attributes.puts(about)
	s.note("orchestrator.artifact.created", e, about)
	return []Span{s.end(e, StatusOK, "")}
}

// approval takes questions to a person, their answers, and refusals that no person made.
func (r *Run) approval(e event.Event) []Span {
	switch p := e.Payload.(type) {
	case run.ApprovalRequested:
		s := r.begin(e, Approval, Approval, r.run.SpanID)
		about := Attributes{"hecate.approval.id": p.ApprovalID, "hecate.approval.kind": string(p.Kind)}
		s.Attributes.puts(about)
		s.note("orchestrator.approval.requested", e, about)
		r.approvals[p.ApprovalID] = s
	case run.ApprovalResolved:
		s := r.approvals[p.ApprovalID]
		if s == nil {
			return nil
		}
		delete(r.approvals, p.ApprovalID)
		s.note("orchestrator.approval.resolved", e, Attributes{"hecate.approval.id": p.ApprovalID, "hecate.approval.decision": word(p.Decision)})
		out := s.end(e, StatusOK, "")
		out.Attributes.puts(Attributes{
			"hecate.approval.status": word(p.Status), "hecate.approval.decision": word(p.Decision), "hecate.approval.wait_ms": out.milliseconds(),
		})
		return []Span{out}
	case run.ToolBlocked:
		s := r.begin(e, Approval, Approval, r.run.SpanID)
		s.Attributes.put("hecate.result", Denied)
		s.note("policy.tool_blocked", e, Attributes{"hecate.policy.reason": word(p.Policy), "hecate.policy.rule_id": word(p.Ruling.Rule), "hecate.result": Denied})
		return []Span{s.end(e, StatusError, word(p.Policy))}
	}
	return nil
}

// sorted returns spans in the order of their beginnings.
func sorted(spans map[string]*Span) []*Span {
	out := make([]*Span, 0, len(spans))
	for _, s := range spans {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *Span) int {
		if c := a.Start.Compare(b.Start); c != 0 {
			return c
		}
		return strings.Compare(a.SpanID, b.SpanID)
	})
	return out
}

func sortedCalls(calls map[int64]*call) []*call {
	out := make([]*call, 0, len(calls))
	for _, c := range calls {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *call) int { return a.step.Start.Compare(b.step.Start) })
	return out
}
