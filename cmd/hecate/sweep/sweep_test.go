//go:build linux

package sweep_test

import (
	"fmt"
	"testing"
)

// plan says which points a mode takes.
type plan struct {
	mode  mode
	first string // if not empty, a point where the server dies before those that are swept
	every int    // takes each n-th point unless all are wanted
	only  []scenario
}

// leaseSeconds is how long it takes until a dead node's runs are taken over. It is
// long enough for a busy machine to renew a lease.
const leaseSeconds = 6

// inABatch is a point in the middle of a batch of calls.
const inABatch = "tool.after shell_exec #2"

var plans = []plan{
	{mode: mode{name: "SQLite", store: onSQLite, workspaces: "ephemeral"}, every: 1, only: scenarios},
	{
		mode:  mode{name: "SQLite, second crash", store: onSQLite, workspaces: "ephemeral"},
		first: inABatch, every: 4, only: []scenario{approval},
	},
	{mode: mode{name: "PostgreSQL", store: onPostgres, workspaces: "ephemeral"}, every: 7, only: scenarios},
	{
		mode:  mode{name: "two nodes, in place", store: onPostgres, workspaces: "in_place", second: true, lease: leaseSeconds},
		every: 19, only: scenarios,
	},
	{
		mode:  mode{name: "two nodes, shared workspaces", store: onPostgres, workspaces: "ephemeral", second: true, shared: true, lease: leaseSeconds},
		every: 31, only: scenarios,
	},
	{
		mode:  mode{name: "two nodes, both die", store: onPostgres, workspaces: "ephemeral", second: true, shared: true, lease: leaseSeconds},
		first: inABatch, every: 17, only: []scenario{approval},
	},
	{
		mode:  mode{name: "two nodes, own workspaces", store: onPostgres, workspaces: "ephemeral", second: true, lease: leaseSeconds, back: true},
		every: 16, only: []scenario{approval},
	},
}

// The server dies at every point of every story in turn. Wherever that is, nothing is
// lost, nothing happens twice, what nobody can know is said to be unknown, and the
// story comes to its end.
func TestSweep(t *testing.T) {
	results := &table{}
	t.Run("points", func(t *testing.T) {
		for _, p := range plans {
			for _, s := range p.only {
				t.Run(p.mode.name+"/"+s.name, func(t *testing.T) {
					t.Parallel()
					p.sweep(t, s, results)
				})
			}
		}
	})
	t.Logf("\n%s", results)
}

func (p plan) sweep(t *testing.T, s scenario, results *table) {
	points := p.points(t, s)
	t.Logf("%d points", len(points))
	results.prepare(s.name, points)
	every := p.every
	if *full {
		every = 1
	}
	for i, point := range points {
		if i%every != every/2 {
			continue
		}
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			results.add(p.mode.name, s.name, point, p.crash(t, s, point))
		})
	}
}

// crash plays the story with a death at one point. On a machine that is so busy that
// a process loses its lease before it dies, that says nothing, and is done again.
func (p plan) crash(t *testing.T, s scenario, point string) (outcome string) {
	const tries = 3
	for try := 1; ; try++ {
		x := newExperiment(t, p.mode, s, p.crashes(point)...)
		err := x.play(s)
		switch {
		case err == nil:
			if outcome = x.check(s); t.Failed() {
				return failed
			}
			return outcome
		case try == tries || !x.leaseWasLost():
			t.Error(err)
			return failed
		}
	}
}

// crashes are the points where the server dies so that it dies at this one.
func (p plan) crashes(point string) []string {
	if p.first == "" {
		return []string{point}
	}
	return []string{p.first, point}
}

// points tells the story without a death, or with only the first, and returns what
// the last process reached.
func (p plan) points(t *testing.T, s scenario) (points []string) {
	t.Helper()
	m := p.mode
	var crashes []string
	if p.first == "" {
		m.lease = 0 // nobody shall take over
	} else {
		crashes = []string{p.first}
	}
	x := newExperiment(t, m, s, crashes...)
	if err := x.play(s); err != nil {
		t.Fatal(err)
	}
	if outcome := x.check(s); p.first == "" && outcome != completed {
		t.Fatalf("without a death the story ends as: %s", outcome)
	}
	n := x.last()
	reached, err := readTrace(n.traces[len(n.traces)-1])
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range reached {
		if seen[r.point] {
			t.Fatalf("%s is reached twice", r.point)
		}
		seen[r.point] = true
		points = append(points, r.point)
	}
	if len(points) < 10 {
		t.Fatal(fmt.Sprint("only these points were reached: ", points))
	}
	return points
}
