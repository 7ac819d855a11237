package runs

import (
	"context"
	"fmt"
	"math"
	"strings"

	"hecate/projections"
)

// TaskFilter narrows a list of tasks.
type TaskFilter struct {
	Status    string  // "" for all
	ProjectID *string // nil for all, "" for tasks without a project
	Search    string  // words that a task must have, all of them, see wordsOf, or its whole id; "" for all
	Before    int64   // only tasks below this position, 0 for all
	Limit     int     // 0 for no limit
}

// TaskPage is a part of a list of tasks, newest first.
type TaskPage struct {
	Tasks []projections.Task
	Next  int64 // the Before of the next part, 0 if there is none
}

const (
	// searchMax is how many tasks one search looks at. What is left is the next page's.
	searchMax = 5000
	// termsMax bounds the words of a search; further ones change nothing.
	termsMax = 16
)

// floorQuery finds the last task that a search looks at.
const floorQuery = `SELECT t.pos FROM hecate_view_tasks_@ t WHERE t.pos < $1 ORDER BY t.pos DESC LIMIT 1 OFFSET $2`

// Tasks returns the tasks that the filter lets through, newest first. A search looks at
// a bounded number of tasks: a page may hold few, or none, and have a next one.
func (v *Views) Tasks(ctx context.Context, f TaskFilter) (TaskPage, error) {
	return view(ctx, v, func(q query) (TaskPage, error) {
		floor := int64(0)
		if f.Search != "" {
			if _, err := q.tx.One(ctx, floorQuery, []any{f.before(), searchMax - 1}, &floor); err != nil {
				return TaskPage{}, err
			}
		}
		text, args := f.query(floor)
		found, err := list(ctx, q, text, scanTask, args...)
		if err != nil {
			return TaskPage{}, err
		}
		out := TaskPage{Tasks: make([]projections.Task, 0, len(found)), Next: floor}
		if f.Limit > 0 && len(found) > f.Limit {
			found = found[:f.Limit]
			out.Next = found[f.Limit-1].pos
		}
		for i := range found {
			// Texts are fetched after the rows are read: SQLite has one statement at a time.
			item, err := q.showTask(ctx, &found[i])
			if err != nil {
				return TaskPage{}, err
			}
			out.Tasks = append(out.Tasks, item)
		}
		return out, nil
	})
}

func (f TaskFilter) before() int64 {
	if f.Before > 0 {
		return f.Before
	}
	return math.MaxInt64
}

// query is the statement that lists one task more than the limit, so that it can be told
// whether there are more.
func (f TaskFilter) query(floor int64) (string, []any) {
	var where strings.Builder
	args := []any{f.before(), floor}
	add := func(condition string, arg any) {
		args = append(args, arg)
		fmt.Fprintf(&where, " AND "+condition, len(args))
	}
	if f.Status != "" {
		add(taskStatus+" = $%d", f.Status)
	}
	if f.ProjectID != nil {
		add("t.project_id = $%d", *f.ProjectID)
	}
	terms := strings.Fields(plain(f.Search))
	for _, term := range terms[:min(len(terms), termsMax)] {
		args = append(args, "%"+likely.Replace(term)+"%", term)
		fmt.Fprintf(&where, ` AND (t.words LIKE $%d ESCAPE '!' OR t.task_id = $%d)`, len(args)-1, len(args))
	}
	text := selectTasks + "WHERE t.pos < $1 AND t.pos >= $2" + where.String() + " ORDER BY t.pos DESC"
	if f.Limit > 0 {
		args = append(args, f.Limit+1)
		text += fmt.Sprintf(" LIMIT $%d", len(args))
	}
	return text, args
}

// likely takes from the signs of a LIKE what they mean there.
var likely = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
