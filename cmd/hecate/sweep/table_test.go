//go:build linux

package sweep_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// table counts the outcomes of all points. A row is a point's name, with all its
// numbers, a column a mode.
type table struct {
	mu    sync.Mutex
	cells map[[2]string]map[string]int // by row and column: outcome → points
	rows  []string
}

// prepare makes the rows of a story, in the order in which its points are reached.
func (t *table) prepare(story string, points []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range points {
		if row := rowOf(story, p); !slices.Contains(t.rows, row) {
			t.rows = append(t.rows, row)
		}
	}
}

// rowOf names a row. Of many events in one append the first and the last are enough.
func rowOf(story, point string) string {
	where, what, _ := strings.Cut(pointName(point), " ")
	if types := strings.Split(what, "+"); len(types) > 2 {
		what = types[0] + " … " + types[len(types)-1]
	}
	return strings.TrimSpace(story + ": " + where + " " + what)
}

func (t *table) add(column, story, point, outcome string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cells == nil {
		t.cells = map[[2]string]map[string]int{}
	}
	row := rowOf(story, point)
	cell := t.cells[[2]string{row, column}]
	if cell == nil {
		cell = map[string]int{}
		t.cells[[2]string{row, column}] = cell
	}
	cell[outcome]++
}

// String is the table in Markdown. A cell is the number of points by outcome.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(t.rows, func(a, b string) int { return strings.Compare(storyOf(a), storyOf(b)) })
	var b strings.Builder
	head, rule := "| point |", "| --- |"
	for _, p := range plans {
		head += " " + p.mode.name + " |"
		rule += " --- |"
	}
	fmt.Fprintln(&b, head)
	fmt.Fprintln(&b, rule)
	totals := map[string]map[string]int{}
	for _, row := range t.rows {
		fmt.Fprintf(&b, "| %s |", row)
		for _, p := range plans {
			cell := t.cells[[2]string{row, p.mode.name}]
			fmt.Fprintf(&b, " %s |", counts(cell))
			if totals[p.mode.name] == nil {
				totals[p.mode.name] = map[string]int{}
			}
			for outcome, n := range cell {
				totals[p.mode.name][outcome] += n
			}
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprint(&b, "| **all** |")
	points, lost := 0, 0
	for _, p := range plans {
		fmt.Fprintf(&b, " %s |", counts(totals[p.mode.name]))
		for outcome, n := range totals[p.mode.name] {
			points += n
			if outcome == failed {
				lost += n
			}
		}
	}
	fmt.Fprintf(&b, "\n\n%d points; at %d of them something was lost, happened twice or did not end as it should.", points, lost)
	return b.String()
}

func storyOf(row string) string {
	story, _, _ := strings.Cut(row, ":")
	return story
}

// counts writes how many points had each outcome.
func counts(cell map[string]int) string {
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(cell)) {
		parts = append(parts, fmt.Sprint(cell[outcome], " ", outcome))
	}
	return strings.Join(parts, "; ")
}
