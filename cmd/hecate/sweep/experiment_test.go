//go:build linux

package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hecate/runtime/model/scripted"
)

// mode is where a story is played.
type mode struct {
	name       string
	store      func(t *testing.T, dir string) store
	workspaces string // workspace_mode of the tasks
	// second says that another node goes on when a process dies, and not the same one.
	second bool
	shared bool // the second node has the first one's directory of workspaces
	lease  int  // seconds until a dead node's runs are taken over; 0: as the server likes
	// back says that the second node cannot go on if the workspace is the first one's,
	// which is started again once the run says that it waits.
	back bool
}

// experiment plays one story, during which the server dies at the given points, one
// process after the other.
type experiment struct {
	t      *testing.T
	mode   mode
	store  store
	points []string
	dir    string
	nodes  []*node
	driver *driver
	model  *scripted.Server

	deaths  atomic.Int64
	current atomic.Value  // string: the trace of the newest process
	ended   chan struct{} // the caller's story has come to its end
	waited  bool          // a run said that it waits for its workspace
	atDeath []*history    // the log as each process left it

	mu   sync.Mutex
	fed  []seen // what the feed has shown
	told chan struct{}
}

var experiments atomic.Int64

// answerMicroUSD is what an answer of the model costs.
const answerMicroUSD = 1000

// newExperiment prepares everything and starts nothing.
func newExperiment(t *testing.T, m mode, s scenario, points ...string) *experiment {
	t.Helper()
	x := &experiment{t: t, mode: m, points: points, dir: filepath.Join(root, fmt.Sprint("x", experiments.Add(1))), told: make(chan struct{}, 1), ended: make(chan struct{})}
	d := &driver{mode: m, dir: filepath.Join(x.dir, "story"), source: filepath.Join(x.dir, "source"), holds: x.holds}
	x.driver = d
	for _, dir := range []string{d.dir, d.source} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	x.store = m.store(t, x.dir)
	if err := os.WriteFile(filepath.Join(d.source, "given.txt"), []byte("given\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.model = scripted.New(scripted.Script{ByTurn: true, Func: func(turn int, _ scripted.Request) scripted.Reply {
		r, cost := s.reply(d, turn), int64(answerMicroUSD)
		r.Cost, r.Usage = &cost, &[2]int64{100, 10}
		return r
	}})
	url, stop, err := x.model.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	x.addNodes(url)
	t.Cleanup(func() {
		for _, n := range x.nodes {
			n.kill()
		}
		if !t.Failed() {
			_ = os.RemoveAll(x.dir) // all goes at the end; a full sweep would need much room
		}
	})
	return x
}

func (x *experiment) addNodes(model string) {
	env := append([]string{
		"PROVIDER_FAKE_BASE_URL=" + model, "PROVIDER_FAKE_KIND=local", "PROVIDER_FAKE_MODELS=" + scripted.ModelName,
		"PROVIDER_FAKE_PRECONFIGURED=1", "HECATE_TASK_APPROVAL_POLICIES=file_write",
	}, x.store.env...)
	names := []string{"first"}
	if x.mode.second {
		names = append(names, "second")
	}
	if x.mode.lease > 0 {
		env = append(env, fmt.Sprint("HECATE_TASK_QUEUE_LEASE_SECONDS=", x.mode.lease))
	}
	for _, name := range names {
		n, err := newNode(filepath.Join(x.dir, name), env...)
		if err != nil {
			x.t.Fatal(err)
		}
		x.nodes = append(x.nodes, n)
	}
	if x.mode.second {
		second := x.nodes[1]
		second.env = append(second.env, "HECATE_CRASH_SKEW=-1h")
		if x.mode.shared {
			second.temp = x.nodes[0].temp
		} else {
			second.apart(x.nodes[0])
		}
	}
	x.driver.client = newClient(x.nodes[0].base)
}

// experimentMax bounds one experiment, on a machine that is busy with many.
const experimentMax = 6 * time.Minute

// play tells the story from its beginning to its end, with all deaths in it.
func (x *experiment) play(s scenario) error {
	x.t.Helper()
	ctx, stop := context.WithTimeout(x.t.Context(), experimentMax)
	defer stop()
	failing, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	x.driver.ctx = failing
	if err := x.start(x.nodes[0], 0); err != nil {
		return err
	}
	following, unfollow := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer unfollow()
	all.Go(func() { x.driver.follow(following, x.see) })
	recovered := make(chan struct{})
	all.Go(func() {
		defer close(recovered)
		if err := x.recover(failing); err != nil {
			fail(err)
		}
	})
	if err := s.drive(x.driver); err != nil {
		return err
	}
	close(x.ended)
	// The last points come after everything that a caller sees.
	select {
	case <-recovered:
	case <-time.After(patience):
		fail(fmt.Errorf("the server never reached %q", x.points[x.deaths.Load()]))
		<-recovered
	}
	if err := context.Cause(failing); err != nil {
		return err
	}
	return x.fedUp(failing)
}

// start starts process i of the experiment.
func (x *experiment) start(n *node, i int) error {
	if err := n.start(x.point(i)); err != nil {
		return err
	}
	x.current.Store(n.traces[len(n.traces)-1])
	return nil
}

// holds reports whether it was the newest process that dispatched a call, so that it
// may yet record what comes of it.
func (x *experiment) holds(call string) (bool, error) {
	all, err := readTrace(x.current.Load().(string))
	return slices.ContainsFunc(all, func(r reached) bool {
		return strings.HasPrefix(r.point, "append.before ") && slices.Contains(strings.Fields(r.about), call)
	}), err
}

// point is where process i dies, "" for nowhere.
func (x *experiment) point(i int) string {
	if i < len(x.points) {
		return x.points[i]
	}
	return ""
}

// recover starts the next process whenever one has died where it should.
func (x *experiment) recover(ctx context.Context) error {
	n := x.nodes[0]
	for i, point := range x.points {
		select {
		case <-n.exited:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := n.crashed(point); err != nil {
			return err
		}
		h, err := x.store.read(ctx)
		if err != nil {
			return err
		}
		x.atDeath = append(x.atDeath, h)
		if x.mode.second {
			n = x.nodes[(i+1)%len(x.nodes)]
		}
		if err := x.start(n, i+1); err != nil {
			return err
		}
		x.driver.base.Store(n.base)
		x.deaths.Add(1)
	}
	if err := n.serves(); err != nil || !x.mode.back || !x.waits(ctx) {
		return err
	}
	x.waited = true
	return x.start(x.nodes[0], len(x.points))
}

// waits returns true when a run has said that it waits for its workspace, and false
// when the story ends without that.
func (x *experiment) waits(ctx context.Context) bool {
	for {
		x.mu.Lock()
		said := slices.ContainsFunc(x.fed, func(e seen) bool { return strings.Contains(e.data, `"workspace_unreachable"`) })
		x.mu.Unlock()
		if said {
			return true
		}
		select {
		case <-x.told:
		case <-x.ended:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// last is the node whose process has not died.
func (x *experiment) last() *node {
	if x.mode.second {
		return x.nodes[len(x.points)%len(x.nodes)]
	}
	return x.nodes[0]
}

// end ends all processes in good order.
func (x *experiment) end() {
	x.t.Helper()
	for _, n := range x.nodes {
		if err := n.end(); err != nil {
			x.t.Fatal(err)
		}
	}
}

func (x *experiment) see(e seen) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fed = append(x.fed, e)
	select {
	case x.told <- struct{}{}:
	default:
	}
}

// fedUp waits until the feed has shown the newest event and compares all that it has
// shown with the list.
func (x *experiment) fedUp(ctx context.Context) error {
	events, err := x.driver.events(ctx)
	if err != nil {
		return err
	}
	for {
		x.mu.Lock()
		fed := x.fed
		x.mu.Unlock()
		if n := len(fed); n > 0 && fed[n-1].sequence >= events[len(events)-1].sequence {
			return sameEvents(fed, events)
		}
		select {
		case <-x.told:
		case <-ctx.Done():
			return fmt.Errorf("the feed has shown %d events of %d", len(fed), len(events))
		}
	}
}

func sameEvents(got, want []seen) error {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Errorf("the feed lacks event %d", want[i].sequence)
		case i >= len(want) || got[i] != want[i]:
			return errors.New("the feed differs from the list at " + got[i].data)
		}
	}
	return nil
}
