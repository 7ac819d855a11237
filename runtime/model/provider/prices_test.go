package provider_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/runtime/model"
	"hecate/runtime/model/provider"
	"hecate/runtime/model/scripted"
)

func prices(t *testing.T, text string) provider.Prices {
	t.Helper()
	p, err := provider.ParsePrices([]string{"HECATE_MODEL_PRICES=" + text})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCost(t *testing.T) {
	p := prices(t, `{
		"openai/gpt":        {"input": "0.15", "output": 0.60, "cache_read": "0.075"},
		"open_router/*":     {"input": "1", "output": "2"},
		"*/meta/llama":      {"input": "3", "output": "4"},
		"open-router/exact": {"input": 1e-6, "output": "0"},
		"dear/x":            {"input": "1000000", "output": "1000000"},
		"ant/claude":        {"input": "3", "output": "15", "cache_read": "0.30", "cache_write": "3.75"}
	}`)
	reported, huge := int64(42), int64(1)<<48
	cases := map[string]struct {
		provider, model string
		usage           model.Usage
		pico            int64
		known           bool
	}{
		"in and out":              {"openai", "gpt", model.Usage{Input: 1000, Output: 3}, 1000*150_000 + 3*600_000, true},
		"cached at its own price": {"openai", "gpt", model.Usage{Input: 1000, CacheRead: 800, CacheWrite: 100}, 100*150_000 + 800*75_000 + 100*150_000, true},
		"written to the cache":    {"ant", "claude", model.Usage{Input: 4527, Output: 47, CacheRead: 4000, CacheWrite: 500}, 27*3_000_000 + 4000*300_000 + 500*3_750_000 + 47*15_000_000, true},
		"more cached than input":  {"openai", "gpt", model.Usage{Input: 10, CacheRead: 20}, 20 * 75_000, true},
		"any model of a provider": {"open-router", "meta/llama", model.Usage{Input: 1, Output: 1}, 3_000_000, true},
		"a model anywhere":        {"other", "meta/llama", model.Usage{Input: 1, Output: 1}, 7_000_000, true},
		"the exact one first":     {"open_router", "exact", model.Usage{Input: 5, Output: 5}, 5, true},
		"no price":                {"openai", "other", model.Usage{Input: 1, Output: 1}, 0, false},
		"the provider says it":    {"openai", "gpt", model.Usage{Input: 1000, CostPicoUSD: &reported}, 42, true},
		"said without a price":    {"x", "y", model.Usage{CostPicoUSD: &reported}, 42, true},
		"half of the usage":       {"openai", "gpt", model.Usage{Input: 1000, Partial: true}, 0, false},
		"no usage worth a cent":   {"openai", "gpt", model.Usage{}, 0, true},
		"more than money":         {"dear", "x", model.Usage{Input: huge, Output: huge}, math.MaxInt64, true},
	}
	for name, c := range cases {
		pico, known := p.Cost(model.Route{Provider: c.provider, Model: c.model}, c.usage)
		if pico != c.pico || known != c.known {
			t.Errorf("%s: %d %v, want %d %v", name, pico, known, c.pico, c.known)
		}
	}
	if _, known := (provider.Prices{}).Cost(model.Route{Provider: "a", Model: "b"}, model.Usage{Input: 1}); known {
		t.Error("an empty list knows a price")
	}
}

func TestEstimate(t *testing.T) {
	p := prices(t, `{"a/m": {"input": "1", "output": "10", "cache_read": "0.1"}}`)
	r := model.Route{Provider: "a", Model: "m"}
	for _, c := range []struct{ in, out, pico int64 }{{1000, 3, 1_030_000_000}, {0, 0, 0}, {-5, 1, 10_000_000}, {math.MaxInt64, math.MaxInt64, math.MaxInt64}} {
		if pico, known := p.Estimate(r, c.in, c.out); pico != c.pico || !known {
			t.Errorf("%+v: %d %v", c, pico, known)
		}
	}
	if _, known := p.Estimate(model.Route{Provider: "a", Model: "n"}, 1, 1); known {
		t.Error("a price for another model is used")
	}
}

// The last running total of a recorded stream is what is paid for: 1000 tokens
// in at 1 micro-USD and 3 out at 10. Without a price the cost is not known.
func TestRunningUsageIsPaidOnce(t *testing.T) {
	stream, err := os.ReadFile("../testdata/streams/fc-ps-11.sse")
	if err != nil {
		t.Fatal(err)
	}
	url, stop, err := scripted.Replies(scripted.Reply{Stream: stream}).Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	set, err := provider.New([]provider.Config{{Name: "x", Kind: "local", BaseURL: url}}, provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := set.Route("", "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Client.Call(t.Context(), model.Call{Model: r.Model, Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	p := prices(t, `{"x/*": {"input": "1", "output": "10"}}`)
	if pico, known := p.Cost(r, *got.Usage); pico != 1_030_000_000 || !known {
		t.Errorf("got %d pico-USD, %v; want 1030 micro-USD", pico, known)
	}
	if pico, known := (provider.Prices{}).Cost(r, *got.Usage); pico != 0 || known {
		t.Errorf("without a price: %d %v", pico, known)
	}
}

func TestPricesFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(file, []byte("\xef\xbb\xbf"+`{"a/m": {"input": "1", "output": "2"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, known := prices(t, file).Estimate(model.Route{Provider: "A", Model: "m"}, 1, 1); !known {
		t.Error("the file's price is not known")
	}
	if _, known := prices(t, "").Estimate(model.Route{Provider: "a", Model: "m"}, 1, 1); known {
		t.Error("no list knows a price")
	}
	_, err := provider.ParsePrices([]string{"HECATE_MODEL_PRICES=" + file + ".missing"})
	if err == nil || !strings.Contains(err.Error(), "HECATE_MODEL_PRICES") || !strings.Contains(err.Error(), "prices.json.missing") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(file, []byte(`{"a/m": {"input": "1"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = provider.ParsePrices([]string{"HECATE_MODEL_PRICES=" + file})
	if err == nil || !strings.Contains(err.Error(), file+`: "a/m": output: the price is missing`) {
		t.Errorf("got %v", err)
	}
}

func TestPricesRefuse(t *testing.T) {
	one := func(key, price string) string { return `{"` + key + `": {"input": ` + price + `, "output": "1"}}` }
	cases := map[string]string{
		one("a/m", `"0.1234567"`):  `"a/m": input: "0.1234567" is finer than a pico-USD per token`,
		one("a/m", "1e-7"):         "is finer than",
		one("a/m", `"-1"`):         "is no price",
		one("a/m", "-1"):           "is no price",
		one("a/m", `"1,5"`):        "is no price",
		one("a/m", `"0x10"`):       "is no price",
		one("a/m", `"1e999"`):      "is no price",
		one("a/m", `"NaN"`):        "is no price",
		one("a/m", `""`):           "the price is missing",
		one("a/m", "null"):         "the price is missing",
		one("a/m", "true"):         "is no price",
		one("a/m", `"1000000.01"`): "more than 1 USD per token",
		one("a/m", "1e60"):         "more than 1 USD per token",
		one("model", "1"):          `"model": write the key as provider/model, provider/* or */model`,
		one("*/*", "1"):            "write the key as",
		one("/m", "1"):             "write the key as",
		one("a/", "1"):             "write the key as",
		one("a b/m", "1"):          "write the key as",
		`{"a/m": {"input": 1, "output": 1}, "A/m": {"input": 2, "output": 2}}`: `"A/m": there are two prices for it`,
		`{"a-b/m": {"input": 1, "output": 1}, "a_b/m": null}`:                  "there are two prices for it",
		`{"a/m": {"input": 1, "output": 1, "cached": 1}}`:                      `"a/m": use an object with input, output`,
		`{"a/m": 1}`:    `"a/m": use an object with input, output`,
		`{"a/m": {`:     "use an object",
		`{"a/m"`:        "use an object",
		`{,}`:           "the JSON is broken",
		`{} {}`:         "something follows",
		`{"a/m": {}}`:   "input: the price is missing",
		`{"a/m": null}`: "output: the price is missing",
	}
	for text, want := range cases {
		_, err := provider.ParsePrices([]string{"HECATE_MODEL_PRICES=" + text})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "HECATE_MODEL_PRICES") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A list that is accepted is JSON, and each of its keys finds a price within bounds.
func FuzzPrices(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a/m":{"input":"0.15","output":0.6}}`, `{"a/*":{"input":1e-6,"output":"1E3","cache_read":0,"cache_write":"0.000001"}}`,
		`{"*/x/y":{"input":"00.10","output":"1e5"}}`, `{"a/m":{"input":"1e-6","output":"3"},"a/m":{"input":1,"output":2}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := provider.ParsePrices([]string{"HECATE_MODEL_PRICES={" + strings.TrimPrefix(text, "{")})
		if err != nil {
			return
		}
		var list map[string]map[string]json.RawMessage
		if err := json.Unmarshal([]byte("{"+strings.TrimPrefix(text, "{")), &list); err != nil {
			t.Fatalf("accepted what is no JSON: %v", err)
		}
		for key := range list {
			name, of, _ := strings.Cut(key, "/")
			pico, known := p.Estimate(model.Route{Provider: name, Model: of}, 1, 1)
			if !known || pico < 0 || pico > 2_000_000_000_000 {
				t.Errorf("%q: %d %v", key, pico, known)
			}
		}
	})
}
