//go:build linux

package blackbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

func failure(status int, header ...string) reply {
	body, _ := json.Marshal(args{"error": args{"type": "server_error", "message": fmt.Sprint("failure ", status)}}) // maps of strings always encode
	r := reply{HTTP: status, Body: body, Headers: map[string]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		r.Headers[header[i]] = header[i+1]
	}
	return r
}

// anyone lets the server choose the provider of a task.
var anyone = args{"requested_provider": "", "requested_model": "shared-model"}

// A call that fails at one provider is made at the next one that has the model; who
// answered is in the run, and what happened in the log and in the provider's history.
func TestFailover(t *testing.T) {
	t.Parallel()
	s := serve(t, append(append(provider("alpha", "shared-model"), provider("beta", "shared-model")...), "HECATE_BACKEND=memory")...)
	r, c := s.agentRun(t, []reply{failure(500), costing(asks(call("c1", "list_dir", args{"path": "."})), 7), says("done")}, anyone)
	want{"provider": "beta", "model": "shared-model", "model_call_count": 2}.check(t, "run", r.becomes(t, "completed"))
	equal(t, "requests", c.count(), 3)
	want{
		"model_call_index": 1, "attempt": 1, "provider": "alpha", "model": "shared-model", "kind": present, "message": present, "next_provider": "beta", "next_model": "shared-model", "wait_ms": 0,
	}.check(t, "retrying", only(t, r, "model.call.retrying"))
	equal(t, "calls", len(ofType(r.events(t), "model.call.started")), 2)
	equal(t, "bill", shape(s.list(t, api+"/usage/events"), "provider"), "beta beta")
	status := map[string]doc{}
	for _, p := range s.list(t, api+"/providers/status") {
		status[p.str("name")] = p
	}
	want{"status": "degraded", "consecutive_failures": 1, "total_failures": 1, "last_error": present, "routing_ready": true}.check(t, "alpha", status["alpha"])
	want{"status": "healthy", "total_successes": 2}.check(t, "beta", status["beta"])
	history := s.list(t, api+"/providers/history?provider=alpha")
	failedOver := false
	for _, e := range history {
		failedOver = failedOver || e.str("peer_provider") == "beta"
	}
	if !failedOver {
		t.Errorf("the history does not tell of the failover: %s", history)
	}

	named, c := s.agentRun(t, []reply{failure(500), says("never")}, args{"requested_provider": "alpha", "requested_model": "shared-model"})
	contains(t, "reason", named.becomes(t, "failed").str("last_error"), "model call 1 failed", "failure 500")
	equal(t, "requests for a task that names its provider", c.count(), 1)
}

// What another provider would answer in the same way, and an answer that had begun, is
// not asked for elsewhere.
func TestNoFailover(t *testing.T) {
	t.Parallel()
	s := serve(t, append(append(provider("alpha", "shared-model"), provider("beta", "shared-model")...), "HECATE_BACKEND=memory")...)
	for name, bad := range map[string]reply{
		"refused":   refusal("bad shape"),
		"begun":     {Text: "It was", CloseAfterText: true},
		"cut short": {Stream: []byte(chunk(`{"role":"assistant","content":"half"}`, ""))},
	} {
		r, c := s.agentRun(t, []reply{bad, says("never")}, anyone)
		r.becomes(t, "failed")
		equal(t, "requests: "+name, c.count(), 1)
	}
	off := serve(t, append(append(provider("alpha", "shared-model"), provider("beta", "shared-model")...), "HECATE_BACKEND=memory", "HECATE_PROVIDER_FAILOVER_ENABLED=false")...)
	r, c := off.agentRun(t, []reply{failure(500), says("never")}, anyone)
	r.becomes(t, "failed")
	equal(t, "requests without failover", c.count(), 1)
}

// The wait that a provider asks for is kept; one that is too long ends the call at once.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	env := []string{"HECATE_BACKEND=memory", "HECATE_PROVIDER_MAX_ATTEMPTS=3", "HECATE_PROVIDER_RETRY_BACKOFF=1ms", "HECATE_PROVIDER_RETRY_WAIT_MAX=20s"}
	for _, name := range []string{"seconds", "date", "stern"} { // one each: a rate limit shuts a provider for everybody
		env = append(env, provider(name, modelName)...)
	}
	s := serve(t, env...)
	for name, header := range map[string]func() (string, time.Duration){
		"seconds": func() (string, time.Duration) { return "1", time.Second },
		"date": func() (string, time.Duration) {
			return time.Now().Add(8 * time.Second).UTC().Format(http.TimeFormat), 4 * time.Second
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.model.script()
			var asked []time.Time
			var least time.Duration
			c.each = func(n int) reply {
				asked = append(asked, time.Now())
				if n == 0 {
					value, wait := header()
					least = wait
					return failure(429, "Retry-After", value)
				}
				return says("done")
			}
			r := s.begin(t, agent(c, args{"requested_provider": name}))
			r.becomes(t, "completed")
			if got := asked[1].Sub(asked[0]); got < least {
				t.Errorf("asked again after %v, want %v at least", got, least)
			}
			retrying := only(t, r, "model.call.retrying")
			if retrying.num("wait_ms") < least.Milliseconds() {
				t.Errorf("wait of %s", retrying)
			}
		})
	}
	t.Run("too long", func(t *testing.T) {
		t.Parallel()
		stern := args{"requested_provider": "stern", "requested_model": modelName}
		r, c := s.agentRun(t, []reply{failure(429, "Retry-After", "7200")}, stern)
		contains(t, "reason", r.becomes(t, "failed").str("last_error"), "429")
		equal(t, "requests", c.count(), 1)
		// The window is closed: the next task fails at once, without a request.
		next, c := s.agentRun(t, []reply{says("never")}, stern)
		contains(t, "reason", next.becomes(t, "failed").str("last_error"), "no provider can be asked before", "rate limited")
		equal(t, "requests", c.count(), 0)
	})
	t.Run("past and nonsense", func(t *testing.T) {
		t.Parallel()
		r, c := s.agentRun(t, []reply{failure(503, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"), failure(503, "Retry-After", "soon"), says("done")})
		r.becomes(t, "completed")
		equal(t, "requests", c.count(), 3)
	})
}

// A provider that fails again and again is left alone for a while, then tried by one.
func TestProviderHealth(t *testing.T) {
	t.Parallel()
	s := serve(t, "HECATE_BACKEND=memory", "HECATE_PROVIDER_HEALTH_FAILURE_THRESHOLD=2", "HECATE_PROVIDER_HEALTH_COOLDOWN=10s")
	status := func() doc { return part(t, s.list(t, api+"/providers/status"), 0, 1)[0] }
	for range 2 {
		r, _ := s.agentRun(t, []reply{failure(500)})
		r.becomes(t, "failed")
	}
	want{"status": "open", "routing_ready": false, "open_until": present, "consecutive_failures": 2, "routing_blocked_reason": present}.check(t, "open", status())
	r, c := s.agentRun(t, []reply{says("never")})
	contains(t, "reason", r.becomes(t, "failed").str("last_error"), "no provider can be asked before", "fake")
	equal(t, "requests", c.count(), 0)
	eventually(t, "the cool-down is over", func() bool { return status().str("status") == "half_open" })
	r, _ = s.agentRun(t, []reply{says("done")})
	r.becomes(t, "completed")
	want{"status": "healthy", "routing_ready": true, "open_until": absent, "consecutive_failures": absent}.check(t, "recovered", status())
	equal(t, "history", shape(s.list(t, api+"/providers/history?limit=50"), "event"), "cooldown_recovered cooldown_opened failure failure")
}
