package provider_test

import (
	"strings"
	"testing"
	"time"

	"hecate/runtime/model"
	"hecate/runtime/model/provider"
)

func TestRetry(t *testing.T) {
	r := provider.Retry{Attempts: 4, Backoff: 200 * time.Millisecond, WaitMax: 500 * time.Millisecond}
	failed := func(change func(*model.Error)) *model.Error {
		e := &model.Error{Kind: model.UpstreamError, Status: 500, Retryable: true}
		if change != nil {
			change(e)
		}
		return e
	}
	asks := func(wait time.Duration) *model.Error {
		return failed(func(e *model.Error) { e.Kind, e.Status, e.RetryAfter = model.RateLimited, 429, wait })
	}
	cases := map[string]struct {
		attempt int
		err     *model.Error
		wait    time.Duration
		again   bool
	}{
		"first":                      {1, failed(nil), 200 * time.Millisecond, true},
		"the wait doubles":           {2, failed(nil), 400 * time.Millisecond, true},
		"up to its bound":            {3, failed(nil), 500 * time.Millisecond, true},
		"the last one":               {4, failed(nil), 0, false},
		"past the last one":          {9, failed(nil), 0, false},
		"no use":                     {1, failed(func(e *model.Error) { e.Retryable = false }), 0, false},
		"some of the answer was":     {1, failed(func(e *model.Error) { e.Begun = true }), 0, false},
		"the provider asks for less": {2, asks(time.Millisecond), 400 * time.Millisecond, true},
		"the provider asks for more": {1, asks(450 * time.Millisecond), 450 * time.Millisecond, true},
		"as much as is borne":        {1, asks(500 * time.Millisecond), 500 * time.Millisecond, true},
		"more than is borne":         {1, asks(501 * time.Millisecond), 0, false},
		"hours":                      {1, asks(20 * time.Hour), 0, false},
	}
	for name, c := range cases {
		if wait, again := r.After(c.attempt, c.err); wait != c.wait || again != c.again {
			t.Errorf("%s: %s %v, want %s %v", name, wait, again, c.wait, c.again)
		}
	}
	patient := provider.Retry{Attempts: 1 << 30, Backoff: time.Second, WaitMax: time.Hour}
	if wait, again := patient.After(1<<29, failed(nil)); wait != time.Hour || !again {
		t.Errorf("got %s %v", wait, again)
	}
	if wait, again := (provider.Retry{Attempts: 2}).After(1, failed(nil)); wait != 0 || !again {
		t.Errorf("without a backoff: %s %v", wait, again)
	}
}

func TestParseSettings(t *testing.T) {
	r, err := provider.ParseRetry(nil)
	if err != nil || r != (provider.Retry{Attempts: 2, Backoff: 200 * time.Millisecond, WaitMax: time.Minute}) {
		t.Errorf("got %+v, %v", r, err)
	}
	r, err = provider.ParseRetry([]string{
		"HECATE_PROVIDER_MAX_ATTEMPTS= 5 ", "HECATE_PROVIDER_RETRY_BACKOFF=1s", "HECATE_PROVIDER_RETRY_WAIT_MAX=0",
	})
	if err != nil || r != (provider.Retry{Attempts: 5, Backoff: time.Second}) {
		t.Errorf("got %+v, %v", r, err)
	}
	o, err := provider.ParseOptions([]string{"HECATE_PROVIDER_FAILOVER_ENABLED="})
	if err != nil || o != (provider.Options{Health: provider.Health{Threshold: 3, Cooldown: 30 * time.Second}, HistoryLimit: 100}) {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = provider.ParseOptions([]string{
		"HECATE_PROVIDER_FAILOVER_ENABLED=false", "HECATE_PROVIDER_HEALTH_FAILURE_THRESHOLD=1", "HECATE_PROVIDER_HEALTH_COOLDOWN=1m",
		"HECATE_PROVIDER_HEALTH_LATENCY_DEGRADED_THRESHOLD=20s", "HECATE_PROVIDER_HISTORY_LIMIT=7", "HECATE_PROVIDER_ANTHROPIC_CACHE_ENABLED=0",
	})
	if err != nil || o != (provider.Options{
		NoFailover: true, DisableAnthropicCache: true, HistoryLimit: 7,
		Health: provider.Health{Threshold: 1, Cooldown: time.Minute, SlowAfter: 20 * time.Second},
	}) {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestParseSettingsRefuses(t *testing.T) {
	_, retry := provider.ParseRetry([]string{
		"HECATE_PROVIDER_MAX_ATTEMPTS=0", "HECATE_PROVIDER_RETRY_BACKOFF=200", "HECATE_PROVIDER_RETRY_WAIT_MAX=2h",
	})
	_, options := provider.ParseOptions([]string{
		"HECATE_PROVIDER_FAILOVER_ENABLED=perhaps", "HECATE_PROVIDER_HEALTH_FAILURE_THRESHOLD=many", "HECATE_PROVIDER_HEALTH_COOLDOWN=0s",
		"HECATE_PROVIDER_HEALTH_LATENCY_DEGRADED_THRESHOLD=-1s", "HECATE_PROVIDER_HISTORY_LIMIT=1.5", "HECATE_PROVIDER_ANTHROPIC_CACHE_ENABLED=2",
	})
	if retry == nil || options == nil {
		t.Fatalf("accepted: %v, %v", retry, options)
	}
	text := retry.Error() + options.Error()
	for _, want := range []string{
		`HECATE_PROVIDER_MAX_ATTEMPTS: "0" must be a whole number, 1 or more`,
		`HECATE_PROVIDER_RETRY_BACKOFF: "200" is not a duration, write it like 200ms, 30s or 5m`,
		`HECATE_PROVIDER_RETRY_WAIT_MAX: 2h0m0s is more than 1h0m0s`,
		`HECATE_PROVIDER_FAILOVER_ENABLED: "perhaps" is not a boolean, use true or false`,
		`HECATE_PROVIDER_HEALTH_FAILURE_THRESHOLD: "many" must be a whole number`,
		`HECATE_PROVIDER_HEALTH_COOLDOWN: "0s" must be more than 0`,
		`HECATE_PROVIDER_HEALTH_LATENCY_DEGRADED_THRESHOLD: "-1s" is negative`,
		`HECATE_PROVIDER_HISTORY_LIMIT: "1.5"`,
		`HECATE_PROVIDER_ANTHROPIC_CACHE_ENABLED: "2"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not said: %s\n%s", want, text)
		}
	}
}
