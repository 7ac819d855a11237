package stream_test

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hecate/api/apitest"
	"hecate/domain/event"
	"hecate/domain/run"
)

// followed is what a client of a run's stream got.
type followed struct {
	bytes, last int64 // in all, in the last frame
	pictures    int
	longest     time.Duration // between two pictures
}

// followRun follows a run of rounds of three seconds, in which text streams in.
func followRun(t *testing.T, rounds int64) (out followed) {
	synctest.Test(t, func(t *testing.T) {
		p := &typing{changed: make(chan struct{})}
		s := apitest.Start(t, apitest.Options{Pipes: true, Progress: p})
		beginRun(t, s, "t", "r")
		resp, _ := s.Subscribe(t.Context(), t, runStream)
		defer resp.Body.Close()
		go func() {
			version := int64(4)
			for n := range rounds {
				for range 30 {
					time.Sleep(100 * time.Millisecond)
					p.add("some text ")
				}
				version = appendRound(t, s.Store, "r", n+1, version)
			}
			apitest.Append(t, s.Store, "run-r", run.Finished{FinalStatus: run.StatusCompleted})
		}()
		counted := &counter{r: resp.Body}
		frames := apitest.NewStream(counted)
		for before := time.Now(); ; {
			f, err := frames.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if out.last = int64(len(f.Data)); happened(t, f) == "" {
				out.pictures++
				out.longest, before = max(out.longest, time.Since(before)), time.Now()
			}
		}
		out.bytes = counted.n
	})
	return out
}

// What a follower of a run gets grows with the length of the run, not with its square,
// although a picture of its state grows with it.
func TestFollowingCostsTheLength(t *testing.T) {
	short, long := followRun(t, 20), followRun(t, 60)
	t.Logf("20 rounds: %+v, 60 rounds: %+v", short, long)
	if long.last < 2*short.last {
		t.Fatalf("the last pictures have %d and %d bytes", short.last, long.last)
	}
	// Each picture waits for the bytes of the one before: 64 KB/s. Then there are the events.
	for rounds, f := range map[int64]followed{20: short, 60: long} {
		if most := rounds*(3*64<<10+8<<10) + 4*f.last; f.bytes > most {
			t.Errorf("%d rounds: %d bytes, %d at most", rounds, f.bytes, most)
		}
		if most := time.Duration(f.last)*time.Second/(64<<10) + 200*time.Millisecond; f.longest > most {
			t.Errorf("%d rounds: %v between two pictures, %v at most", rounds, f.longest, most)
		}
	}
}

// After a large picture the next one takes its time, but not if a person is asked for
// something; and the last change is always shown.
func TestUrgentAndLastNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := apitest.Start(t, apitest.Options{Pipes: true})
		beginRun(t, s, "t", "r")
		apitest.Append(t, s.Store, "run-r", run.ModelResponseRecorded{ModelCallIndex: 1, Message: run.Message{Role: run.RoleAssistant, Content: event.NewText(strings.Repeat("x", 1<<20))}})
		resp, frames := s.Subscribe(t.Context(), t, runStream)
		defer resp.Body.Close()
		began := time.Now()
		picture := func() runFrame {
			t.Helper()
			for {
				f, err := nextRun(t, frames)
				if err != nil {
					t.Fatal(err)
				}
				if f.EventType == "snapshot" {
					return f
				}
			}
		}
		at := func(f runFrame, id string, from, to time.Duration) {
			t.Helper()
			if d := time.Since(began); f.ID != id || d < from || d > to {
				t.Errorf("a picture with id %s after %v, want %s after %v to %v", f.ID, d, id, from, to)
			}
		}
		at(picture(), "7", 0, 0)

		apitest.Append(t, s.Store, "run-r", run.ApprovalRequested{ApprovalID: "a", Kind: run.ApprovalBundle, Status: "pending", StepID: "step_2"}, run.AwaitingApproval{})
		asked := picture()
		at(asked, "9", 0, time.Second)
		if len(asked.Approvals) != 1 || asked.Approvals[0].Status != "pending" || asked.Run.Status != "awaiting_approval" {
			t.Errorf("%+v", asked.Approvals)
		}
		apitest.Append(t, s.Store, "run-r", run.ApprovalResolved{ApprovalID: "a", Kind: run.ApprovalBundle, Decision: "approved", Status: "approved", By: "operator"})
		if got := picture(); got.Approvals[0].Status != "approved" {
			t.Errorf("%+v", got.Approvals)
		}
		began = time.Now()
		for range 3 {
			apitest.Append(t, s.Store, "run-r", run.TaskUpdated{})
			time.Sleep(time.Second)
		}
		at(picture(), "13", 16*time.Second, 17*time.Second)
	})
}

// ticking is the progress of runs elsewhere: nobody knows when it changes, so it is
// time to look twice a second.
type ticking struct {
	typing
	asked atomic.Int64
}

func (p *ticking) Partial(id string) (string, int64) {
	p.asked.Add(1)
	return p.typing.Partial(id)
}

func (p *ticking) Changed(string) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(500*time.Millisecond, func() { close(c) })
	return c
}

// A half-finished answer is seen although its changes are only looked for from time to
// time, and looking costs nothing while other runs are busy.
func TestProgressElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &ticking{typing: typing{changed: make(chan struct{})}}
		s := apitest.Start(t, apitest.Options{Pipes: true, Progress: p})
		beginRun(t, s, "t", "r")
		apitest.Append(t, s.Store, "run-r", run.ModelCallStarted{ModelCallIndex: 1, StepID: "step_1"})
		resp, frames := s.Subscribe(t.Context(), t, runStream)
		defer resp.Body.Close()
		go func() {
			for range 100 {
				time.Sleep(100 * time.Millisecond)
				p.add("abc ")
				for range 10 {
					apitest.Append(t, s.Store, "run-other", run.TaskUpdated{})
				}
			}
			time.Sleep(2 * time.Second)
			apitest.Append(t, s.Store, "run-r", run.Finished{FinalStatus: run.StatusCompleted})
		}()
		shown := 0
		for _, f := range untilEnd(t, frames) {
			for _, a := range f.Artifacts {
				if a.Kind == "agent_conversation" && a.Status == "streaming" {
					shown = max(shown, strings.Count(a.ContentText, "abc"))
				}
			}
		}
		// Twice a second, and three times for a picture.
		if n := p.asked.Load(); shown != 100 || n > 150 {
			t.Errorf("%d of 100 pieces were shown, %d questions", shown, n)
		}
	})
}
