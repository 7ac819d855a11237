package main

import (
	"fmt"
	"strconv"
	"strings"
)

// dollars is an amount of money on the command line, kept in micro-USD.
type dollars int64

const microPerDollar = 1_000_000

// UnmarshalText reads 0.50 or $0.50: exactly, without a detour through floating point.
func (d *dollars) UnmarshalText(text []byte) error {
	s := strings.TrimPrefix(string(text), "$")
	whole, part, _ := strings.Cut(s, ".")
	if whole == "" {
		whole = "0"
	}
	digits := part + strings.Repeat("0", max(6-len(part), 0))
	units, err1 := strconv.ParseUint(whole, 10, 31)
	micros, err2 := strconv.ParseUint(digits, 10, 31)
	if s == "" || s == "." || err1 != nil || err2 != nil || len(digits) > 6 || units*microPerDollar+micros == 0 {
		return fmt.Errorf("%q is no amount in US dollars above zero, such as 0.50", text)
	}
	*d = dollars(units*microPerDollar + micros)
	return nil
}
