//go:build linux

package blackbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"hecate/cmd/hecate/blackbox/history"
	"hecate/eventstore/postgres/pgtest"
)

// How long clients do what they like; HECATE_TEST_HISTORIES says another time, and
// HECATE_TEST_SEED repeats the choices of an earlier one, as far as they depend on chance.
const historiesLast = 4 * time.Second

// Many clients do what they like with the same few tasks at several nodes, which die
// now and then. Whatever comes of it, the log keeps every promise.
func TestHistories(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, env ...string) ([]*server, func(*testing.T) *sql.DB){
		"two nodes": func(t *testing.T, env ...string) ([]*server, func(*testing.T) *sql.DB) {
			url := pgtest.URL(t)
			return nodesOn(t, url, 2, append(env, "TMPDIR="+t.TempDir(), "HECATE_TASK_QUEUE_LEASE_SECONDS=5")...), func(t *testing.T) *sql.DB { return openDB(t, "pgx", url) }
		},
		"sqlite": func(t *testing.T, env ...string) ([]*server, func(*testing.T) *sql.DB) {
			s := serve(t, env...)
			return []*server{s}, func(t *testing.T) *sql.DB {
				s.kill()
				return openDB(t, "sqlite", filepath.Join(s.dir, "hecate.db"))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, db := start(t, "HECATE_TASK_APPROVAL_POLICIES=shell_exec", "HECATE_TASK_AGENT_LOOP_MAX_MODEL_CALLS=6", "HECATE_TASK_RECONCILE_INTERVAL=1s")
			w := newWorld(t, all)
			w.live(t)
			w.settle(t)
			w.judge(t, db)
		})
	}
}

func openDB(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // it was only read
	return db
}

// world is what the clients share.
type world struct {
	nodes []*server
	alive []atomic.Bool
	dir   string
	seed  uint64
	last  time.Duration
	marks atomic.Int64 // side effects that models asked for, each with a number of its own
	done  [8]atomic.Int64

	mu    sync.Mutex
	tasks []string
	gone  map[string]bool // deleted
}

func newWorld(t *testing.T, nodes []*server) *world {
	t.Helper()
	for _, s := range nodes {
		s.permit(t, "[[locks]]\nname = \"naps\"\npatterns = [\"exec(sleep) args(*)\"]\n[[locks]]\nname = \"lists\"\npattern = \"ls(*)\"\n")
	}
	w := &world{nodes: nodes, alive: make([]atomic.Bool, len(nodes)), dir: t.TempDir(), seed: rand.Uint64(), last: historiesLast, gone: map[string]bool{}}
	if s, err := strconv.ParseUint(os.Getenv("HECATE_TEST_SEED"), 10, 64); err == nil {
		w.seed = s
	}
	if d, err := time.ParseDuration(os.Getenv("HECATE_TEST_HISTORIES")); err == nil {
		w.last = d
	}
	for i := range w.alive {
		w.alive[i].Store(true)
	}
	t.Logf("HECATE_TEST_SEED=%d", w.seed)
	return w
}

func (w *world) chance(lane int) *rand.Rand { return rand.New(rand.NewPCG(w.seed, uint64(lane))) }

// live lets the clients loose, and kills nodes.
func (w *world) live(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), w.last)
	defer stop()
	for range 4 {
		w.create(t, w.nodes[0])
	}
	const clients = 8
	atOnce(clients+1, func(lane int) int {
		chance := w.chance(lane)
		for ctx.Err() == nil && !t.Failed() {
			if lane == clients {
				w.kill(t, ctx, chance)
				continue
			}
			w.act(t, chance)
		}
		return 0
	})
	var counts []string
	for i, name := range []string{"opened", "cancelled", "answered", "settled", "deleted", "refused", "unanswered", "killed"} {
		counts = append(counts, fmt.Sprintf("%d %s", w.done[i].Load(), name))
	}
	t.Log(strings.Join(counts, ", "))
}

// Places in world.done.
const (
	opened = iota
	cancelled
	answered
	settled
	deleted
	refused
	unanswered
	killed
)

func (w *world) kill(t *testing.T, ctx context.Context, chance *rand.Rand) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(time.Duration(500+chance.IntN(1500)) * time.Millisecond):
	}
	i := chance.IntN(len(w.nodes))
	w.alive[i].Store(false)
	defer w.alive[i].Store(true)
	w.nodes[i].kill()
	w.done[killed].Add(1)
	if chance.IntN(2) == 0 && len(w.nodes) > 1 {
		time.Sleep(5500 * time.Millisecond) // longer than the lease
	}
	if err := w.nodes[i].launch(); err != nil {
		t.Error(err)
	}
}

// create adds an agent's task whose model asks for side effects, now and then fails,
// and sometimes runs into a ceiling.
func (w *world) create(t *testing.T, s *server) {
	c := s.model.script()
	var n atomic.Int64
	c.each = func(int) reply { return w.answer(c, int(n.Add(1))) }
	budget := int64(0)
	if w.marks.Load()%2 == 0 {
		budget = 120
	}
	d, ok := w.ask(t, s, "POST", api+"/tasks", agent(c, in(w.dir), args{"budget_micros_usd": budget, "timeout_ms": 20_000}))
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks = append(w.tasks, d.str("id"))
}

func (w *world) answer(c *conversation, n int) reply {
	mark := func() string { return fmt.Sprint(w.marks.Add(1)) }
	slow := func() string { m := mark(); return "echo " + m + " >> marks; sleep 0.0" + m[len(m)-1:] }
	var r reply
	switch n % 7 {
	case 0:
		return refusal("not this time")
	case 1, 4:
		r = asks(shell("c1", slow()), call("c2", "list_dir", args{"path": "."}), shell("c3", slow()))
	case 2:
		r = asks(call("c1", "file_write", args{"path": "f" + mark(), "content": "x"}), call("c2", "no_such_tool", args{}), program("c3", "sleep", "0.1"))
	case 3:
		r = asks(shell("c1", "echo "+mark()+" >> marks; sleep 0.4"))
	case 5:
		r = says("done")
	case 6:
		r = reply{Text: "slowly", DelayMS: 150}
	}
	return costing(r, 10)
}

// ask sends and judges only what no state of a task excuses. Not ok is no answer, or a refusal.
func (w *world) ask(t *testing.T, s *server, method, path string, body any) (doc, bool) {
	alive := func() bool {
		return !slices.ContainsFunc(w.nodes, func(n *server) bool { return n == s && !w.alive[slices.Index(w.nodes, n)].Load() })
	}
	before := alive()
	a, err := s.send(method, path, body)
	switch {
	case err != nil:
		if before && alive() && !strings.Contains(err.Error(), "EOF") && !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s %s: %v", method, path, err)
		}
		w.done[unanswered].Add(1)
		time.Sleep(pollEvery)
		return nil, false
	case a.status == 200 || a.status == 204:
		d, _ := parse(a.body) // nothing came with a 204
		return d.obj("data"), true
	case a.status == 503 && strings.Contains(string(a.body), "behind the log"): // after a kill the read models are moved by nobody for a moment
		w.done[unanswered].Add(1)
		return nil, false
	case a.status != 400 && a.status != 404 && a.status != 409:
		t.Errorf("%s %s: %d %s\n%s", method, path, a.status, a.body, s.logged(a.header.Get("X-Request-Id")))
	}
	if method != "GET" {
		w.done[refused].Add(1)
	}
	return nil, false
}

// act does one thing to one task.
func (w *world) act(t *testing.T, chance *rand.Rand) {
	s := w.nodes[chance.IntN(len(w.nodes))]
	w.mu.Lock()
	id := w.tasks[chance.IntN(len(w.tasks))]
	few := len(w.tasks)-len(w.gone) < 4
	w.mu.Unlock()
	if few {
		w.create(t, s)
		return
	}
	task := api + "/tasks/" + id
	d, ok := w.ask(t, s, "GET", task, nil)
	if !ok {
		return
	}
	run := task + "/runs/" + d.str("latest_run_id")
	switch what := chance.IntN(100); {
	case what < 12 || d.str("latest_run_id") == "":
		w.count(opened)(w.ask(t, s, "POST", task+"/start", nil))
	case what < 30:
		way := [][2]any{
			{"/retry", nil},
			{"/resume", args{}},
			{"/resume", args{"budget_micros_usd": d.num("budget_micros_usd") + 60}},
			{"/continue", args{"prompt": "go on"}},
			{"/retry-from-model-call", args{"model_call_index": 1 + chance.IntN(3)}},
		}[chance.IntN(5)]
		w.count(opened)(w.ask(t, s, "POST", run+way[0].(string), way[1]))
	case what < 36:
		w.count(cancelled)(w.ask(t, s, "POST", run+"/cancel", args{"reason": "enough"}))
	case what < 80:
		w.resolve(t, s, task, chance)
	case what < 90:
		w.state(t, s, run, chance)
	case what < 91:
		if _, ok := w.ask(t, s, "DELETE", task, nil); ok {
			w.done[deleted].Add(1)
			w.mu.Lock()
			w.gone[id] = true
			w.mu.Unlock()
		}
	case what < 95:
		w.ask(t, s, "POST", run+"/events", args{"note": "seen"})
	default:
		w.ask(t, s, "GET", run+"/steps", nil)
	}
}

func (w *world) count(what int) func(doc, bool) {
	return func(_ doc, ok bool) {
		if ok {
			w.done[what].Add(1)
		}
	}
}

func (w *world) resolve(t *testing.T, s *server, task string, chance *rand.Rand) {
	for _, a := range w.list(t, s, task+"/approvals") {
		if a.str("status") != "pending" {
			continue
		}
		answer := []args{
			{"decision": "approve"},
			{"decision": "approve"},
			{"decision": "approve"},
			{"decision": "approve", "calls": []args{{"tool_call_id": "c1", "decision": "deny", "note": "not this one"}}},
			{"decision": "reject", "continue": true},
			{"decision": "reject", "continue": true, "calls": []args{{"tool_call_id": "c3", "decision": "approve"}}},
			{"decision": "reject"},
		}[chance.IntN(7)]
		w.count(answered)(w.ask(t, s, "POST", task+"/approvals/"+a.str("id")+"/resolve", answer))
	}
}

// state settles calls whose outcome is unknown, also in runs before the last.
func (w *world) state(t *testing.T, s *server, run string, chance *rand.Rand) {
	for _, c := range w.list(t, s, run+"/tool-calls") {
		if c.str("state") == "unknown" && c.str("step_run_id") == "" {
			w.count(settled)(w.ask(t, s, "POST", run+"/steps/"+c.str("step_id")+"/settle", args{"outcome": []string{"done", "not_done"}[chance.IntN(2)]}))
		}
	}
}

func (w *world) list(t *testing.T, s *server, path string) []doc {
	a, err := s.send("GET", path, nil)
	if err != nil || a.status != 200 {
		return nil
	}
	d, err := parse(a.body)
	if err != nil {
		t.Errorf("GET %s: %v: %s", path, err, a.body)
	}
	return d.list("data")
}

// settle brings all runs to an end and waits until nothing happens any more.
func (w *world) settle(t *testing.T) {
	s := w.nodes[0]
	for _, task := range s.list(t, api+"/tasks?limit=0") {
		if run := task.str("latest_run_id"); run != "" {
			s.post(t, api+"/tasks/"+task.str("id")+"/runs/"+run+"/cancel", nil)
		}
	}
	events := -1
	eventually(t, "nothing happens any more", func() bool {
		time.Sleep(300 * time.Millisecond)
		stats := s.get(t, api+"/system/stats")
		before := events
		events = int(s.list(t, api+"/system/projections")[0].num("head"))
		return stats.num("in_flight_jobs")+stats.num("queue_depth") == 0 && events == before
	})
}

// judge reads everything that there is to read, and compares.
func (w *world) judge(t *testing.T, db func(*testing.T) *sql.DB) {
	s := w.nodes[len(w.nodes)-1]
	events, err := history.Events(func(after int64) ([]byte, error) {
		a, err := s.send("GET", fmt.Sprintf("%s/events?limit=500&after_sequence=%d", api, after), nil)
		return a.body, err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range s.list(t, api+"/tasks?limit=0") {
		for _, run := range s.list(t, api+"/tasks/"+task.str("id")+"/runs") {
			if !terminal(run.str("status")) || strings.Contains(run.str("last_error"), "could not be recorded") || strings.Contains(run.str("last_error"), "recovery") {
				t.Errorf("run: %s", run)
			}
		}
	}
	records, err := history.Records(t.Context(), db(t))
	if err != nil {
		t.Fatal(err)
	}
	found := history.Check(events, records)
	for _, f := range found[:min(len(found), 20)] {
		t.Error(f)
	}
	marks, _ := os.ReadFile(filepath.Join(w.dir, "marks")) // no file: no side effects
	if twice := history.Twice(strings.Fields(string(marks))); len(twice) > 0 {
		t.Errorf("side effects that happened twice: %v", twice)
	}
	t.Logf("%d events, %d records, %d side effects of %d", len(events), len(records), len(strings.Fields(string(marks))), w.marks.Load())
	if t.Failed() {
		dump(t, records)
	}
}

// dump writes the log to a file that stays.
func dump(t *testing.T, records []history.Record) {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "%d %s %d %s %s %s %s\n", r.Position, r.Stream, r.Version, r.ActorKind, r.ActorName, r.Type, r.Data)
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("hecate-%s-%d.txt", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid()))
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Log(err)
		return
	}
	t.Logf("the log is in %s", path)
}
