package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// namesMax bounds what a directory remembers of each kind. Beyond it, it starts anew.
const namesMax = 16 << 10

// directory knows which task a run belongs to, which never changes, and which tasks
// are deleted.
type directory struct {
	log     Log
	deleted *deletions

	mu    sync.Mutex
	tasks map[string]string // by run
}

func newDirectory(log Log) *directory {
	return &directory{log: log, deleted: newDeletions(log), tasks: map[string]string{}}
}

// taskOf returns the task of a run, "" if there is no such run.
func (d *directory) taskOf(ctx context.Context, runID string) (string, error) {
	d.mu.Lock()
	id, ok := d.tasks[runID]
	d.mu.Unlock()
	if ok {
		return id, nil
	}
	records, err := d.log.ReadStream(ctx, "run-"+runID, 0, 1)
	if err != nil {
		return "", fmt.Errorf("find the task of run %s: %w", runID, err)
	}
	if len(records) == 0 {
		return "", nil
	}
	return d.note(runID, &records[0]), nil
}

// note remembers the task that a run's first record names.
func (d *directory) note(runID string, r *eventstore.Record) string {
	var created struct {
		TaskID string `json:"task_id"`
	}
	if r.Type != (run.Created{}).EventType() || json.Unmarshal(r.Data, &created) != nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.tasks) >= namesMax {
		clear(d.tasks)
	}
	d.tasks[runID] = created.TaskID
	return created.TaskID
}

// taskRuns reads a task's runs, oldest first, with the positions at which they were
// opened. A deleted or unknown task has none.
func (d *directory) taskRuns(ctx context.Context, taskID string) ([]openedRun, error) {
	var out []openedRun
	for after := int64(0); ; {
		records, err := d.log.ReadStream(ctx, "task-"+taskID, after, pageMax)
		if err != nil {
			return nil, fmt.Errorf("read the runs of task %s: %w", taskID, err)
		}
		for _, r := range records {
			after = r.Version
			switch r.Type {
			case task.Deleted{}.EventType():
				d.deleted.mark(taskID)
				return nil, nil
			case task.RunOpened{}.EventType():
				var opened task.RunOpened
				if json.Unmarshal(r.Data, &opened) == nil {
					out = append(out, openedRun{opened.RunID, r.Position})
				}
			}
		}
		if len(records) < pageMax {
			return out, nil
		}
	}
}

// openedRun is a run and where in the log its task opened it.
type openedRun struct {
	id       string
	position int64
}
