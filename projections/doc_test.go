package projections_test

import (
	"testing"

	"hecate/projections"
)

func TestMicroUSDRoundsUp(t *testing.T) {
	for pico, want := range map[int64]int64{0: 0, 1: 1, 999_999: 1, 1_000_000: 1, 1_000_001: 2, 12_000_000: 12, 9_223_372_036_854_775_807: 9_223_372_036_855} {
		if got := projections.MicroUSD(pico); got != want {
			t.Errorf("MicroUSD(%d) = %d, want %d", pico, got, want)
		}
	}
}
