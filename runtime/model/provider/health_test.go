package provider_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/clock"
	"hecate/domain/fault"
	"hecate/runtime/model"
	"hecate/runtime/model/provider"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// story plays what happens to the cloud providers a and b, each with the model
// m, and to the local one called home, with the models h and m.
type story struct {
	t      *testing.T
	set    *provider.Set
	clock  *clock.Fixed
	routes map[string]model.Route
}

func newStory(t *testing.T, o provider.Options) *story {
	t.Helper()
	now := &clock.Fixed{T: noon}
	o.Clock = now
	set, err := provider.New([]provider.Config{
		{Name: "a", BaseURL: "http://h", APIKey: "k", Models: []string{"m"}},
		{Name: "b", BaseURL: "http://h", APIKey: "k", Models: []string{"m"}},
		{Name: "home", Kind: "local", BaseURL: "http://h", Models: []string{"h", "m"}},
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t, set, now, map[string]model.Route{}}
	for _, name := range []string{"a", "b", "home"} {
		if s.routes[name], err = set.Route(name, "m"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// outcomes by the word that a story uses for them.
var outcomes = map[string]error{
	"answers":    nil,
	"fails":      &model.Error{Kind: model.UpstreamError, Status: 500, Message: "boom", Retryable: true},
	"hangs":      &model.Error{Kind: model.Canceled, Message: "late", Cause: context.DeadlineExceeded},
	"refuses":    &model.Error{Kind: model.InvalidRequest, Status: 400, Message: "bad tool"},
	"is-limited": &model.Error{Kind: model.RateLimited, Status: 429, Message: "slow down", Retryable: true},
	"wants-7s":   &model.Error{Kind: model.RateLimited, Status: 429, Message: "slow down", Retryable: true, RetryAfter: 7 * time.Second},
	"wants-20h":  &model.Error{Kind: model.RateLimited, Status: 429, Message: "slow down", Retryable: true, RetryAfter: 20 * time.Hour},
	"is-broke":   &model.Error{Kind: model.RateLimited, Status: 429, Message: "quota"},
	"is-left":    &model.Error{Kind: model.Canceled, Message: "gone", Cause: context.Canceled},
}

// play runs the steps of a story, a line each, and returns what they show:
//
//	a fails          a call of one millisecond ends so
//	a fails 40s      a call of that length ends so
//	wait 30s
//	who? [model]     the candidates, or the fault and how long it lasts
func (s *story) play(steps string) string {
	s.t.Helper()
	var shown []string
	for step := range strings.SplitSeq(strings.TrimSpace(steps), "\n") {
		words := strings.Fields(step)
		switch words[0] {
		case "wait":
			s.clock.T = s.clock.T.Add(duration(s.t, words[1]))
		case "who?":
			shown = append(shown, s.who(append(words, "")[1]))
		default:
			err, known := outcomes[words[1]]
			if !known {
				s.t.Fatalf("unknown outcome in %q", step)
			}
			took := time.Millisecond
			if len(words) > 2 {
				took = duration(s.t, words[2])
			}
			s.set.Report(s.routes[words[0]], took, err)
		}
	}
	return strings.Join(shown, " | ")
}

func (s *story) who(name string) string {
	routes, err := s.set.Candidates(s.t.Context(), "", name)
	var names []string
	for _, r := range routes {
		names = append(names, r.Provider)
	}
	if err != nil {
		f, _ := fault.Of(err)
		var no *model.RouteError
		if !errors.As(err, &no) || f == nil {
			s.t.Fatalf("got %v", err)
		}
		names = []string{f.Code, no.RetryAt.Sub(s.clock.T).String()}
	}
	return strings.Join(names, " ")
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestHealth(t *testing.T) {
	cases := map[string]struct{ steps, want string }{
		"who failed lately goes behind the others, for a while": {`
			who?
			a fails
			who?
			wait 30s
			who?`, "a b home | b home a | a b home"},
		"an answer makes it first again": {`
			a fails
			a answers
			who?`, "a b home"},
		"three failures in a row open the circuit, other failures don't": {`
			a fails
			a fails
			a answers
			a fails
			a refuses
			a fails
			a hangs
			who?
			a fails
			who?
			wait 29s
			who?`, "b home a | b home | b home"},
		"a caller who leaves says nothing about the provider": {`
			a is-left
			a is-left
			a is-left
			who?`, "a b home"},
		"a rate limit opens it at once, for the time that was asked for": {`
			a wants-7s
			who?
			wait 7s
			who?`, "b home | a b home"},
		"a rate limit without a time costs one cool-down": {`
			a is-limited
			wait 29s
			who?
			wait 1s
			who?`, "b home | a b home"},
		"an empty account is left alone as well": {`
			a is-broke
			who?`, "b home"},
		"a rate limit of hours is looked at again after ten minutes": {`
			a wants-20h
			wait 9m59s
			who?
			wait 1s
			who?`, "b home | a b home"},
		"after the cool-down one caller probes": {`
			a is-limited
			wait 30s
			who?
			who?
			a answers
			who?`, "a b home | b home | a b home"},
		"a probe that fails opens it again": {`
			a is-limited
			wait 30s
			who?
			a fails
			who?
			wait 30s
			who?
			who?`, "a b home | b home | a b home | b home"},
		"a request that is refused shows that the provider works": {`
			a is-limited
			wait 30s
			who?
			a refuses
			who?`, "a b home | a b home"},
		"a probe that nobody reports on is given out again": {`
			a is-limited
			wait 30s
			who?
			wait 29s
			who?
			wait 1s
			who?`, "a b home | b home | a b home"},
		"a probe whose caller left is free at once": {`
			a is-limited
			wait 30s
			who?
			a is-left
			who?`, "a b home | a b home"},
		"calls from before the circuit opened prove nothing": {`
			wait 1m
			a wants-7s
			wait 1s
			a answers 40s
			a fails 40s
			who?
			wait 5s
			who?
			wait 1s
			who?`, "b home | b home | a b home"},
		"a later rate limit can only lengthen the wait": {`
			wait 1m
			a wants-7s
			a is-limited 40s
			wait 29s
			who?
			wait 1s
			who?`, "b home | a b home"},
		"nobody is left": {`
			a wants-7s
			b wants-7s
			home fails
			home fails
			home fails
			who?
			who? h
			wait 7s
			who?`, "provider_unavailable 7s | provider_unavailable 30s | a b"},
		"everybody is rate limited": {`
			a wants-7s
			b is-limited
			home is-limited
			who?
			who? m`, "provider_rate_limited 7s | provider_rate_limited 7s"},
		"a probe is out at the only one": {`
			home is-limited
			wait 30s
			who? h
			who? h
			wait 29s
			who? h`, "home | provider_rate_limited 2s | provider_rate_limited 1s"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := newStory(t, provider.Options{}).play(c.steps); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestHealthSettings(t *testing.T) {
	o := provider.Options{Health: provider.Health{Threshold: 1, Cooldown: time.Minute, SlowAfter: 10 * time.Second}}
	got := newStory(t, o).play(`
		b answers 10s
		who?
		b answers 9s
		who?
		a fails
		wait 59s
		who?
		wait 1s
		who?`)
	if want := "a home b | a b home | b home | a b home"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	o = provider.Options{NoFailover: true}
	if got, want := newStory(t, o).play("a fails\nwho?\na is-limited\nwho?"), "a | provider_rate_limited 30s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Of many callers at once, one gets to probe.
func TestOneProbe(t *testing.T) {
	s := newStory(t, provider.Options{})
	s.play("a is-limited\nwait 30s")
	var probes atomic.Int64
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			routes, err := s.set.Candidates(t.Context(), "", "")
			if err != nil {
				t.Error(err)
			} else if routes[0].Provider == "a" {
				probes.Add(1)
			}
			s.set.Report(s.routes["b"], time.Millisecond, nil)
		})
	}
	callers.Wait()
	if probes.Load() != 1 || s.set.Status()[1].TotalSuccesses != 50 {
		t.Errorf("%d probes, %+v", probes.Load(), s.set.Status()[1])
	}
}

// A configuration that replaces another begins healthy, and calls of the old one don't count for it.
func TestReplacedProvider(t *testing.T) {
	s := newStory(t, provider.Options{})
	s.play("a is-limited")
	if err := s.set.Put(provider.Config{Name: "a", BaseURL: "http://h", APIKey: "better", Models: []string{"m"}}); err != nil {
		t.Fatal(err)
	}
	if got := s.play("a is-limited\nwho?"); got != "a b home" {
		t.Errorf("got %s", got)
	}
	s.set.Report(model.Route{Provider: "never"}, 0, outcomes["fails"])
}

func TestHistory(t *testing.T) {
	s := newStory(t, provider.Options{HistoryLimit: 8, Health: provider.Health{SlowAfter: time.Minute}})
	s.play(`
		a answers
		a fails
		b answers 2m
		a answers
		a wants-7s 3s
		wait 7s
		a answers`)
	s.set.Failover(s.routes["b"], s.routes["home"], outcomes["hangs"])
	var got []string
	for _, r := range s.set.History("", 0) {
		got = append(got, fmt.Sprint(r.Provider, " ", r.Event, " ", r.Status, " ", r.Available, " ", r.ErrorClass, " ", r.Reason, " ", r.PeerProvider, " ", r.LatencyMS, " ", r.TotalSuccesses, "/", r.TotalFailures, " ", r.Timestamp.Sub(noon)))
	}
	want := []string{
		"home failover_selected unknown true  timeout b 0 0/0 7s",
		"b failover_triggered degraded true timeout timeout home 0 1/0 7s",
		"a cooldown_recovered healthy true   " + " 1 3/2 7s",
		"a cooldown_opened open false   " + " 3000 2/2 0s",
		"a failure open false rate_limited  " + " 3000 2/2 0s",
		"a success healthy true   " + " 1 2/1 0s",
		"b slow_success degraded true   " + " 120000 1/0 0s",
		"a failure degraded true server_error  " + " 1 1/1 0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	row := s.set.History("A", 1)[0]
	if row.ProviderKind != "cloud" || row.Model != "m" || row.RouteReason != "pinned_provider" || row.RateLimits != 1 || row.ServerErrors != 1 {
		t.Errorf("got %+v", row)
	}
	for range 2000 {
		s.play("a fails")
	}
	all := s.set.History("", 1<<20)
	if len(all) != 1000 || all[0].TotalFailures != 2002 || !slices.IsSortedFunc(all, func(x, y provider.HistoryRow) int { return int(y.TotalFailures - x.TotalFailures) }) {
		t.Errorf("%d rows, the newest %+v", len(all), all[0])
	}
}
