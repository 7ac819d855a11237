package audit_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/domain/permission"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/postgres/pgtest"
	"hecate/projections/audit"
	"hecate/projections/projectiontest"
	"hecate/projections/readdb"
	"hecate/projections/runner"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func memory(t testing.TB) *readdb.DB {
	t.Helper()
	db, err := readdb.OpenMemory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, db)
	return db
}

func closeAfter(t testing.TB, db *readdb.DB) {
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// project brings the model to the end of the log.
func project(t testing.TB, log eventstore.Store, db *readdb.DB) (*runner.Runner, *audit.Views) {
	t.Helper()
	r, err := runner.New(t.Context(), runner.Config{Log: log, DB: db, Models: []runner.Model{audit.Model{}}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, audit.NewViews(r)
}

// busy is a log of many runs at once, with some records more.
func busy(t testing.TB) *projectiontest.Log {
	t.Helper()
	log := projectiontest.New(t)
	log.AddAll(projectiontest.Mix(11))
	log.Add("op-1", operation.Requested{OperationID: "1", TaskID: "task_answers", RunID: "run_answers", Kind: operation.Take})
	log.Add("op-1", operation.Completed{Outcome: operation.Done})
	log.Add("run-run_answers",
		run.DispatchIntended{ToolCallID: "c9", ToolName: "web_fetch", Input: map[string]any{"url": "https://docs.example:8443/a?b"}},
		run.PermissionChanged{Change: permission.Change{List: permission.ListHostPromoted, Text: "Docs.Example"}, File: "/home/you/p/.hecate/config.toml"},
		run.WorkspaceChanged{ToolName: "exec", Files: []run.FileChange{{Path: "src/a.go"}, {Path: "src/b/c.go"}}},
		run.ApprovalRequested{ApprovalID: "a9", Calls: []run.ApprovalCall{{ToolName: "http_request", Offer: &permission.Offer{Scope: "api.example", IsHost: true}}}},
	)
	log.Add("run-run_answers", run.FilePatch{ToolName: "file_edit", Path: "/ws/run_answers/src/d.go", Operation: "write"})
	log.Raw("schedule-1", log.Event("schedule.fired", []byte(`{"task_id":"task_answers","later":[1],"path":7}`)))
	log.Raw("schedule-1", log.Event("schedule.odd", []byte(`"no object"`)))
	return log
}

// pages asks for everything that f wants, page by page.
func pages(t testing.TB, v *audit.Views, f audit.Filter, order audit.Order, limit int) []audit.Found {
	t.Helper()
	var out []audit.Found
	for {
		p, err := v.Page(t.Context(), f, order, limit)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		if len(p.Found) > limit {
			t.Fatalf("%d records, asked for %d", len(p.Found), limit)
		}
		if out = append(out, p.Found...); p.Next == 0 {
			return out
		}
		if order == audit.NewestFirst {
			f.Before = p.Next
		} else {
			f.After = p.Next
		}
	}
}

func positions(found []audit.Found) []int64 {
	out := make([]int64, len(found))
	for i, f := range found {
		out[i] = f.Position
	}
	return out
}

// filters are questions about the busy log, each with what it means.
func filters() map[string]struct {
	filter audit.Filter
	means  func(eventstore.Record) bool
} {
	type question = struct {
		filter audit.Filter
		means  func(eventstore.Record) bool
	}
	has := func(member, value string) func(eventstore.Record) bool {
		return func(r eventstore.Record) bool {
			var m map[string]any
			_ = json.Unmarshal(r.Data, &m)
			return m[member] == value
		}
	}
	of := func(types ...string) func(eventstore.Record) bool {
		return func(r eventstore.Record) bool { return slices.Contains(types, r.Type) }
	}
	both := func(a, b func(eventstore.Record) bool) func(eventstore.Record) bool {
		return func(r eventstore.Record) bool { return a(r) && b(r) }
	}
	minute := projectiontest.Start.Add(50 * time.Millisecond)
	return map[string]question{
		"everything": {audit.Filter{}, func(eventstore.Record) bool { return true }},
		"a run": {audit.Filter{RunID: "run_deleted"}, func(r eventstore.Record) bool {
			return r.Stream == "run-run_deleted" || r.Stream == "task-task_deleted" && has("run_id", "run_deleted")(r)
		}},
		"a type":       {audit.Filter{Types: []string{"run.finished"}}, of("run.finished")},
		"types":        {audit.Filter{Types: []string{"run.finished", "run.failed", "nothing", "run.finished"}}, of("run.finished", "run.failed")},
		"a later type": {audit.Filter{Types: []string{"schedule.odd"}}, of("schedule.odd")},
		"an approval":  {audit.Filter{ApprovalID: "approval_gate"}, has("approval_id", "approval_gate")},
		"a type of a run": {audit.Filter{RunID: "run_answers", Types: []string{"tool.dispatch.intended"}}, func(r eventstore.Record) bool {
			return r.Stream == "run-run_answers" && r.Type == "tool.dispatch.intended"
		}},
		"a type of a tool": {audit.Filter{Tool: "shell_exec", Types: []string{"tool.dispatch.settled"}}, both(has("tool_name", "shell_exec"), of("tool.dispatch.settled"))},
		"a time": {audit.Filter{From: minute, To: minute.Add(20 * time.Millisecond)}, func(r eventstore.Record) bool {
			return !r.At.Before(minute) && r.At.Before(minute.Add(20*time.Millisecond))
		}},
		"a type in time":  {audit.Filter{From: minute, Types: []string{"run.started"}}, func(r eventstore.Record) bool { return !r.At.Before(minute) && r.Type == "run.started" }},
		"positions":       {audit.Filter{After: 10, Before: 20}, func(r eventstore.Record) bool { return r.Position > 10 && r.Position < 20 }},
		"an actor's":      {audit.Filter{Actor: "system", RunID: "run_answers", Tool: "exec"}, of("workspace.changed")},
		"nobody's":        {audit.Filter{Actor: "operator"}, of()},
		"an unknown tool": {audit.Filter{Tool: "none", Types: []string{"run.started"}}, of()},
		"a host": {audit.Filter{Host: "docs.example"}, func(r eventstore.Record) bool {
			return has("tool_call_id", "c9")(r) || has("file", "/home/you/p/.hecate/config.toml")(r)
		}},
		"a host's port":         {audit.Filter{Host: "docs.example:8443"}, has("tool_call_id", "c9")},
		"an offered host":       {audit.Filter{Host: "api.example"}, has("approval_id", "a9")},
		"an offered tool":       {audit.Filter{Tool: "http_request"}, has("approval_id", "a9")},
		"a file":                {audit.Filter{Path: "/ws/b.txt"}, has("path", "/ws/b.txt")},
		"a file of a workspace": {audit.Filter{Path: "src/d.go", RunID: "run_answers"}, has("path", "/ws/run_answers/src/d.go")},
		"a directory":           {audit.Filter{Path: "src/b/"}, of("workspace.changed")},
		"a directory, untidy": {
			audit.Filter{Path: "./src//"}, func(r eventstore.Record) bool {
				return r.Type == "workspace.changed" || has("path", "/ws/run_answers/src/d.go")(r)
			},
		},
		"no directory":             {audit.Filter{Path: "src"}, of()},
		"before the log":           {audit.Filter{To: projectiontest.Start.Add(-time.Hour)}, of()},
		"behind the log":           {audit.Filter{After: 1 << 40}, of()},
		"an operation of the task": {audit.Filter{TaskID: "task_answers", Types: []string{"workspace.operation.completed"}}, of("workspace.operation.completed")},
		"what speaks of the task":  {audit.Filter{TaskID: "task_answers", Types: []string{"schedule.fired"}}, of("schedule.fired")},
	}
}

// Every question finds exactly what it means, in either order and in pages of any size.
func TestFilters(t *testing.T) {
	log := busy(t)
	_, v := project(t, log, memory(t))
	for what, q := range filters() {
		var want []int64
		for _, r := range log.Records() {
			if q.means(r) {
				want = append(want, r.Position)
			}
		}
		for _, limit := range []int{1, 7, 1000} {
			if got := positions(pages(t, v, q.filter, audit.OldestFirst, limit)); !slices.Equal(got, want) {
				t.Errorf("%s, oldest first, %d each: %v, want %v", what, limit, got, want)
			}
			got := positions(pages(t, v, q.filter, audit.NewestFirst, limit))
			slices.Reverse(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s, newest first, %d each: %v, want %v", what, limit, got, want)
			}
		}
	}
}

// What is found names its task and run, also where only the first record of a stream
// says where it belongs.
func TestWhereRecordsBelong(t *testing.T) {
	log := busy(t)
	_, v := project(t, log, memory(t))
	found := map[int64]audit.Found{}
	for _, f := range pages(t, v, audit.Filter{}, audit.OldestFirst, 100) {
		found[f.Position] = f
	}
	for _, r := range log.Records() {
		f := found[r.Position]
		want := audit.Found{Position: r.Position}
		switch r.Stream {
		case "op-1", "run-run_answers":
			want.TaskID, want.RunID = "task_answers", "run_answers"
		case "schedule-1":
			if r.Type == "schedule.fired" {
				want.TaskID = "task_answers"
			}
		default:
			continue
		}
		if f != want {
			t.Errorf("%s at %d: %+v, want %+v", r.Type, r.Position, f, want)
		}
	}
}

// An event leads to others, and those are found from it.
func TestEffects(t *testing.T) {
	log := projectiontest.New(t)
	log.Add("run-a", run.Queued{})
	for i := range 5 {
		e := log.Event(run.TaskUpdated{}.EventType(), []byte("{}"))
		_, err := log.Append(t.Context(), eventstore.Batch{
			CausedBy: int64(1 + i%2), Actor: eventstore.Actor{Kind: "operator", Name: "ada"},
			Streams: []eventstore.StreamAppend{{Stream: "run-a", Expected: eventstore.AnyVersion, Events: []eventstore.Event{e}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, v := project(t, log, memory(t))
	for position, want := range map[int64][]int64{1: {2, 4, 6}, 2: {3, 5}, 6: nil} {
		var got []int64
		for after := int64(0); ; {
			p, err := v.Effects(t.Context(), position, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, positions(p.Found)...)
			if after = p.Next; after == 0 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d led to %v, want %v", position, got, want)
		}
	}
	for _, actor := range []string{"ada", "operator:ada", "operator"} {
		if got := pages(t, v, audit.Filter{Actor: actor}, audit.OldestFirst, 10); len(got) != 5 {
			t.Errorf("%s did %v", actor, got)
		}
	}
	for _, actor := range []string{"ad", "client:ada", "Ada", "operator:", "a:b:c", "\xff"} {
		if got := pages(t, v, audit.Filter{Actor: actor}, audit.OldestFirst, 10); len(got) != 0 {
			t.Errorf("%s did %v", actor, got)
		}
	}
}

// What cannot be meant is refused, by its name.
func TestBadFilters(t *testing.T) {
	_, v := project(t, projectiontest.New(t), memory(t))
	for want, f := range map[string]audit.Filter{
		"host: hosts have no wildcards; list every host by its full name": {Host: "*.example"},
		"to: it lies before from": {From: projectiontest.Start, To: projectiontest.Start.Add(-1)},
	} {
		_, err := v.Page(t.Context(), f, audit.NewestFirst, 10)
		if got, ok := fault.Of(err); !ok || got.Kind != fault.KindInvalid || got.Message != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Names of any length and bytes are found, and two long ones that begin alike are two.
func TestOddNames(t *testing.T) {
	log := projectiontest.New(t)
	long := string(slices.Repeat([]byte("x"), 5000))
	for _, p := range []string{long, long + "y", "a\x00b/c", "ü/ö"} {
		log.Add("run-a", run.FileApplied{Path: p})
	}
	_, v := project(t, log, memory(t))
	for p, want := range map[string]int64{long: 1, long + "y": 2, "a\x00b/": 3, "ü/": 4} {
		if got := positions(pages(t, v, audit.Filter{Path: p}, audit.OldestFirst, 10)); !slices.Equal(got, []int64{want}) {
			t.Errorf("%.20q: %v, want %d", p, got, want)
		}
	}
}

// askAll is all that can be asked.
func askAll(t testing.TB, v *audit.Views) string {
	t.Helper()
	all := map[string][]audit.Found{}
	for what, q := range filters() {
		all[what] = pages(t, v, q.filter, audit.NewestFirst, 500)
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// However the log is cut, restarted or rebuilt, and whichever database keeps it, the
// answers are the same to the byte.
func TestEveryWayGivesTheSameAnswers(t *testing.T) {
	log := busy(t)
	r, v := project(t, log, memory(t))
	want := askAll(t, v)
	same := func(how string, v *audit.Views) {
		t.Helper()
		if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
			t.Errorf("at once, then %s:\n%s", how, diff)
		}
	}
	if err := r.Rebuild(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	same("rebuilt", v)

	pg, err := readdb.OpenPostgres(t.Context(), pgtest.URL(t), "")
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, pg)
	for how, db := range map[string]*readdb.DB{"with restarts on SQLite": memory(t), "with restarts on PostgreSQL": pg} {
		for last := int64(1); last < int64(len(log.Records())); last += 17 {
			project(t, &projectiontest.UpTo{Store: log, Last: last}, db)
		}
		r, v := project(t, log, db)
		same(how, v)
		if err := r.Rebuild(t.Context(), "", nil); err != nil {
			t.Fatal(err)
		}
		same(fmt.Sprint(how, ", rebuilt"), v)
	}
}

// The files and hosts that erased records named are not found any more, what the records are
// about is, and a model that had them answers as one that is built later.
func TestErasure(t *testing.T) {
	log := busy(t)
	pg, err := readdb.OpenPostgres(t.Context(), pgtest.URL(t), "")
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, pg)
	dbs := map[string]*readdb.DB{"SQLite": memory(t), "PostgreSQL": pg}
	for _, db := range dbs {
		project(t, log, db)
	}
	_, v := project(t, log, dbs["SQLite"])
	host := audit.Filter{Host: "docs.example:8443"}
	if len(pages(t, v, host, audit.OldestFirst, 10)) == 0 {
		t.Fatal("the host is not found")
	}
	log.Erase("task_answers")
	_, fresh := project(t, log, memory(t))
	want := askAll(t, fresh)
	for name, db := range dbs {
		r, v := project(t, log, db)
		for range 2 {
			if diff := cmp.Diff(want, askAll(t, v)); diff != "" {
				t.Errorf("built after the erasure, then %s:\n%s", name, diff)
			}
			if got := pages(t, v, host, audit.OldestFirst, 10); len(got) != 0 {
				t.Errorf("%s: the host is still found: %v", name, positions(got))
			}
			if got := pages(t, v, audit.Filter{Tool: "web_fetch"}, audit.OldestFirst, 10); len(got) != 1 {
				t.Errorf("%s: the call is not found by its tool any more", name)
			}
			last := log.Records()[len(log.Records())-1].Position
			if got := positions(pages(t, v, audit.Filter{TaskID: "task_answers"}, audit.NewestFirst, 1000)); got[0] != last {
				t.Errorf("%s: the erasure is not found by the task", name)
			}
			if err := r.Rebuild(t.Context(), "", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}
