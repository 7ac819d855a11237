package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hecate/eventstore"
)

// leaseModel is what the leases of a log are, in a few lines: a log must answer as it does.
type leaseModel struct {
	t     *testing.T
	log   Log
	store eventstore.Store
	check int // which run of the property this is; part of all names

	now     time.Duration
	workers map[string]modelWorker // by instance
	streams map[string]*modelStream
	locks   map[modelHold]string // under whose lease
	epochs  []int64              // given out, growing
}

type modelWorker struct {
	node    string
	ttl     time.Duration
	expires time.Duration
}

type modelStream struct {
	version int64
	since   int64 // 0 if its work is closed
	owner   string
	node    string
	epoch   int64 // 0 if nobody has it
}

// Times that never meet: a lease does not end at the moment of a look.
const (
	modelStep  = 50 * time.Minute
	modelShort = 60 * time.Minute
	modelLong  = 180 * time.Minute
)

// testLeaseModel runs random operations and compares each answer with the model's.
func testLeaseModel(t *testing.T, l Log) {
	s, check := open(t, l), 0
	rapid.Check(t, func(rt *rapid.T) {
		check++
		m := &leaseModel{
			t: t, log: l, store: s, check: check,
			workers: map[string]modelWorker{}, streams: map[string]*modelStream{}, locks: map[modelHold]string{},
		}
		for i := range 3 {
			m.streams[fmt.Sprintf("run-%d-%d", check, i)] = &modelStream{}
		}
		defer m.tidyUp()
		rt.Repeat(map[string]func(*rapid.T){
			"register": m.register, "renew": m.renew, "release": m.release,
			"claim": m.claim, "claim more": m.claim, "unclaim": m.unclaim,
			"append": m.append, "append more": m.append, "open": m.open, "pass": m.pass,
			"take": m.take, "take more": m.take, "drop": m.drop, "drop all of a run": m.dropRun,
			"look": m.look, "look at locks": m.lookAtLocks,
		})
	})
}

// tidyUp leaves no workers and no open work for the next run.
func (m *leaseModel) tidyUp() {
	for instance := range m.workers {
		must(m.t, m.store.Release(withPatience(m.t), instance))
	}
	for stream := range m.streams {
		closeWork(m.t, m.store, stream)
	}
}

func (m *leaseModel) lives(instance string) bool {
	w, ok := m.workers[instance]
	return ok && m.now < w.expires
}

func (m *leaseModel) drawStream(rt *rapid.T) string {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.streams))).Draw(rt, "stream")
}

// drawInstance picks one that is known or, rarely, one that is not.
func (m *leaseModel) drawInstance(rt *rapid.T) string {
	return rapid.SampledFrom(append(slices.Sorted(maps.Keys(m.workers)), "nobody")).Draw(rt, "instance")
}

func (m *leaseModel) wantErr(rt *rapid.T, what string, got, want error) {
	if !errors.Is(got, want) {
		rt.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func (m *leaseModel) endClaims(ends func(*modelStream) bool) {
	for _, s := range m.streams {
		if ends(s) {
			s.owner, s.node, s.epoch = "", "", 0
		}
	}
}

func (m *leaseModel) register(rt *rapid.T) {
	w := eventstore.Worker{
		Instance: fmt.Sprintf("i-%d-%d", m.check, rapid.IntRange(0, 4).Draw(rt, "instance")),
		Node:     fmt.Sprintf("n-%d", rapid.IntRange(0, 2).Draw(rt, "node")),
		TTL:      rapid.SampledFrom([]time.Duration{modelShort, modelLong}).Draw(rt, "ttl"),
	}
	m.wantErr(rt, "register", m.store.Register(withPatience(m.t), w), nil)
	for instance, other := range m.workers {
		if instance == w.Instance || other.node == w.Node {
			delete(m.workers, instance)
		}
	}
	m.endClaims(func(s *modelStream) bool { return s.owner == w.Instance || s.node == w.Node })
	m.endLocks()
	m.workers[w.Instance] = modelWorker{w.Node, w.TTL, m.now + w.TTL}
}

func (m *leaseModel) renew(rt *rapid.T) {
	instance := m.drawInstance(rt)
	err := m.store.Renew(withPatience(m.t), instance)
	if !m.lives(instance) {
		m.wantErr(rt, "renew", err, eventstore.ErrLeaseLost)
		return
	}
	m.wantErr(rt, "renew", err, nil)
	w := m.workers[instance]
	w.expires = m.now + w.ttl
	m.workers[instance] = w
}

func (m *leaseModel) release(rt *rapid.T) {
	instance := m.drawInstance(rt)
	m.wantErr(rt, "release", m.store.Release(withPatience(m.t), instance), nil)
	delete(m.workers, instance)
	m.endClaims(func(s *modelStream) bool { return s.owner == instance })
	m.endLocks()
}

func (m *leaseModel) claim(rt *rapid.T) {
	instance, stream := m.drawInstance(rt), m.drawStream(rt)
	claimsMax := rapid.IntRange(0, 2).Draw(rt, "bound")
	held, s := 0, m.streams[stream]
	for other, o := range m.streams {
		if other != stream && m.lives(o.owner) {
			held++
		}
	}
	epoch, err := m.store.Claim(withPatience(m.t), instance, stream, claimsMax)
	switch {
	case !m.lives(instance):
		m.wantErr(rt, "claim", err, eventstore.ErrLeaseLost)
	case s.since == 0 || s.owner != instance && m.lives(s.owner):
		m.wantErr(rt, "claim", err, eventstore.ErrClaimed)
	case claimsMax > 0 && held >= claimsMax:
		m.wantErr(rt, "claim", err, eventstore.ErrBusy)
	default:
		m.wantErr(rt, "claim", err, nil)
		if n := len(m.epochs); n > 0 && epoch <= m.epochs[n-1] {
			rt.Fatalf("epoch %d after %d", epoch, m.epochs[n-1])
		}
		m.epochs = append(m.epochs, epoch)
		s.owner, s.node, s.epoch = instance, m.workers[instance].node, epoch
	}
}

func (m *leaseModel) unclaim(rt *rapid.T) {
	instance, stream := m.drawInstance(rt), m.drawStream(rt)
	m.wantErr(rt, "unclaim", m.store.Unclaim(withPatience(m.t), instance, stream), nil)
	m.endClaims(func(s *modelStream) bool { return s == m.streams[stream] && s.owner == instance })
}

// append writes to one or two streams, with right and wrong versions and epochs.
func (m *leaseModel) append(rt *rapid.T) {
	var b eventstore.Batch
	for _, stream := range slices.Sorted(maps.Keys(m.streams))[:rapid.IntRange(1, 2).Draw(rt, "parts")] {
		s := m.streams[stream]
		b.Streams = append(b.Streams, eventstore.StreamAppend{
			Stream:   stream,
			Expected: rapid.SampledFrom([]int64{eventstore.AnyVersion, s.version, s.version, s.version, s.version + 1}).Draw(rt, "version"),
			Events:   NewEvents(rapid.IntRange(1, 2).Draw(rt, "events")),
			Work:     rapid.SampledFrom([]eventstore.Work{eventstore.WorkKeep, eventstore.WorkKeep, eventstore.WorkOpen, eventstore.WorkClose}).Draw(rt, "work"),
			Epoch:    rapid.SampledFrom(append([]int64{0, s.epoch, s.epoch}, m.epochs...)).Draw(rt, "epoch"),
		})
	}
	m.send(rt, b)
}

// open marks a stream as nobody in particular does.
func (m *leaseModel) open(rt *rapid.T) {
	b := To(m.drawStream(rt), eventstore.AnyVersion, NewEvents(1)...)
	b.Streams[0].Work = eventstore.WorkOpen
	m.send(rt, b)
}

func (m *leaseModel) send(rt *rapid.T, b eventstore.Batch) {
	a, err := m.store.Append(withPatience(m.t), b)
	for _, p := range b.Streams {
		if s := m.streams[p.Stream]; p.Expected != eventstore.AnyVersion && p.Expected != s.version {
			var conflict *eventstore.ConflictError
			if !errors.As(err, &conflict) || *conflict != (eventstore.ConflictError{Stream: p.Stream, Expected: p.Expected, Actual: s.version}) {
				rt.Fatalf("append: %v, want a conflict: %s is at %d, not at %d", err, p.Stream, s.version, p.Expected)
			}
			return
		}
	}
	for _, p := range b.Streams {
		if p.Epoch != 0 && p.Epoch != m.streams[p.Stream].epoch {
			var fenced *eventstore.FencedError
			if !errors.As(err, &fenced) || *fenced != (eventstore.FencedError{Stream: p.Stream, Epoch: p.Epoch}) {
				rt.Fatalf("append: %v, want that claim %d of %s has ended", err, p.Epoch, p.Stream)
			}
			return
		}
	}
	m.wantErr(rt, "append", err, nil)
	position := a.First - 1
	for _, p := range b.Streams {
		s := m.streams[p.Stream]
		s.version += int64(len(p.Events))
		position += int64(len(p.Events))
		switch p.Work {
		case eventstore.WorkOpen:
			*s = modelStream{version: s.version, since: position}
		case eventstore.WorkClose:
			*s = modelStream{version: s.version}
		case eventstore.WorkKeep:
		}
	}
}

func (m *leaseModel) pass(*rapid.T) {
	m.log.Pass(m.t, modelStep)
	m.now += modelStep
}

// look compares all that can be read of the leases.
func (m *leaseModel) look(rt *rapid.T) {
	var claimable []eventstore.OpenStream
	var stats eventstore.WorkStats
	claims := map[string]int{}
	for name, s := range m.streams {
		switch {
		case s.since == 0:
		case m.lives(s.owner):
			stats.Claimed++
			claims[s.owner]++
		default:
			stats.Waiting++
			claimable = append(claimable, eventstore.OpenStream{Stream: name, Since: s.since})
		}
	}
	slices.SortFunc(claimable, func(a, b eventstore.OpenStream) int { return cmp.Compare(a.Since, b.Since) })
	var workers []eventstore.LiveWorker
	for instance, w := range m.workers {
		if m.lives(instance) {
			workers = append(workers, eventstore.LiveWorker{Instance: instance, Node: w.node, Claims: claims[instance]})
		}
	}
	slices.SortFunc(workers, func(a, b eventstore.LiveWorker) int { return cmp.Compare(a.Node, b.Node) })

	found, err := m.store.Claimable(withPatience(m.t), 0, 10)
	m.same(rt, "claimable", claimable, found, err)
	alive, err := m.store.Workers(withPatience(m.t))
	for i := range alive {
		alive[i].Reach = nil // none, however that is written
	}
	m.same(rt, "workers", workers, alive, err)
	got, err := m.store.WorkStats(withPatience(m.t))
	m.same(rt, "work stats", stats, eventstore.WorkStats{Waiting: got.Waiting, Claimed: got.Claimed}, err)
}

func (m *leaseModel) same(rt *rapid.T, what string, want, got any, err error) {
	if err != nil {
		rt.Fatalf("%s: %v", what, err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		rt.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}
