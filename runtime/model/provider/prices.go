package provider

import (
	"math"
	"math/bits"
	"strings"

	"hecate/runtime/model"
)

// Prices says what tokens cost. The zero value knows no price.
type Prices struct {
	table map[string]price // by provider/model, provider/* and */model
}

// price is pico-USD per token.
type price struct {
	input, output, cacheRead, cacheWrite int64
}

// find looks for the most specific price: of the model at this provider, of all
// models of the provider, of the model wherever it runs.
func (p Prices) find(r model.Route) (price, bool) {
	name := key(r.Provider)
	for _, k := range []string{name + "/" + r.Model, name + "/*", "*/" + r.Model} {
		if found, ok := p.table[k]; ok {
			return found, true
		}
	}
	return price{}, false
}

// Cost returns what a call cost in pico-USD, and whether that is known. A cost
// that the provider reports wins. Otherwise there must be a price and both
// counters of the usage; a call without any usage costs an unknown amount. Usage.Input holds cached tokens in both dialects (Messages counts them
// beside the input, and they are added on reading), so what was read from the
// cache and written to it is taken out of the input and priced by itself.
// Amounts past int64 stay at its maximum.
func (p Prices) Cost(r model.Route, u model.Usage) (pico int64, known bool) {
	switch {
	case u.CostPicoUSD != nil:
		return *u.CostPicoUSD, true
	case u.Partial:
		return 0, false
	}
	found, ok := p.find(r)
	if !ok {
		return 0, false
	}
	fresh := max(0, u.Input-u.CacheRead-u.CacheWrite)
	return sum(
		times(fresh, found.input), times(u.CacheRead, found.cacheRead), times(u.CacheWrite, found.cacheWrite),
		times(u.Output, found.output),
	), true
}

// Estimate returns what a call of that size would cost in pico-USD without any
// cache, and whether there is a price. Amounts past int64 stay at its maximum.
func (p Prices) Estimate(r model.Route, inputTokens, outputTokens int64) (pico int64, known bool) {
	found, ok := p.find(r)
	if !ok {
		return 0, false
	}
	return sum(times(inputTokens, found.input), times(outputTokens, found.output)), true
}

// times multiplies; negative counts are none.
func times(tokens, pico int64) int64 {
	if tokens <= 0 || pico <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(tokens), uint64(pico))
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}

func sum(parts ...int64) int64 {
	var total int64
	for _, n := range parts {
		if total > math.MaxInt64-n {
			return math.MaxInt64
		}
		total += n
	}
	return total
}

// priceKey splits a key of the price list and brings the provider's name into
// the form in which names are compared. The model may contain slashes.
func priceKey(text string) (string, bool) {
	name, of, ok := strings.Cut(text, "/")
	if !ok || of == "" || (name == "*" && of == "*") {
		return "", false
	}
	if name != "*" && !nameForm.MatchString(key(name)) {
		return "", false
	}
	return key(name) + "/" + of, true
}
