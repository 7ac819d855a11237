package model

import (
	"encoding/json"
	"testing"
	"time"
)

func TestParseUSD(t *testing.T) {
	cases := map[string]int64{
		"0": 0, "0.0006": 600_000_000, "1": 1_000_000_000_000, "12.5e-3": 12_500_000_000, "1E2": 100_000_000_000_000,
		"0.1": 100_000_000_000, "0.000000000001": 1, "0.0000000000001": 1, "1e-30": 1,
		"0.29": 290_000_000_000, // 0.29 has no exact binary form
		"":     -1, "-1": -1, "x": -1, "1e31": -1, "1e999999999": -1, "NaN": -1, "Inf": -1, "0x10": -1, "1/3": -1, "1_0": -1, "9223372.1": -1, "1.2.3": -1,
	}
	for text, want := range cases {
		got, ok := parseUSD(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	read := func(dialect func(counters) *Usage, objects ...string) *Usage {
		var c counters
		for _, o := range objects {
			c.merge(json.RawMessage(o))
		}
		return dialect(c)
	}
	cases := map[string]struct {
		got  *Usage
		want *Usage
		cost int64
	}{
		"unknown is not zero": {read(counters.openAI, "null", "{}", `{"prompt_tokens":null}`, `"x"`), nil, 0},
		"last value wins": {
			read(counters.openAI, `{"prompt_tokens":1,"completion_tokens":1}`, `{"completion_tokens":7,"prompt_tokens":null}`),
			&Usage{Input: 1, Output: 7}, 0,
		},
		"cached tokens": {
			read(counters.openAI, `{"prompt_tokens":100,"completion_tokens":2.0,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":3}}`),
			&Usage{Input: 100, Output: 2, CacheRead: 64, CacheWrite: 3}, 0,
		},
		"cache hits in another field": {read(counters.openAI, `{"prompt_tokens":9,"completion_tokens":0,"prompt_cache_hit_tokens":4}`), &Usage{Input: 9, CacheRead: 4}, 0},
		"cost alone":                  {read(counters.openAI, `{"cost":0.0006}`), &Usage{}, 600_000_000},
		"cost as text":                {read(counters.openAI, `{"cost":"0.0006"}`), &Usage{}, 600_000_000},
		"half of it":                  {read(counters.openAI, `{"prompt_tokens":9}`), &Usage{Input: 9, Partial: true}, 0},
		"the other half from a total": {read(counters.openAI, `{"prompt_tokens":9,"total_tokens":12}`), &Usage{Input: 9, Output: 3}, 0},
		"one half from a total":       {read(counters.openAI, `{"completion_tokens":9,"total_tokens":12}`), &Usage{Input: 3, Output: 9}, 0},
		"a total that makes no sense": {read(counters.openAI, `{"prompt_tokens":9,"total_tokens":8}`), &Usage{Input: 9, Partial: true}, 0},
		"half of anthropic":           {read(counters.anthropic, `{"output_tokens":9}`), &Usage{Output: 9, Partial: true}, 0},
		"nonsense":                    {read(counters.openAI, `{"prompt_tokens":-5,"completion_tokens":1e300}`), nil, 0},
		"anthropic": {
			read(counters.anthropic, `{"input_tokens":27,"output_tokens":1,"cache_read_input_tokens":4000,"cache_creation_input_tokens":500}`, `{"output_tokens":47}`),
			&Usage{Input: 4527, Output: 47, CacheRead: 4000, CacheWrite: 500}, 0,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.got == nil || c.want == nil {
				if c.got != c.want {
					t.Fatalf("got %+v, want %+v", c.got, c.want)
				}
				return
			}
			var cost int64
			if c.got.CostPicoUSD != nil {
				cost = *c.got.CostPicoUSD
			}
			got := Usage{Partial: c.got.Partial, Input: c.got.Input, Output: c.got.Output, CacheRead: c.got.CacheRead, CacheWrite: c.got.CacheWrite}
			if got.Partial != c.want.Partial || got.Input != c.want.Input || got.Output != c.want.Output || got.CacheRead != c.want.CacheRead || got.CacheWrite != c.want.CacheWrite || cost != c.cost {
				t.Errorf("got %+v with cost %d, want %+v with cost %d", got, cost, c.want, c.cost)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	cases := map[string]time.Duration{
		"7": 7 * time.Second, " 7 ": 7 * time.Second, "0.5": 500 * time.Millisecond, "0": 0, "-3": 0, "": 0, "soon": 0, "NaN": 0,
		"1e300": RetryAfterMax, "36000": 10 * time.Hour,
		"Wed, 02 Jan 2030 12:00:09 GMT": 9 * time.Second,
		"Wed, 02 Jan 2030 11:59:00 GMT": 0,
		"Thu, 10 Jan 2030 12:00:00 GMT": RetryAfterMax,
	}
	for value, want := range cases {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}
