package worker_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
)

// A pool that has stopped leaves nothing behind: after runs that ended, runs that it
// handed back and a lease that it lost.
func TestAStoppedPoolLeavesNothingBehind(t *testing.T) {
	n := newNode(t)
	c := &cluster{node: n}
	before := goleak.IgnoreCurrent()
	n.model = scripted.New(scripted.Script{Marker: "hangs", Replies: []scripted.Reply{{Hang: true}, {Hang: true}}},
		scripted.Script{ByTurn: true, Replies: []scripted.Reply{calls(shellCall("a", "sleep 0.01")), text("done")}})
	base, stop, err := n.model.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	web := model.NewHTTPClient()
	n.route.Client = model.NewOpenAI(model.Endpoint{BaseURL: base, HTTP: web})
	for _, ttl := range []time.Duration{0, long} {
		p := n.begin(n.executor, as("a", ttl), func(c *worker.Config) { c.Workers = 4 })
		for range 4 {
			r := n.start(task.Definition{Prompt: event("go")})
			if s := n.end(r.RunID); s.Status != run.StatusCompleted {
				t.Errorf("a run is %s", s.Status)
			}
		}
		asked := n.model.Count()
		r := n.start(task.Definition{Prompt: event("this one hangs")})
		eventually(t, "the model call", func() bool { return n.model.Count() > asked })
		p.tell()
		await(t, "the end of the pool", p.done)
		n.cancel(r)
		if c.lives("a") {
			t.Error("the lease stands")
		}
	}
	stop()
	web.CloseIdleConnections()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
