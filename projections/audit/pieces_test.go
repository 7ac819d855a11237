package audit

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Places come out of a piece as they went in.
func TestPieces(t *testing.T) {
	for _, places := range [][]int64{{7}, {1, 2, 3}, {5, 500, 50_000, 5_000_000, 1 << 60}} {
		got, err := unpack(nil, places[0], pack(places))
		if err != nil || !slices.Equal(got, places) {
			t.Errorf("%v became %v, %v", places, got, err)
		}
	}
}

// Entries come out of a row as they went in, also where records are missing or have
// times that go back.
func TestEntries(t *testing.T) {
	want := []entry{
		{position: 64, at: 1_800_000_000_000_000, codes: []int64{1}},
		{position: 65, at: 1_700_000_000_000_000, cause: 64, task: 7, run: 1 << 40, codes: []int64{3, 1 << 40, 7}},
		{position: 95, at: -5, cause: 100, run: 9, codes: []int64{9}},
	}
	var got []entry
	err := eachEntry(2, packEntries(2, want), func(e *entry) {
		own := *e
		own.codes = slices.Clone(e.codes)
		got = append(got, own)
	})
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// A damaged row is an error and nothing worse.
func FuzzRows(f *testing.F) {
	f.Add(packEntries(0, []entry{{position: 1, at: 1, task: 2, codes: []int64{2, 3}}}))
	f.Add(pack([]int64{1, 200, 3000}))
	f.Add([]byte{1, 1, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = unpack(nil, 1, data)
		n := 0
		if err := eachEntry(0, data, func(e *entry) { n += 1 + len(e.codes) }); err == nil && n > len(data) {
			t.Errorf("%d things in %d bytes", n, len(data))
		}
	})
}
