// Package storetest is the suite that every log must pass, and a few helpers
// for tests that write to a log.
//
// A driver's own test says how to get at a log and runs the suite:
//
//	func TestStore(t *testing.T) { storetest.Run(t, newLog) }
package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"hecate/eventstore"
)

// patience is how long a test waits for what must happen. Nothing is measured with it.
const patience = 2 * time.Minute

// Log is one new, empty log of the driver under test.
type Log struct {
	// Open opens the log. The suite closes what it opens.
	Open func(t *testing.T) eventstore.Store
	// Durable says that Open after Close finds what was written.
	Durable bool
	// Shared says that several stores may have the log open at once.
	Shared bool
	// Pass lets so much time pass for the leases of the log.
	Pass func(t *testing.T, d time.Duration)
	// Exec runs SQL behind the store's back; nil where there is no other way in.
	Exec func(t *testing.T, sql string) error
	// Forge does the same as somebody would who owns the database: without triggers.
	Forge func(t *testing.T, sql string)
}

// Run runs the suite. newLog makes a new log for each test.
func Run(t *testing.T, newLog func(t *testing.T) Log) {
	always := map[string]func(*testing.T, Log){
		"append and read":                    testAppendAndRead,
		"an append without events":           testEmptyAppend,
		"expected versions":                  testExpectedVersions,
		"several streams as a whole":         testAtomic,
		"one of many writers wins":           testRace,
		"a bad request spares its neighbour": testNeighbours,
		"limits":                             testLimits,
		"names":                              testNames,
		"command ids":                        testCommandIDs,
		"the same command at once":           testCommandAtOnce,
		"event ids":                          testEventIDs,
		"the same events at once":            testEventsAtOnce,
		"a reader sees one dense order":      testOrder,
		"any bytes":                          testBytes,
		"blobs":                              testBlobs,
		"open work":                          testOpenWork,
		"waking":                             testWaking,
		"close while waiting":                testCloseWhileWaiting,
		"close while appending":              testCloseWhileAppending,
		"a cancelled append":                 testCancel,
		"leases":                             testLeases,
		"a short lease":                      testShortLease,
		"bad workers":                        testBadWorkers,
		"claims":                             testClaims,
		"take over":                          testTakeOver,
		"a node comes back":                  testNodeComesBack,
		"the bound of claims":                testClaimBound,
		"claimable pages":                    testClaimablePages,
		"work stats":                         testWorkStats,
		"fencing":                            testFencing,
		"a claim ends":                       testClaimEnds,
		"a repeated append after the claim":  testRepeatAfterClaim,
		"a close among appends":              testCloseAmongAppends,
		"one of many claimers wins":          testClaimRace,
		"a zombie":                           testZombie,
		"locks":                              testLocks,
		"bad locks":                          testBadLocks,
		"locks as a whole":                   testLocksAsAWhole,
		"locks within a run":                 testLocksWithinARun,
		"locks end with the lease":           testLocksEndWithTheLease,
		"locks end when the node comes back": testLocksEndWhenTheNodeComesBack,
		"overlapping locks":                  testLockRace,
		"locks among leases":                 testLocksAmongLeases,
		"any order of lease operations":      testLeaseModel,
		"the tree":                           testTree,
		"erasure":                            testErasure,
		"erasure as a whole":                 testErasureAsAWhole,
	}
	for name, test := range always {
		t.Run(name, func(t *testing.T) { test(t, newLog(t)) })
	}
	can := newLog(t)
	if can.Durable {
		t.Run("open again", func(t *testing.T) { testReopen(t, newLog(t)) })
		t.Run("epochs grow", func(t *testing.T) { testEpochsGrow(t, newLog(t)) })
	}
	if can.Exec != nil {
		t.Run("the database refuses changes", func(t *testing.T) { testImmutable(t, newLog(t)) })
		t.Run("changes are found", func(t *testing.T) { testTampering(t, newLog(t)) })
	}
	if can.Shared {
		t.Run("several stores, one order", func(t *testing.T) { testSharedOrder(t, newLog(t)) })
	}
}

// At is the recorded time of test events; it has microseconds and no more.
var At = time.Date(2026, 3, 29, 1, 59, 59, 123456000, time.UTC)

// NewEvent returns an event with a fresh id and the given data.
func NewEvent(typ, data string) eventstore.Event {
	id := uuid.Must(uuid.NewV7())
	return eventstore.Event{ID: id, Type: typ, Schema: 1, At: At, Data: []byte(data), Salt: uuid.New()}
}

// NewEvents returns n events with fresh ids.
func NewEvents(n int) []eventstore.Event {
	out := make([]eventstore.Event, n)
	for i := range out {
		out[i] = NewEvent("test.happened", fmt.Sprintf(`{"n":%d}`, i))
	}
	return out
}

// To returns a batch for one stream.
func To(stream string, expected int64, events ...eventstore.Event) eventstore.Batch {
	return eventstore.Batch{
		Actor:   eventstore.Actor{Kind: "operator", Name: "op-1"},
		Streams: []eventstore.StreamAppend{{Stream: stream, Expected: expected, Events: events}},
	}
}

// open opens the log for the length of the test.
func open(t *testing.T, l Log) eventstore.Store {
	t.Helper()
	s := l.Open(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func withPatience(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	t.Cleanup(stop)
	return ctx
}

func mustAppend(t *testing.T, s eventstore.Store, b eventstore.Batch) eventstore.Appended {
	t.Helper()
	a, err := s.Append(withPatience(t), b)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return a
}

// readAll returns the whole log, from the database where it can be told apart.
func readAll(t *testing.T, s eventstore.Store) []eventstore.Record {
	t.Helper()
	read := s.ReadAll
	if stored, ok := s.(eventstore.StoredReader); ok {
		read = stored.ReadStored
	}
	var out []eventstore.Record
	for {
		page, err := read(withPatience(t), int64(len(out)), 300)
		if err != nil {
			t.Fatalf("read all: %v", err)
		}
		if len(page) == 0 {
			return out
		}
		out = append(out, page...)
	}
}
