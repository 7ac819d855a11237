package feed

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"

	"hecate/domain/task"
	"hecate/eventstore"
)

const (
	historyShort = 64   // records of a task that are read at once; of a longer one only the end is looked for
	catchUpMax   = 4096 // records behind which deletions rather forgets the living than reads on
)

// deletions knows which tasks are deleted. It asks the log once for each task and
// learns of later deletions by reading on.
type deletions struct {
	log Log

	mu      sync.Mutex
	deleted map[string]bool // by task; false for one that was not up to position seen
	seen    int64
	cleared int // how often something was forgotten
}

func newDeletions(log Log) *deletions { return &deletions{log: log, deleted: map[string]bool{}} }

// catchUp learns of the deletions up to the head of the log.
func (d *deletions) catchUp(ctx context.Context) error {
	head, err := d.log.Head(ctx)
	if err != nil {
		return fmt.Errorf("look for deleted tasks: %w", err)
	}
	for at := d.start(head); at < head; {
		records, err := d.log.ReadAll(ctx, at, pageMax)
		if err != nil {
			return fmt.Errorf("look for deleted tasks: %w", err)
		}
		if len(records) == 0 { // positions up to the head may have been archived
			return nil
		}
		at = records[len(records)-1].Position
		d.pass(records, at)
	}
	return nil
}

// start returns the position to read on from.
func (d *deletions) start(head int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if head-d.seen > catchUpMax {
		d.clear()
		d.seen = head
	}
	return d.seen
}

// pass looks through records that follow on seen, or on less.
func (d *deletions) pass(records []eventstore.Record, position int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range records {
		if taskID, ok := deletedBy(&records[i]); ok {
			d.put(taskID, true)
		}
	}
	d.seen = max(d.seen, position)
}

// deletedBy returns the task that a record deletes.
func deletedBy(r *eventstore.Record) (taskID string, ok bool) {
	return strings.TrimPrefix(r.Stream, "task-"), r.Type == (task.Deleted{}).EventType()
}

// has reports whether a task was deleted when catchUp was called last, or later.
func (d *deletions) has(ctx context.Context, taskID string) (bool, error) {
	d.mu.Lock()
	deleted, known := d.deleted[taskID]
	cleared := d.cleared
	d.mu.Unlock()
	if known {
		return deleted, nil
	}
	deleted, err := d.ask(ctx, taskID)
	if err != nil {
		return false, fmt.Errorf("find out whether task %s is deleted: %w", taskID, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.deleted[taskID]; deleted || !known && cleared == d.cleared { // else it may have been deleted meanwhile
		d.put(taskID, deleted)
	}
	return deleted, nil
}

// ask looks at the newest record of a task: nothing is appended after its deletion.
func (d *deletions) ask(ctx context.Context, taskID string) (bool, error) {
	stream := "task-" + taskID
	records, err := d.log.ReadStream(ctx, stream, 0, historyShort)
	if err == nil && len(records) == historyShort {
		var last int64
		if last, err = versionAt(ctx, d.log, stream, math.MaxInt64); err == nil {
			records, err = d.log.ReadStream(ctx, stream, last-1, 1)
		}
	}
	if err != nil || len(records) == 0 {
		return false, err
	}
	_, deleted := deletedBy(&records[len(records)-1])
	return deleted, nil
}

// mark notes a deletion.
func (d *deletions) mark(taskID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(taskID, true)
}

func (d *deletions) put(taskID string, deleted bool) {
	if len(d.deleted) >= namesMax {
		d.clear()
	}
	d.deleted[taskID] = deleted
}

func (d *deletions) clear() {
	clear(d.deleted)
	d.cleared++
}
