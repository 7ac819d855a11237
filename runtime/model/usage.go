package model

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// picoPerUSD is how many pico-USD make one USD.
const picoPerUSD = 1_000_000_000_000

// counters collects a provider's usage fields. Readings are running totals, so
// the last value of each field counts and nothing is added up.
type counters map[string]json.RawMessage

// merge takes over the fields of a usage object; null and anything that is no object says nothing.
func (c *counters) merge(raw json.RawMessage) {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return
	}
	for name, value := range fields {
		if string(value) == "null" {
			continue
		}
		if *c == nil {
			*c = counters{}
		}
		(*c)[name] = value
	}
}

// openAI returns the usage in the OpenAI field names, nil if nothing usable was said.
func (c counters) openAI() *Usage {
	u := &Usage{CostPicoUSD: c.cost()}
	var in, out bool
	u.Input, in = c.count("prompt_tokens")
	u.Output, out = c.count("completion_tokens")
	if !in && !out && u.CostPicoUSD == nil {
		return nil
	}
	u.Partial = in != out
	if total, ok := c.count("total_tokens"); ok && u.Partial && total >= u.Input+u.Output {
		u.Partial = false
		if in {
			u.Output = total - u.Input
		} else {
			u.Input = total - u.Output
		}
	}
	var details counters
	details.merge(c["prompt_tokens_details"])
	var found bool
	if u.CacheRead, found = details.count("cached_tokens"); !found {
		u.CacheRead, _ = c.count("prompt_cache_hit_tokens")
	}
	u.CacheWrite, _ = details.count("cache_write_tokens")
	u.Raw = c.raw()
	return u
}

// anthropic returns the usage in the Anthropic field names, where cached tokens
// are counted beside the input and not within it.
func (c counters) anthropic() *Usage {
	u := &Usage{CostPicoUSD: c.cost()}
	fresh, in := c.count("input_tokens")
	var out bool
	u.Output, out = c.count("output_tokens")
	if !in && !out && u.CostPicoUSD == nil {
		return nil
	}
	u.Partial = in != out
	u.CacheRead, _ = c.count("cache_read_input_tokens")
	u.CacheWrite, _ = c.count("cache_creation_input_tokens")
	u.Input = fresh + u.CacheRead + u.CacheWrite
	u.Raw = c.raw()
	return u
}

func (c counters) raw() json.RawMessage {
	raw, err := json.Marshal(map[string]json.RawMessage(c))
	if err != nil { // the parts came out of a JSON parser
		return nil
	}
	return raw
}

// tokensMax bounds one counter, so that sums of them cannot overflow.
const tokensMax = 1 << 48

// count returns a counter and whether it is a number that makes sense.
func (c counters) count(name string) (int64, bool) {
	text := string(c[name])
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil || f != f || f > tokensMax {
			return 0, false
		}
		n = int64(f)
	}
	if n < 0 || n > tokensMax {
		return 0, false
	}
	return n, true
}

// cost reads the provider's own price of the call, a decimal number of USD.
func (c counters) cost() *int64 {
	pico, ok := parseUSD(strings.Trim(string(c["cost"]), `"`))
	if !ok {
		return nil
	}
	return &pico
}

// parseUSD turns the decimal text of a USD amount into pico-USD, exactly; a
// fraction of a pico-USD is rounded up. It refuses negative and absurd amounts.
func parseUSD(text string) (int64, bool) {
	const textMax, exponentMax = 64, 30
	if text == "" || len(text) > textMax {
		return 0, false
	}
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil || n > exponentMax || n < -exponentMax {
			return 0, false
		}
		mantissa, exponent = text[:i], n
	}
	if strings.Trim(mantissa, "0123456789.") != "" {
		return 0, false
	}
	amount, ok := new(big.Rat).SetString(mantissa + "e" + strconv.Itoa(exponent))
	if !ok {
		return 0, false
	}
	amount.Mul(amount, new(big.Rat).SetInt64(picoPerUSD))
	whole, rest := new(big.Int).QuoRem(amount.Num(), amount.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	if !whole.IsInt64() {
		return 0, false
	}
	return whole.Int64(), true
}
