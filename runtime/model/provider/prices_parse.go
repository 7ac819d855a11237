package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"regexp"
	"strings"
)

const (
	pricesVariable = "HECATE_MODEL_PRICES"
	pricesBytesMax = 4 << 20
	// picoPerTokenMax is the highest price that is believed: 1 USD per token.
	picoPerTokenMax = 1_000_000_000_000
	// picoPerUSDPerMillion turns USD per million tokens into pico-USD per token.
	picoPerUSDPerMillion = 1_000_000
)

// ParsePrices reads HECATE_MODEL_PRICES from environment entries of the form
// NAME=value: the path of a JSON file, or the JSON itself if it begins with a brace.
//
//	{"openai/gpt-4o-mini": {"input": "0.15", "output": "0.60", "cache_read": "0.075"},
//	 "ollama/*":           {"input": 0, "output": 0}}
//
// Keys are provider/model, provider/* and */model, in the order in which they
// apply. Prices are USD per million tokens; cache_read and cache_write are those
// of input unless given. All problems come back in one error.
func ParsePrices(environ []string) (Prices, error) {
	value := newEnvironment(environ).values[pricesVariable]
	if value == "" {
		return Prices{}, nil
	}
	text, source := []byte(value), pricesVariable
	if !strings.HasPrefix(value, "{") {
		var err error
		if text, err = readPrices(value); err != nil {
			return Prices{}, fmt.Errorf("read prices: %s: %w", pricesVariable, err)
		}
		source = value
	}
	prices, err := parsePrices(text)
	if err != nil {
		return Prices{}, fmt.Errorf("read prices from %s: %w", source, err)
	}
	return prices, nil
}

func readPrices(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, pricesBytesMax+1))
	if err == nil && len(text) > pricesBytesMax {
		err = fmt.Errorf("%s is larger than %d MiB", path, pricesBytesMax>>20)
	}
	return text, err
}

// parsePrices reads key by key, because a key that is there twice is a mistake
// that a map would hide.
func parsePrices(text []byte) (Prices, error) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return Prices{}, errors.New(`the prices must be one JSON object like {"provider/model": {"input": "0.15", "output": "0.60"}}`)
	}
	p := Prices{table: map[string]price{}}
	var problems []error
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return Prices{}, fmt.Errorf("the JSON is broken: %w", err)
		}
		name, _ := t.(string) // a key is always one
		var e priceEntry
		if err := d.Decode(&e); err != nil {
			return Prices{}, fmt.Errorf("%q: use an object with input, output and perhaps cache_read and cache_write: %w", name, err)
		}
		if err := p.add(name, e); err != nil {
			problems = append(problems, fmt.Errorf("%q: %w", name, err))
		}
	}
	if _, err := d.Token(); err != nil {
		return Prices{}, fmt.Errorf("the JSON is broken: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Prices{}, errors.New("something follows the JSON object, remove it")
	}
	if err := errors.Join(problems...); err != nil {
		return Prices{}, err
	}
	return p, nil
}

// priceEntry is one entry of the list, still as it was written.
type priceEntry struct {
	Input      json.RawMessage `json:"input"`
	Output     json.RawMessage `json:"output"`
	CacheRead  json.RawMessage `json:"cache_read"`
	CacheWrite json.RawMessage `json:"cache_write"`
}

func (p Prices) add(name string, e priceEntry) error {
	k, ok := priceKey(name)
	if !ok {
		return errors.New("write the key as provider/model, provider/* or */model")
	}
	if _, twice := p.table[k]; twice {
		return errors.New("there are two prices for it, remove one")
	}
	var out price
	var problems []error
	read := func(field string, raw json.RawMessage, to *int64, unset int64) {
		if len(raw) == 0 && unset >= 0 {
			*to = unset
			return
		}
		pico, err := picoPerToken(raw)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", field, err))
		}
		*to = pico
	}
	read("input", e.Input, &out.input, -1)
	read("output", e.Output, &out.output, -1)
	read("cache_read", e.CacheRead, &out.cacheRead, out.input)
	read("cache_write", e.CacheWrite, &out.cacheWrite, out.input)
	p.table[k] = out
	return errors.Join(problems...)
}

var decimalForm = regexp.MustCompile(`^[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?$`)

// picoPerToken reads USD per million tokens from a JSON string or number, exactly.
func picoPerToken(raw json.RawMessage) (int64, error) {
	text := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, err
		}
	}
	switch {
	case len(raw) == 0 || text == "null" || text == "":
		return 0, errors.New(`the price is missing, write it in USD per million tokens ("0" if it is free)`)
	case !decimalForm.MatchString(text):
		return 0, fmt.Errorf(`%.40q is no price, write a decimal number of USD per million tokens like "0.15"`, text)
	}
	amount, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, fmt.Errorf("%.40q is no decimal number", text)
	}
	amount.Mul(amount, big.NewRat(picoPerUSDPerMillion, 1))
	switch {
	case !amount.IsInt():
		return 0, fmt.Errorf("%.40q is finer than a pico-USD per token, use six decimals at most", text)
	case amount.Num().CmpAbs(big.NewInt(picoPerTokenMax)) > 0:
		return 0, fmt.Errorf("%.40q is more than 1 USD per token, prices are in USD per million tokens", text)
	}
	return amount.Num().Int64(), nil
}
