package runs

import (
	"encoding/json"
	"fmt"
	"strings"

	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/projections"
)

func (c change) applyNote() {
	switch p := c.fact.Payload.(type) {
	case run.ProgressCheckStarted:
		c.checking(p)
	case run.ProgressCheckCompleted:
		c.checked(p)
	case run.LockWaiting:
		c.waits(p)
	case run.PermissionChanged:
		c.permissionChanged(p)
	case run.PermissionRevoked:
		c.revoked(p)
	}
}

// waitEnds takes away the note that the run waits for a lock: whatever the run does
// next, it does not wait any more. What operators do meanwhile says nothing about that.
func (c change) waitEnds() {
	switch c.fact.Payload.(type) {
	case run.PermissionRevoked, run.OutcomeStated:
		return
	}
	if o := c.r.doc.Open; o != nil && o.Note.Kind == projections.NoteLock {
		c.r.doc.Open = nil
	}
}

func (c change) waits(p run.LockWaiting) {
	c.r.doc.Open = &openNote{Pos: c.fact.Position, Note: projections.Note{
		Kind: projections.NoteLock, Status: fmt.Sprintf("waiting for lock %s held by run %s", p.Lock, p.HeldByRun), Title: p.ToolName,
		ToolName: p.ToolName, ToolCallID: p.ToolCallID, OccurredAt: stamp(c.fact),
		Summary: filled(map[string]any{"lock": p.Lock, "locks": p.Locks, "held_by_run_id": p.HeldByRun, "held_by_step_id": p.HeldByStep}),
	}}
}

func (c change) checking(p run.ProgressCheckStarted) {
	c.r.doc.Open = &openNote{Pos: c.fact.Position, Note: projections.Note{
		Kind: projections.NoteCheck, Status: statusRunning, Title: "Progress check: " + p.ToolName,
		ToolName: p.ToolName, ToolCallID: p.ToolCallID, OccurredAt: stamp(c.fact),
		Summary: filled(map[string]any{"trigger": string(p.Trigger), "count": int64(p.Count), "provider": p.Provider, "model": p.Model}),
	}}
}

// checked adds what a check cost to the account. It is no model call of the run.
func (c change) checked(p run.ProgressCheckCompleted) {
	c.r.doc.PicoUSD += p.CostPicoUSD
	if p.Asked && !p.CostKnown {
		c.r.doc.Item.CostKnown = false
	}
	n := projections.Note{Kind: projections.NoteCheck, Title: "Progress check", ToolCallID: p.ToolCallID, OccurredAt: stamp(c.fact)}
	pos := c.fact.Position
	if o := c.r.doc.Open; o != nil && o.Note.Kind == projections.NoteCheck && o.Note.ToolCallID == p.ToolCallID {
		n, pos = o.Note, o.Pos
		c.r.doc.Open = nil
	}
	n.Status, n.Terminal = statusCompleted, true
	if p.Problem != "" {
		n.Status = statusFailed
	}
	addTo(&n.Summary, filled(map[string]any{
		"assessment": string(p.Assessment), "observations": p.Observations, "problem": p.Problem,
		"provider": p.Route.Provider, "model": p.Route.Model,
	}))
	if p.Asked {
		n.Summary["cost_micros_usd"], n.Summary["cost_known"] = run.MicroUSD(p.CostPicoUSD), p.CostKnown
	}
	c.addNote(pos, n)
}

// cutNote closes the note about what the run was doing when it ended. A check may still
// tell what it cost.
func (c change) cutNote() {
	if o := c.r.doc.Open; o != nil {
		o.Note.Status, o.Note.Terminal = statusCancelled, true
	}
}

func (c change) permissionChanged(p run.PermissionChanged) {
	n := projections.Note{
		Kind: projections.NotePermission, Status: "saved", Title: changeTitle(p.Change), ToolCallID: p.ToolCallID, Path: p.File,
		OccurredAt: stamp(c.fact), Terminal: true,
		Summary: filled(map[string]any{
			"layer": string(p.Change.Layer), "list": p.Change.List, "text": p.Change.Text, "reason": p.Change.Reason,
			"problem": p.Problem, "grant_id": p.GrantID,
		}),
	}
	if !p.Saved {
		n.Status = statusFailed
	}
	c.addNote(c.fact.Position, n)
}

func changeTitle(c permission.Change) string {
	if c.Remove {
		return fmt.Sprintf("Take %s out of %s", c.Text, c.List)
	}
	return fmt.Sprintf("Add %s to %s", c.Text, c.List)
}

func (c change) revoked(p run.PermissionRevoked) {
	c.addNote(c.fact.Position, projections.Note{
		Kind: projections.NotePermission, Status: "revoked", Title: "Revoke " + p.Scope, OccurredAt: stamp(c.fact), Terminal: true,
		Summary: filled(map[string]any{"grant_id": p.GrantID, "scope": p.Scope, "by": p.By}),
	})
}

func (c change) addNote(pos int64, n projections.Note) {
	doc, err := json.Marshal(n)
	if err != nil { // its summary holds strings, numbers and lists of strings
		doc = []byte("{}")
	}
	c.f.notes.Add(c.r.pos, pos, doc)
}

// filled leaves out what is empty.
func filled(m map[string]any) map[string]any {
	for k, v := range m {
		switch v := v.(type) {
		case string:
			if strings.TrimSpace(v) == "" {
				delete(m, k)
			}
		case []string:
			if len(v) == 0 {
				delete(m, k)
			}
		}
	}
	return m
}
