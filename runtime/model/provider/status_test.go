package provider_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hecate/domain/clock"
	"hecate/runtime/model/provider"
)

// checks puts the checks of a provider on one line.
func checks(s provider.Status) string {
	var parts []string
	for _, c := range s.ReadinessChecks {
		parts = append(parts, c.Name+"="+c.Status+"/"+c.Reason)
	}
	return s.Status + " " + s.Readiness.Status + "/" + s.Readiness.Reason + " blocked=" + s.RoutingBlockedReason + " | " + strings.Join(parts, " ")
}

func TestStatus(t *testing.T) {
	cases := map[string]struct {
		config   provider.Config
		discover bool
		steps    string // outcomes of calls
		want     string
	}{
		"configured, nothing asked": {
			provider.Config{Name: "x", BaseURL: "http://h", APIKey: "k", Models: []string{"m"}},
			false, "",
			"unknown ok/ready blocked= | credentials=ok/ready models=ok/default_model_only health=unknown/unknown routing=ok/routable",
		},
		"without a key": {
			provider.Config{Name: "x", BaseURL: "http://h", Models: []string{"m"}},
			true, "",
			"unknown blocked/credential_missing blocked=credential_missing | credentials=blocked/credential_missing models=ok/default_model_only health=unknown/unknown routing=blocked/credential_missing",
		},
		"local, not asked": {
			provider.Config{Name: "x", Kind: "local", BaseURL: "http://h"},
			false, "",
			"unknown warning/no_models blocked=no_models | credentials=ok/not_required models=unknown/unknown health=unknown/unknown routing=warning/no_models",
		},
		"local, found": {
			provider.Config{Name: "x", Kind: "local", BaseURL: lists(t, "m")},
			true, "",
			"healthy ok/ready blocked= | credentials=ok/not_required models=ok/models_discovered health=ok/healthy routing=ok/routable",
		},
		"local, down": {
			provider.Config{Name: "x", Kind: "local", BaseURL: gone(t)},
			true, "",
			"unknown blocked/discovery_failed blocked=no_models | credentials=ok/not_required models=blocked/discovery_failed health=unknown/unknown routing=warning/no_models",
		},
		"answered": {
			provider.Config{Name: "x", BaseURL: "http://h", APIKey: "k", Models: []string{"m"}},
			false, "answers",
			"healthy ok/ready blocked= | credentials=ok/ready models=ok/default_model_only health=ok/healthy routing=ok/routable",
		},
		"failed once": {
			provider.Config{Name: "x", BaseURL: "http://h", APIKey: "k", Models: []string{"m"}},
			false, "fails",
			"degraded warning/provider_unhealthy blocked= | credentials=ok/ready models=ok/default_model_only health=warning/provider_unhealthy routing=ok/routable",
		},
		"failed often": {
			provider.Config{Name: "x", BaseURL: "http://h", APIKey: "k", Models: []string{"m"}},
			false, "fails fails fails",
			"open blocked/circuit_open blocked=circuit_open | credentials=ok/ready models=ok/default_model_only health=blocked/circuit_open routing=blocked/circuit_open",
		},
		"limited": {
			provider.Config{Name: "x", BaseURL: "http://h", APIKey: "k", Models: []string{"m"}},
			false, "wants-7s",
			"open blocked/provider_rate_limited blocked=provider_rate_limited | credentials=ok/ready models=ok/default_model_only health=blocked/provider_rate_limited routing=blocked/provider_rate_limited",
		},
		"cool-down over": {
			provider.Config{Name: "x", BaseURL: "http://h", APIKey: "k", Models: []string{"m"}},
			false, "wants-7s wait",
			"half_open warning/provider_unhealthy blocked= | credentials=ok/ready models=ok/default_model_only health=warning/provider_unhealthy routing=ok/routable",
		},
		"slow": {
			provider.Config{Name: "x", BaseURL: "http://h", APIKey: "k", Models: []string{"m"}},
			false, "crawls",
			"degraded warning/provider_slow blocked= | credentials=ok/ready models=ok/default_model_only health=warning/provider_slow routing=ok/routable",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now := &clock.Fixed{T: noon}
			s, err := provider.New([]provider.Config{c.config}, provider.Options{Clock: now, Health: provider.Health{SlowAfter: time.Minute}})
			if err != nil {
				t.Fatal(err)
			}
			if c.discover {
				s.Discover(t.Context(), true)
			}
			for step := range strings.FieldsSeq(c.steps) {
				if step == "wait" {
					now.T = now.T.Add(7 * time.Second)
					continue
				}
				r, err := s.Route("x", "m")
				if err != nil {
					t.Fatal(err)
				}
				took := time.Second
				if step == "crawls" {
					step, took = "answers", time.Hour
				}
				s.Report(r, took, outcomes[step])
			}
			if diff := cmp.Diff(c.want, checks(s.Status()[0])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The JSON is that of the wire: every field of a provider that failed.
func TestStatusJSON(t *testing.T) {
	s := newStory(t, provider.Options{})
	s.play("a answers 20ms\na hangs\na fails\na wants-7s")
	text, err := json.Marshal(s.set.Status()[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"a","kind":"cloud","base_url":"http://h","credential_state":"configured","credential_ready":true,` +
		`"healthy":false,"status":"open","routing_ready":false,"auto_route_ready":false,"routing_blocked_reason":"provider_rate_limited",` +
		`"default_model":"m","models":["m"],"model_count":1,"discovery_source":"config","last_checked_at":"2030-01-02T12:00:00Z",` +
		`"last_error":"upstream error (429/rate_limited): slow down","last_error_class":"rate_limited","open_until":"2030-01-02T12:00:07Z",` +
		`"last_latency_ms":20,"consecutive_failures":3,"total_successes":1,"total_failures":3,"timeouts":1,"server_errors":1,"rate_limits":1,` +
		`"readiness":{"status":"blocked","reason":"provider_rate_limited","message":"It asked for fewer requests and is left alone until open_until.","operator_action":"Wait, or raise the limit of the account."},` +
		`"readiness_checks":[{"name":"credentials","status":"ok","reason":"ready","message":"An API key is configured."},` +
		`{"name":"models","status":"ok","reason":"default_model_only","message":"1 configured; the provider is not asked."},` +
		`{"name":"health","status":"blocked","reason":"provider_rate_limited","message":"It asked for fewer requests and is left alone until open_until.","operator_action":"Wait, or raise the limit of the account."},` +
		`{"name":"routing","status":"blocked","reason":"provider_rate_limited","message":"It asked for fewer requests and is left alone until open_until.","operator_action":"Wait, or raise the limit of the account."}]}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
