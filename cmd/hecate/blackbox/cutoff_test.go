//go:build linux

package blackbox_test

import (
	"strings"
	"testing"
)

// A model call that was cut off by a cancel may have cost something: nobody knows.
func TestACancelledCallIsOnTheBill(t *testing.T) {
	t.Parallel()
	s := serve(t)
	r, c := s.agentRun(t, []reply{costing(asks(shell("c1", "true")), 1000), {Hang: true}})
	c.awaitRequests(t, 2)
	r.cancel(t)
	r.becomes(t, "cancelled")
	want{"unknown_cost_calls": 1, "cost_known": false}.check(t, "bill", s.get(t, api+"/usage/summary"))
	want{"cost_known": false}.check(t, "run", r.now(t))
}

// A run that is resumed right after a cancel is told what the command that the cancel
// ended had done, not that nobody knows.
func TestAResumeRightAfterACancelKnowsTheOutcome(t *testing.T) {
	t.Parallel()
	s := serve(t)
	r, c := s.agentRun(t, []reply{asks(shell("c1", "echo begun; sleep 60")), says("done")})
	eventually(t, "the command runs", func() bool { return len(ofType(r.events(t), "tool.shell.output_chunk")) > 0 })
	r.cancel(t)
	again := run{s, r.task, s.post(t, r.path()+"/resume", args{}).str("id")}
	again.becomes(t, "completed")
	if got := strings.Join(c.request(t, 1).answered(t, "c1"), "\n"); !strings.Contains(got, "begun") || strings.Contains(got, "outcome unknown") {
		t.Errorf("the model is told: %s", got)
	}
}
