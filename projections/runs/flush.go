package runs

import (
	"context"
	"encoding/json"

	"hecate/domain/run"
	"hecate/projections/readdb"
)

// Flush writes the rows that changed, each once, and lets go of what is not needed soon.
func (f *fold) Flush(ctx context.Context, tx *readdb.Tx) error {
	for _, collect := range []func() error{f.collectTasks, f.collectRuns, f.collectSteps, f.collectArtifacts, f.collectApprovals} {
		if err := collect(); err != nil {
			return err
		}
	}
	for i := range f.out {
		if err := tx.Put(ctx, &f.out[i]); err != nil {
			return err
		}
	}
	for _, rows := range []*readdb.Rows{&f.parts, &f.messages, &f.inherited, &f.notes} {
		if err := tx.Put(ctx, rows); err != nil {
			return err
		}
	}
	for _, id := range f.deleted {
		if err := f.delete(ctx, tx, id); err != nil {
			return err
		}
	}
	f.deleted = f.deleted[:0]
	f.evict()
	return nil
}

func (f *fold) collectTasks() error {
	for _, t := range f.dirtyTasks {
		doc, err := json.Marshal(t.doc)
		if err != nil {
			return err
		}
		f.out[0].Add(t.id, t.pos, t.doc.Definition.ProjectID, t.latestRun, wordsOf(&t.doc.Definition), doc)
		t.dirty = false
	}
	f.dirtyTasks = f.dirtyTasks[:0]
	return nil
}

func (f *fold) collectRuns() error {
	for _, r := range f.dirtyRuns {
		doc, err := json.Marshal(r.doc)
		if err != nil {
			return err
		}
		it := &r.doc.Item
		since := r.doc.Since
		if run.Status(it.Status).Terminal() {
			since = 0
		}
		f.out[1].Add(r.pos, r.id, it.TaskID, it.Number, it.Status, since, flag(it.WaitingReason != ""), it.RequestID, doc)
		r.dirty = false
	}
	f.dirtyRuns = f.dirtyRuns[:0]
	return nil
}

func (f *fold) collectSteps() error {
	for _, s := range f.dirtySteps {
		doc, err := encodeStep(&s.doc)
		if err != nil {
			return err
		}
		f.out[2].Add(s.run, s.doc.Index, s.pos, s.doc.ID, flag(s.pending), doc)
		s.dirty = false
	}
	clear(f.dirtySteps)
	f.dirtySteps = f.dirtySteps[:0]
	return nil
}

// rowKey names a row of a run. Should a batch hold two rows of one key, the newer one counts.
type rowKey struct {
	run int64
	id  string
}

// newest leaves of the rows with one key only the last one, in their order.
func newest[R any](rows []R, key func(R) rowKey) []R {
	last := make(map[rowKey]int, len(rows))
	for i, r := range rows {
		last[key(r)] = i
	}
	kept := make([]R, 0, len(last))
	for i, r := range rows {
		if last[key(r)] == i {
			kept = append(kept, r)
		}
	}
	return kept
}

func (f *fold) collectArtifacts() error {
	for _, a := range newest(f.dirtyArtifacts, func(a *artifactRow) rowKey { return rowKey{a.run, a.doc.ID} }) {
		doc, err := json.Marshal(a.doc)
		if err != nil {
			return err
		}
		f.out[3].Add(a.run, a.doc.ID, a.pos, flag(a.pending), doc)
	}
	for _, a := range f.dirtyArtifacts {
		a.dirty = false
	}
	clear(f.dirtyArtifacts)
	f.dirtyArtifacts = f.dirtyArtifacts[:0]
	return nil
}

func (f *fold) collectApprovals() error {
	for _, a := range newest(f.dirtyApprovals, func(a *approvalRow) rowKey { return rowKey{a.run, a.doc.ID} }) {
		doc, err := json.Marshal(a.doc)
		if err != nil {
			return err
		}
		f.out[4].Add(a.run, a.doc.ID, a.pos, flag(a.pending), doc)
	}
	for _, a := range f.dirtyApprovals {
		a.dirty = false
	}
	clear(f.dirtyApprovals)
	f.dirtyApprovals = f.dirtyApprovals[:0]
	return nil
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// delete removes a task and all that its runs made. The log keeps it.
func (f *fold) delete(ctx context.Context, tx *readdb.Tx, taskID string) error {
	for _, table := range []string{"steps", "artifacts", "parts", "approvals", "messages", "inherited", "notes"} {
		err := tx.Exec(ctx, `DELETE FROM hecate_view_`+table+`_@ WHERE run IN (SELECT pos FROM hecate_view_runs_@ WHERE task_id = $1)`, taskID)
		if err != nil {
			return err
		}
	}
	for _, table := range []string{"runs", "tasks"} {
		if err := tx.Exec(ctx, `DELETE FROM hecate_view_`+table+`_@ WHERE task_id = $1`, taskID); err != nil {
			return err
		}
	}
	delete(f.tasks, taskID)
	for id, r := range f.runs {
		if r.doc.Item.TaskID == taskID {
			delete(f.runs, id)
		}
	}
	return nil
}

// evict keeps the memory small: runs that ended go, and then any.
func (f *fold) evict() {
	for id, r := range f.runs {
		if len(f.runs) > runsMax || run.Status(r.doc.Item.Status).Terminal() && len(r.steps)+len(r.artifacts) == 0 {
			delete(f.runs, id)
		}
	}
	for id := range f.tasks {
		if len(f.tasks) <= runsMax {
			break
		}
		delete(f.tasks, id)
	}
}
