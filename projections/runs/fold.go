package runs

import (
	"context"
	"fmt"
	"strings"

	"hecate/domain/erasure"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

// runsMax bounds the runs that are kept in memory between batches.
const runsMax = 1024

// fold holds the tasks and runs that it has met and the rows that changed.
type fold struct {
	log   Streams // nil for one that meets no erasure
	tasks map[string]*taskState
	runs  map[string]*runState

	dirtyTasks     []*taskState
	dirtyRuns      []*runState
	dirtySteps     []*stepRow
	dirtyArtifacts []*artifactRow
	dirtyApprovals []*approvalRow
	parts          readdb.Rows
	messages       readdb.Rows
	inherited      readdb.Rows
	notes          readdb.Rows
	deleted        []string // ids of tasks
	out            [5]readdb.Rows
}

func newFold(log Streams) *fold {
	f := &fold{log: log}
	f.Forget()
	return f
}

// Forget drops everything in memory.
func (f *fold) Forget() {
	*f = fold{
		log:   f.log,
		tasks: map[string]*taskState{}, runs: map[string]*runState{},
		parts: readdb.Rows{Table: partsTable}, messages: readdb.Rows{Table: messagesTable}, inherited: readdb.Rows{Table: inheritedTable},
		notes: readdb.Rows{Table: notesTable},
	}
	for i, t := range []*readdb.Table{tasksTable, runsTable, stepsTable, artifactsTable, approvalsTable} {
		f.out[i].Table = t
	}
}

// Apply takes one fact.
func (f *fold) Apply(ctx context.Context, tx *readdb.Tx, fact runner.Fact) error {
	if id, ok := strings.CutPrefix(fact.Stream, streamRun); ok {
		return f.applyToRun(ctx, tx, id, fact)
	}
	if id, ok := strings.CutPrefix(fact.Stream, streamTask); ok {
		return f.applyToTask(ctx, tx, id, fact)
	}
	if p, ok := fact.Payload.(erasure.Erased); ok {
		return f.erased(ctx, tx, p, fact.Position)
	}
	if strings.HasPrefix(fact.Stream, streamGrants) {
		return nil
	}
	return fmt.Errorf("stream %s is neither a task's nor a run's", fact.Stream)
}

func (f *fold) applyToTask(ctx context.Context, tx *readdb.Tx, id string, fact runner.Fact) error {
	if p, ok := fact.Payload.(task.Created); ok {
		t := &taskState{id: id, pos: fact.Position, doc: taskDoc{Definition: p.Definition, RequestID: p.RequestID, CreatedAt: fact.At, UpdatedAt: fact.At}}
		f.tasks[id] = t
		f.touchTask(t)
		return nil
	}
	t, err := f.task(ctx, tx, id)
	if err != nil || t == nil { // a deleted task has no rows
		return err
	}
	switch p := fact.Payload.(type) {
	case task.RunOpened:
		t.latestRun = p.RunID
		if t.doc.StartedAt.IsZero() {
			t.doc.StartedAt = fact.At
		}
	case task.BudgetRaised:
		t.doc.Definition.BudgetMicroUSD = max(t.doc.Definition.BudgetMicroUSD, p.MicroUSD)
	case task.WorkspaceRemoved:
		return f.lose(ctx, tx, p, stamp(fact))
	case task.Deleted:
		f.deleted = append(f.deleted, id)
		return nil
	}
	t.doc.UpdatedAt = fact.At
	f.touchTask(t)
	return nil
}

// lose notes of runs that their workspace is gone.
func (f *fold) lose(ctx context.Context, tx *readdb.Tx, p task.WorkspaceRemoved, at string) error {
	for _, id := range p.RunIDs {
		r, err := f.run(ctx, tx, id)
		if err != nil {
			return err
		}
		if r != nil {
			r.doc.Item.WorkspaceGoneAt = at
			f.touchRun(r)
		}
	}
	return nil
}

func (f *fold) touchTask(t *taskState) {
	if !t.dirty {
		t.dirty = true
		f.dirtyTasks = append(f.dirtyTasks, t)
	}
}

func (f *fold) applyToRun(ctx context.Context, tx *readdb.Tx, id string, fact runner.Fact) error {
	if p, ok := fact.Payload.(run.Created); ok {
		f.create(id, p, fact)
		return nil
	}
	r, err := f.run(ctx, tx, id)
	if err != nil || r == nil { // the run of a deleted task has no rows
		return err
	}
	c := change{f: f, r: r, fact: fact}
	if p, ok := fact.Payload.(run.ArtifactRecorded); ok {
		if c.again, err = f.recordedBefore(ctx, tx, r, p.ArtifactID); err != nil {
			return err
		}
	}
	if id, status := patchState(fact.Payload); id != "" { // whether the run has ended or not
		return c.patchIs(ctx, tx, id, status)
	}
	r.doc.UpdatedAt = fact.At
	f.touchRun(r)
	if run.Status(r.doc.Item.Status).Terminal() {
		c.late()
	} else {
		c.apply()
	}
	return nil
}

func (f *fold) touchRun(r *runState) {
	if !r.dirty {
		r.dirty = true
		f.dirtyRuns = append(f.dirtyRuns, r)
	}
}

func (f *fold) create(id string, p run.Created, fact runner.Fact) {
	r := &runState{id: id, pos: fact.Position, whole: true}
	r.open()
	at := stamp(fact)
	it := &r.doc.Item
	it.ID, it.TaskID, it.Number, it.Status, it.Orchestrator = id, p.TaskID, p.Number, string(p.Status), p.Kind
	it.Model, it.Provider, it.ProviderKind = p.Route.Model, p.Route.Provider, p.Route.ProviderKind
	it.StartedAt, it.RequestID, it.TraceID, it.RootSpanID, it.CostKnown = at, p.RequestID, p.TraceID, p.RootSpanID, true
	it.BudgetMicroUSD, it.WorkspacePath = p.BudgetMicroUSD, p.WorkspacePath
	if s := p.Source; s != nil {
		it.ResumedFrom, it.ResumeKind, it.SourceIndex = s.RunID, string(s.Kind), s.ModelCallIndex
	}
	r.doc.Kind, r.doc.PriorPico, r.doc.UpdatedAt, r.doc.Since = p.Spec.ExecutionKind, p.PriorPicoUSD, fact.At, fact.At.UnixMicro()
	f.runs[id] = r
	f.touchRun(r)
}

func (r *runState) open() {
	r.steps, r.artifacts, r.approvals = map[string]*stepRow{}, map[string]*artifactRow{}, map[string]*approvalRow{}
	r.recorded = map[string]bool{}
}
