package console

import (
	"bytes"
	"testing"
)

// The same sources give the same bytes, so that nodes behind one address agree.
func TestBundleIsReproducible(t *testing.T) {
	first, err := build()
	if err != nil {
		t.Fatal(err)
	}
	second, err := build()
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != len(second) {
		t.Errorf("%d files, then %d", len(first), len(second))
	}
	for name, f := range first {
		if !bytes.Equal(f.content, second[name].content) {
			t.Errorf("%s differs", name)
		}
	}
}

func BenchmarkBundle(b *testing.B) {
	for b.Loop() {
		if _, err := build(); err != nil {
			b.Fatal(err)
		}
	}
}
