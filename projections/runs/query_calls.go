package runs

import (
	"context"
	"database/sql"

	"hecate/domain/ident"
	"hecate/domain/run"
	"hecate/projections"
)

// Calls returns the tool calls of a run in the order in which they were asked for,
// beginning with those of an answer that the run inherited. They follow from the
// messages and the steps.
func (v *Views) Calls(ctx context.Context, taskID, runID string) ([]projections.Call, error) {
	return view(ctx, v, func(q query) ([]projections.Call, error) {
		r, err := q.run(ctx, taskID, runID)
		if err != nil {
			return nil, err
		}
		steps, err := q.callSteps(ctx, r)
		if err != nil {
			return nil, err
		}
		if r.doc.Kind != run.KindAgentLoop {
			return []projections.Call{directCall(r, steps)}, nil
		}
		out, err := q.inheritedCalls(ctx, r, steps)
		if err != nil {
			return nil, err
		}
		asked, err := q.askedCalls(ctx, r)
		for _, c := range asked {
			out = append(out, steps[callKey{c.ModelCallIndex, c.ToolCallID}].show(c, r))
		}
		return out, err
	})
}

// callKey names a call within its run. Models may use an id again in a later answer.
type callKey struct {
	index int64 // of the model call, 0 for an inherited or a direct call
	id    string
}

// callStep is what the step of a call says about it.
type callStep struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"`
	Input   struct {
		ToolCallID string `json:"tool_call_id"`
		Index      int64  `json:"model_call_index"`
	} `json:"input"`
	Output struct {
		Operator string `json:"operator_outcome"`
	} `json:"output_summary"`
}

// callSteps returns the steps of a run's calls. That of a direct run has no id of a call.
func (q query) callSteps(ctx context.Context, r foundRun) (map[callKey]*callStep, error) {
	out := map[callKey]*callStep{}
	err := q.tx.Query(ctx, `SELECT doc FROM hecate_view_steps_@ WHERE run = $1`, func(rows *sql.Rows) error {
		s := &callStep{}
		err := scanDoc(rows, s)
		if s.Input.ToolCallID != "" || r.doc.Kind != run.KindAgentLoop {
			out[callKey{s.Input.Index, s.Input.ToolCallID}] = s
		}
		return err
	}, r.pos)
	return out, err
}

// show says how far a call of the run has come. The receiver is nil if it has no step.
func (s *callStep) show(c projections.Call, r foundRun) projections.Call {
	if s == nil {
		c.State = projections.CallNotStarted
		return c
	}
	c.StepID, c.Outcome, c.OperatorOutcome = s.ID, s.Outcome, s.Output.Operator
	switch {
	case s.Outcome == string(run.OutcomeUnknown) || s.Outcome == "" && run.Status(r.item.Status).Terminal():
		c.State = projections.CallUnknown
	case s.Outcome == "":
		c.State = projections.CallRunning
	default:
		c.State = projections.CallFinished
	}
	return c
}

func directCall(r foundRun, steps map[callKey]*callStep) projections.Call {
	c := projections.Call{ToolCallID: ident.Derive("step", r.item.ID, "1"), ToolName: r.doc.Kind}
	return steps[callKey{}].show(c, r)
}

// askedCalls returns the calls of the run's own answers.
func (q query) askedCalls(ctx context.Context, r foundRun) ([]projections.Call, error) {
	out := []projections.Call{}
	err := q.tx.Query(ctx, `SELECT call, doc FROM hecate_view_messages_@ WHERE run = $1 AND call > 0 ORDER BY idx`, func(rows *sql.Rows) error {
		var index int64
		var m run.Message
		err := scanDoc(rows, &m, &index)
		for _, c := range m.ToolCalls {
			out = append(out, projections.Call{ToolCallID: c.ID, ToolName: c.Name, ModelCallIndex: index})
		}
		return err
	}, r.pos)
	return out, err
}

// inheritedCalls returns the calls of the answer that the run inherited.
func (q query) inheritedCalls(ctx context.Context, r foundRun, steps map[callKey]*callStep) ([]projections.Call, error) {
	out := []projections.Call{}
	in := r.doc.Inherited
	if in == nil {
		return out, nil
	}
	before, err := q.settledBefore(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, c := range in.Calls {
		call := projections.Call{ToolCallID: c.ID, ToolName: c.Name, SourceRunID: in.RunID, SourceIndex: in.Index}
		switch s := steps[callKey{0, c.ID}]; {
		case s != nil:
			call = s.show(call, r)
		case c.Settled:
			call.State = projections.CallFinished
			if b, ok := before[c.ID]; ok {
				call = b.step.show(call, b.run)
				call.StepRunID = b.run.item.ID
			}
		case c.Begun:
			call.State = projections.CallUnknown
		default:
			call.State = projections.CallNotStarted
		}
		out = append(out, call)
	}
	return out, nil
}

// earlier is the step of a call in an earlier run.
type earlier struct {
	step *callStep
	run  foundRun
}

// settledBefore finds the steps of inherited calls that had an outcome already: in the
// run that the answer was taken over from or, if that one had inherited it too, in one
// before it.
func (q query) settledBefore(ctx context.Context, r foundRun) (map[string]earlier, error) {
	open := map[string]bool{}
	for _, c := range r.doc.Inherited.Calls {
		if c.Settled {
			open[c.ID] = true
		}
	}
	out := map[string]earlier{}
	for in := r.doc.Inherited; in != nil && len(open) > 0; {
		source, err := q.run(ctx, r.item.TaskID, in.From)
		if err != nil {
			return nil, err
		}
		steps, err := q.callSteps(ctx, source)
		if err != nil {
			return nil, err
		}
		index := int64(0)
		if in.RunID == source.item.ID {
			index = in.Index
		}
		for id := range open {
			if s := steps[callKey{index, id}]; s != nil {
				out[id] = earlier{s, source}
				delete(open, id)
			}
		}
		in = source.doc.Inherited
	}
	return out, nil
}
