package worker_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/runtime/model"
	"hecate/runtime/model/provider"
	"hecate/runtime/model/scripted"
	"hecate/runtime/worker"
)

// providers are real providers over HTTP, in the order in which they are tried.
type providers struct {
	*node
	set     *provider.Set
	servers []*scripted.Server
	retry   provider.Retry
	prices  provider.Prices
}

// newProviders makes one provider, a, b, c …, for each script.
func newProviders(t *testing.T, scripts ...scripted.Script) *providers {
	t.Helper()
	p := &providers{node: newNode(t), retry: provider.Retry{Attempts: 2, Backoff: time.Millisecond, WaitMax: time.Minute}}
	var configs []provider.Config
	for i, script := range scripts {
		server := scripted.New(script)
		server.Rule = p.strict
		base, stop, err := server.Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		p.servers = append(p.servers, server)
		configs = append(configs, provider.Config{Name: string(rune('a' + i)), Kind: provider.KindLocal, BaseURL: base, Models: []string{scripted.ModelName}})
	}
	set, err := provider.New(configs, provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.set = set
	return p
}

// priced gives models their prices, in the form of HECATE_MODEL_PRICES.
func (p *providers) priced(prices map[string]map[string]string) {
	p.t.Helper()
	raw, err := json.Marshal(prices)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.prices, err = provider.ParsePrices([]string{"HECATE_MODEL_PRICES=" + string(raw)}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *providers) settings(c *worker.Config) {
	c.Router, c.Retry, c.Prices = p.set, p.retry.After, p.prices
}

// execute runs a new task to its end.
func (p *providers) execute(d task.Definition, changes ...func(*worker.Config)) (id string, s *run.State) {
	p.t.Helper()
	d.Prompt = event("go")
	r := p.start(d)
	stop := p.run(p.executor, append([]func(*worker.Config){p.settings}, changes...)...)
	defer stop()
	return r.RunID, p.end(r.RunID)
}

func replies(r ...scripted.Reply) scripted.Script { return scripted.Script{Replies: r} }

// A provider that asks for a wait is asked again, by this call, not before it is over.
func TestARateLimitIsWaitedOut(t *testing.T) {
	t.Parallel()
	p := newProviders(t, replies(scripted.Reply{HTTP: 429, Headers: map[string]string{"Retry-After": "0.3"}}, text("done")))
	id, s := p.execute(task.Definition{})
	asked := p.servers[0].Requests()
	if s.Status != run.StatusCompleted || len(asked) != 2 {
		t.Fatalf("the run is %s after %d requests: %s", s.Status, len(asked), p.types(id))
	}
	if early := 300*time.Millisecond - asked[1].Time.Sub(asked[0].Time); early > 0 {
		t.Errorf("asked %s too early", early)
	}
	r := payloads[run.ModelCallRetrying](p.node, id)
	if len(r) != 1 || r[0].Attempt != 1 || r[0].Provider != "a" || r[0].NextProvider != "a" || r[0].Kind != string(model.RateLimited) || r[0].WaitMS != 300 || r[0].ModelCallIndex != 1 {
		t.Errorf("retries %+v", r)
	}
	if s.CallsStarted != 1 || s.CallsDone != 1 {
		t.Errorf("%d calls begun, %d done", s.CallsStarted, s.CallsDone)
	}
}

// A call that fails at one provider goes to the next. The account names the provider
// that answered, with its price.
func TestACallGoesToTheNextProvider(t *testing.T) {
	t.Parallel()
	broken := scripted.Reply{HTTP: 500, Body: json.RawMessage(`{"error":{"message":"broken"}}`)}
	p := newProviders(t, replies(broken, broken, broken, broken), replies(scripted.Reply{Text: "done", Usage: &[2]int64{100, 10}}))
	p.priced(map[string]map[string]string{"a/*": {"input": "1000", "output": "1000"}, "b/*": {"input": "1", "output": "2"}})
	id, s := p.execute(task.Definition{})
	if s.Status != run.StatusCompleted || p.servers[0].Count() != 2 || p.servers[1].Count() != 1 {
		t.Fatalf("the run is %s after %d and %d requests", s.Status, p.servers[0].Count(), p.servers[1].Count())
	}
	r := payloads[run.ModelCallRetrying](p.node, id)
	if len(r) != 2 || r[0].NextProvider != "a" || r[1].Provider != "a" || r[1].NextProvider != "b" || r[1].Attempt != 2 || r[1].WaitMS != 0 || !strings.Contains(r[1].Message, "broken") {
		t.Errorf("retries %+v", r)
	}
	done := payloads[run.ModelCallCompleted](p.node, id)
	if len(done) != 1 || done[0].Route.Provider != "b" || done[0].CostPicoUSD != 120_000_000 || !done[0].CostKnown || done[0].Usage.Input != 100 || s.SpentPicoUSD != 120_000_000 || s.Route.Provider != "b" {
		t.Errorf("the account is %+v", done)
	}
	if h := p.set.History("a", 10); len(h) == 0 {
		t.Error("nobody was told of the failures")
	}
}

// Where a provider asks for a long wait and there is another, nobody waits.
func TestNobodyWaitsWhileThereIsAnother(t *testing.T) {
	t.Parallel()
	p := newProviders(t, replies(scripted.Reply{HTTP: 429, Headers: map[string]string{"Retry-After": "30"}}), replies(text("done")))
	id, s := p.execute(task.Definition{})
	if r := payloads[run.ModelCallRetrying](p.node, id); s.Status != run.StatusCompleted || len(r) != 1 || r[0].NextProvider != "b" || r[0].WaitMS != 0 {
		t.Errorf("the run is %s: %+v", s.Status, r)
	}
}

// Once some of an answer has come the call is not made again, here or elsewhere.
func TestAnAnswerThatHasBegunIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]scripted.Reply{
		"text":       {Text: "half an answer", CloseAfterText: true},
		"tool calls": {Stream: []byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\"}}]}}]}\n\n"), CloseAfterText: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProviders(t, replies(r), replies(text("never")))
			id, s := p.execute(task.Definition{})
			if s.Status != run.StatusFailed || p.servers[0].Count() != 1 || p.servers[1].Count() != 0 || len(payloads[run.ModelCallRetrying](p.node, id)) != 0 {
				t.Errorf("the run is %s after %d and %d requests: %s", s.Status, p.servers[0].Count(), p.servers[1].Count(), p.types(id))
			}
			f := payloads[run.ModelCallFailed](p.node, id)
			if len(f) != 1 || f[0].Kind != string(model.IncompleteStream) && f[0].Kind != string(model.Unreachable) || s.CostKnown {
				t.Errorf("the call failed with %+v; its cost is known: %t", f, s.CostKnown)
			}
		})
	}
}

// When no provider can be asked, the run ends at once with a word that does not change.
func TestWhenAllProvidersAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply scripted.Reply
		code  string
	}{
		"rate limited": {scripted.Reply{HTTP: 429, Headers: map[string]string{"Retry-After": "120"}}, "provider_rate_limited"},
		"down":         {scripted.Reply{HTTP: 500}, "provider_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			again := scripted.Script{Func: func(int, scripted.Request) scripted.Reply { return c.reply }}
			p := newProviders(t, again, again)
			p.retry.Attempts = 3
			id, s := p.execute(task.Definition{})
			if f := payloads[run.ModelCallFailed](p.node, id); s.Status != run.StatusFailed || len(f) != 1 || !f[0].Retryable {
				t.Fatalf("the first run is %s: %+v", s.Status, f)
			}
			before := p.servers[0].Count() + p.servers[1].Count()
			id, s = p.execute(task.Definition{})
			why := payloads[run.Failed](p.node, id)
			if s.Status != run.StatusFailed || why[0].Reason != c.code || p.servers[0].Count()+p.servers[1].Count() != before || len(payloads[run.ModelCallStarted](p.node, id)) != 0 {
				t.Errorf("the second run is %s: %+v; %s", s.Status, why, p.types(id))
			}
		})
	}
}

// What cannot be cured elsewhere is not tried elsewhere.
func TestABadRequestIsNotSentAround(t *testing.T) {
	t.Parallel()
	p := newProviders(t, replies(scripted.Reply{HTTP: 400}), replies(text("never")))
	if _, s := p.execute(task.Definition{}); s.Status != run.StatusFailed || p.servers[1].Count() != 0 {
		t.Errorf("the run is %s after %d requests elsewhere", s.Status, p.servers[1].Count())
	}
}

// A call that waits for its next attempt is given up at once: when its run is
// cancelled, and when the server stops, which hands the run back.
func TestAWaitIsCutShort(t *testing.T) {
	t.Parallel()
	wait := replies(scripted.Reply{HTTP: 429, Headers: map[string]string{"Retry-After": "50"}}, text("done"))
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		p := newProviders(t, wait)
		r := p.start(task.Definition{Prompt: event("go")})
		defer p.run(p.executor, p.settings, func(c *worker.Config) { c.Workers = 1 })()
		has(p.node, r.RunID, func(run.ModelCallRetrying) bool { return true })
		p.cancel(r)
		other := p.start(task.Definition{ExecutionKind: run.KindShell, ShellCommand: event("true")})
		p.end(other.RunID) // the one worker is free again
		if s := p.state(r.RunID); s.Status != run.StatusCancelled || p.servers[0].Count() != 1 {
			t.Errorf("the run is %s after %d requests", s.Status, p.servers[0].Count())
		}
	})
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		p := newProviders(t, wait)
		r := p.start(task.Definition{Prompt: event("go")})
		stop := p.run(p.executor, p.settings, func(c *worker.Config) { c.DrainMax = time.Hour })
		has(p.node, r.RunID, func(run.ModelCallRetrying) bool { return true })
		stop()
		if s := p.state(r.RunID); s.Status != run.StatusQueued || s.InFlight != nil || p.servers[0].Count() != 1 {
			t.Fatalf("the run is %s after %d requests: %s", s.Status, p.servers[0].Count(), p.types(r.RunID))
		}
		// Another process asks anew: it knows nothing of the limit.
		p.route.Client = clientOf(p.set.List()[0].BaseURL)
		defer p.run(p.executor)()
		if s := p.end(r.RunID); s.Status != run.StatusCompleted || s.CallsStarted != 2 || s.CallsDone != 1 {
			t.Errorf("then it is %s after %d calls: %s", s.Status, s.CallsStarted, p.types(r.RunID))
		}
	})
}

// The worker vanishes between two attempts: the call is begun again, under its index.
func TestACrashBetweenTwoAttempts(t *testing.T) {
	t.Parallel()
	p := newProviders(t, replies(scripted.Reply{HTTP: 500}, text("done")))
	r := p.start(task.Definition{Prompt: event("go")})
	d := newDying(p.store, appends[run.ModelCallRetrying]())
	stop := p.run(p.on(d), p.settings)
	await(t, "the crash", d.dead)
	stop()
	defer p.run(p.executor, p.settings)()
	s := p.end(r.RunID)
	started := payloads[run.ModelCallStarted](p.node, r.RunID)
	if s.Status != run.StatusCompleted || len(started) != 2 || started[1].ModelCallIndex != 1 || len(payloads[run.ModelCallAbandoned](p.node, r.RunID)) != 1 || p.servers[0].Count() != 2 {
		t.Errorf("the run is %s: %s", s.Status, p.types(r.RunID))
	}
}
