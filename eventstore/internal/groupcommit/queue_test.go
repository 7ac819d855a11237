package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"hecate/eventstore"
	"hecate/eventstore/internal/groupcommit"
	"hecate/eventstore/storetest"
)

// recorder is a log that notes in which groups the streams came.
type recorder struct {
	groups [][]string
	hold   chan struct{}       // each commit waits for one
	refuse map[string]struct{} // streams that fail the whole transaction
	down   bool
}

func (r *recorder) commit(requests []*groupcommit.Request) error {
	<-r.hold
	var group []string
	for _, q := range requests {
		group = append(group, q.Batch.Streams[0].Stream)
	}
	r.groups = append(r.groups, group)
	if r.down {
		return fmt.Errorf("commit: %w", groupcommit.ErrNoRetry)
	}
	for _, stream := range group {
		if _, bad := r.refuse[stream]; bad {
			return errors.New("poison")
		}
	}
	return nil
}

func request(t *testing.T, stream string, events int) *groupcommit.Request {
	t.Helper()
	r, err := groupcommit.NewRequest(storetest.To(stream, 0, storetest.NewEvents(events)...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// queued starts a queue whose first request, "first", is being committed until
// something is sent to hold.
func queued(t *testing.T, r *recorder) *groupcommit.Queue {
	r.hold = make(chan struct{})
	q := groupcommit.New(r.commit)
	go q.Do(t.Context(), request(t, "first", 1)) //nolint:errcheck // not looked at
	synctest.Wait()
	return q
}

func (r *recorder) want(t *testing.T, groups ...[]string) {
	t.Helper()
	if !slices.EqualFunc(r.groups, groups, slices.Equal) {
		t.Errorf("groups %v, want %v", r.groups, groups)
	}
}

func TestRequestsGatherWhileOneCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		q := queued(t, r)
		for _, stream := range []string{"a", "b", "c"} {
			go q.Do(t.Context(), request(t, stream, 1)) //nolint:errcheck // not looked at
			synctest.Wait()
		}
		close(r.hold)
		q.Close()
		r.want(t, []string{"first"}, []string{"a", "b", "c"})
		if err := q.Do(t.Context(), request(t, "late", 1)); !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	})
}

func TestGroupsHaveLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		q := queued(t, r)
		again := storetest.To("again", 0, storetest.NewEvents(1)...)
		again.CommandID = "cmd-1"
		for _, b := range []eventstore.Batch{
			storetest.To("a", 0, storetest.NewEvents(300)...),
			storetest.To("b", 0, storetest.NewEvents(212)...),
			storetest.To("c", 0, storetest.NewEvents(512)...),
			again, again, // the second one must see what became of the first
		} {
			q2, err := groupcommit.NewRequest(b)
			if err != nil {
				t.Fatal(err)
			}
			go q.Do(t.Context(), q2) //nolint:errcheck // not looked at
			synctest.Wait()
		}
		close(r.hold)
		q.Close()
		r.want(t, []string{"first"}, []string{"a", "b"}, []string{"c"}, []string{"again"}, []string{"again"})
	})
}

func TestCancelledWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		q := queued(t, r)
		ctx, stop := context.WithCancel(t.Context())
		var errs [2]error
		go func() { errs[0] = q.Do(ctx, request(t, "cancelled", 1)) }()
		go func() { errs[1] = q.Do(t.Context(), request(t, "kept", 1)) }()
		synctest.Wait()
		stop()
		synctest.Wait()
		if !errors.Is(errs[0], context.Canceled) {
			t.Errorf("cancelled: %v", errs[0])
		}
		close(r.hold)
		q.Close()
		synctest.Wait()
		r.want(t, []string{"first"}, []string{"kept"})
		if errs[1] != nil {
			t.Errorf("kept: %v", errs[1])
		}
	})
}

func TestCancelledWhileCommitting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{hold: make(chan struct{})}
		q := groupcommit.New(r.commit)
		ctx, stop := context.WithCancel(t.Context())
		err := errors.New("no answer yet")
		go func() { err = q.Do(ctx, request(t, "a", 1)) }()
		synctest.Wait()
		stop()
		synctest.Wait()
		close(r.hold)
		q.Close()
		synctest.Wait()
		if err != nil {
			t.Errorf("the outcome was not waited for: %v", err)
		}
	})
}

func TestOnlyThePoisonFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{refuse: map[string]struct{}{"c": {}}}
		q := queued(t, r)
		requests := map[string]*groupcommit.Request{}
		for _, stream := range []string{"a", "b", "c", "d", "e"} {
			requests[stream] = request(t, stream, 1)
			go q.Do(t.Context(), requests[stream]) //nolint:errcheck // not looked at
			synctest.Wait()
		}
		close(r.hold)
		q.Close()
		for stream, q := range requests {
			if (q.Err != nil) != (stream == "c") {
				t.Errorf("%s: %v", stream, q.Err)
			}
		}
	})
}

func TestUnreachableDatabaseIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{down: true}
		q := queued(t, r)
		a, b := request(t, "a", 1), request(t, "b", 1)
		for _, q2 := range []*groupcommit.Request{a, b} {
			go q.Do(t.Context(), q2) //nolint:errcheck // not looked at
			synctest.Wait()
		}
		close(r.hold)
		q.Close()
		r.want(t, []string{"first"}, []string{"a", "b"})
		if a.Err == nil || b.Err == nil {
			t.Errorf("errors %v and %v", a.Err, b.Err)
		}
	})
}

// A driver that leaves a request without an outcome has not appended it.
func TestNoOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		events   int
		appended eventstore.Appended
		ok       bool
	}{
		"nothing said":           {events: 1},
		"a place":                {1, eventstore.Appended{First: 1, Last: 1}, true},
		"no events, empty log":   {0, eventstore.Appended{First: 1}, true},
		"repeat of such a batch": {1, eventstore.Appended{First: 1, Repeated: true}, true},
	} {
		r := request(t, "run-1", c.events)
		r.Appended = c.appended
		if a, err := groupcommit.Settle(t.Context(), nil, r); (err == nil) != c.ok || a != c.appended {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}
