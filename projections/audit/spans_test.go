package audit

import (
	"math/rand/v2"
	"testing"
)

// Pieces of time have no hole and no overlap, also before 1970.
func TestFloor(t *testing.T) {
	for micros, want := range map[int64]int64{0: 0, 1: 0, minute - 1: 0, minute: 1, -1: -1, -minute: -1, -minute - 1: -2} {
		if got := floor(micros, minute); got != want {
			t.Errorf("%d lies in %d, want %d", micros, got, want)
		}
	}
}

// A time of any length is covered by few stretches, each slot in it once and none
// beside it.
func TestCover(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		from := random.Int64N(200_000) - 100_000
		to := from + random.Int64N(1<<random.IntN(16))
		parts := cover(from, to)
		if len(parts) > coverMax {
			t.Fatalf("%d … %d needs %d stretches", from, to, len(parts))
		}
		var minutes int64
		for _, p := range parts {
			length := int64(1)
			for range p.level {
				length *= longer
			}
			if p.from > p.to {
				t.Fatalf("%d … %d has an empty stretch: %+v", from, to, p)
			}
			if p.from*length < from || (p.to+1)*length-1 > to {
				t.Fatalf("%d … %d reaches out: %+v", from, to, p)
			}
			minutes += (p.to - p.from + 1) * length
		}
		if minutes != to-from+1 { // none reaches out, so that an overlap would leave a hole
			t.Fatalf("%d … %d: %d slots are covered by %+v", from, to, minutes, parts)
		}
	}
	if parts := cover(-noBound, noBound); len(parts) > coverMax {
		t.Errorf("all of time needs %+v", parts)
	}
}
