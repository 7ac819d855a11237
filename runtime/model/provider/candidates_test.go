package provider_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hecate/domain/clock"
	"hecate/runtime/model"
	"hecate/runtime/model/provider"
	"hecate/runtime/model/scripted"
)

func TestCandidates(t *testing.T) {
	lister := lists(t, "listed", "both")
	a := provider.Config{Name: "a", BaseURL: "http://h", APIKey: "k", Models: []string{"a1", "both"}}
	b := provider.Config{Name: "b", BaseURL: "http://h", APIKey: "k", Models: []string{"b1", "both"}}
	keyless := provider.Config{Name: "c", BaseURL: "http://h", Models: []string{"both"}}
	listing := provider.Config{Name: "listing", Kind: "local", BaseURL: lister}
	down := provider.Config{Name: "down", Kind: "local", BaseURL: gone(t)}
	all := []provider.Config{listing, down, b, keyless, a}
	cases := map[string]struct {
		configs         []provider.Config
		provider, model string
		want            string
	}{
		"defaults of all":                {all, "", "", "a/a1 provider_default_model, b/b1 provider_default_model, listing/listed provider_default_model"},
		"a model of several":             {all, "", "both", "a/both requested_model, b/both requested_model"},
		"a model that is only found":     {all, "", "listed", "listing/listed requested_model"},
		"a model that nobody lists":      {all, "", "new", "down/new requested_model"},
		"a provider and a model":         {all, "B", "both", "b/both pinned_provider"},
		"a provider with an unknown one": {all, "listing", "new", "listing/new pinned_provider"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, single := range []bool{false, true} {
				s, err := provider.New(c.configs, provider.Options{NoFailover: single})
				if err != nil {
					t.Fatal(err)
				}
				routes, err := s.Candidates(t.Context(), c.provider, c.model)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, r := range routes {
					got = append(got, r.Provider+"/"+r.Model+" "+r.Reason)
				}
				want := c.want
				if single {
					want, _, _ = strings.Cut(want, ",")
				}
				if strings.Join(got, ", ") != want {
					t.Errorf("failover %v: got %v, want %s", !single, got, want)
				}
			}
		})
	}
}

// What other providers were found to list comes after who is configured with the model.
func TestFoundModelsComeLast(t *testing.T) {
	s, err := provider.New([]provider.Config{
		{Name: "a", BaseURL: lists(t, "m"), APIKey: "k"},
		{Name: "b", BaseURL: "http://h", APIKey: "k", Models: []string{"m"}},
	}, provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Discover(t.Context(), true)
	routes, err := s.Candidates(t.Context(), "", "m")
	if err != nil || len(routes) != 2 || routes[0].Provider != "b" {
		t.Errorf("got %+v, %v", routes, err)
	}
}

// A provider that does not list its models is asked more and more seldom, and
// not at all during its cool-down.
func TestDiscoveryBacksOff(t *testing.T) {
	server := scripted.Replies()
	url, stop, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop() // nobody answers there
	now := &clock.Fixed{T: noon}
	s, err := provider.New([]provider.Config{{Name: "x", Kind: "local", BaseURL: url}}, provider.Options{Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for range 1300 {
		s.Discover(t.Context(), false)
		if s.List()[0].CheckedAt.Equal(now.T) {
			asked = append(asked, now.T.Sub(noon).String())
		}
		now.T = now.T.Add(time.Second)
	}
	if got, want := strings.Join(asked, " "), "0s 15s 45s 1m45s 3m45s 7m45s 12m45s 17m45s"; got != want {
		t.Errorf("asked at %s, want %s", got, want)
	}
	r, err := s.Route("x", "m")
	if err != nil {
		t.Fatal(err)
	}
	s.Report(r, 0, outcomes["wants-20h"])
	now.T = now.T.Add(9 * time.Minute)
	if s.Discover(t.Context(), false); s.List()[0].CheckedAt.Equal(now.T) {
		t.Error("it is asked during its cool-down")
	}
	if s.Discover(t.Context(), true); !s.List()[0].CheckedAt.Equal(now.T) {
		t.Error("it is not asked although that was forced")
	}
}

// Over real connections: the first provider is limited, the second is cut before
// it begins and answers at the second try.
func TestCallGoesToTheNextProvider(t *testing.T) {
	servers := map[string]*scripted.Server{
		"a": scripted.Replies(scripted.Reply{HTTP: 429, Headers: map[string]string{"Retry-After": "7"}}),
		"b": scripted.Replies(scripted.Reply{Close: true}, scripted.Reply{Text: "Hello"}),
	}
	var configs []provider.Config
	for name, server := range servers {
		url, stop, err := server.Start("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		configs = append(configs, provider.Config{Name: name, BaseURL: url, APIKey: "k", Models: []string{"m"}})
	}
	now := &clock.Fixed{T: noon}
	s, err := provider.New(configs, provider.Options{Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	retry := provider.Retry{Attempts: 2, Backoff: 200 * time.Millisecond, WaitMax: 5 * time.Second}
	routes, err := s.Candidates(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	var answer string
	for i := 0; i < len(routes) && answer == ""; i++ {
		var failed *model.Error
		for attempt, again := 1, true; again; attempt++ {
			resp, err := routes[i].Client.Call(t.Context(), model.Call{Model: "m", Stream: true})
			s.Report(routes[i], time.Millisecond, err)
			if err == nil {
				answer = routes[i].Provider + ": " + resp.Message.Content.String()
				break
			}
			if !errors.As(err, &failed) {
				t.Fatal(err)
			}
			_, again = retry.After(attempt, failed)
		}
		if answer == "" && failed.Elsewhere() && i+1 < len(routes) {
			s.Failover(routes[i], routes[i+1], failed)
		}
	}
	if answer != "b: Hello" || servers["a"].Count() != 1 || servers["b"].Count() != 2 {
		t.Errorf("got %q after %d and %d requests", answer, servers["a"].Count(), servers["b"].Count())
	}
	var events []string
	for _, row := range s.History("", 0) {
		events = append(events, row.Provider+" "+row.Event)
	}
	if got, want := strings.Join(events, ", "), "b success, b failure, b failover_selected, a failover_triggered, a cooldown_opened, a failure"; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
}
