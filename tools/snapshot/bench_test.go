package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hecate/tools/snapshot"
)

func repository(b *testing.B, files int) string {
	root := b.TempDir()
	for i := range files {
		p := filepath.Join(root, fmt.Sprintf("d%d/e%d/f%d.go", i%20, i%400, i))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(p, fmt.Appendf(nil, "package f%d\n// some text for %d\n", i, i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte("*.log\nnode_modules/\n/dist\nbuild*/out\n**/tmp\n!keep.log\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	return root
}

func BenchmarkTakeFirst(b *testing.B) {
	root := repository(b, 10_000)
	for b.Loop() {
		s, err := snapshot.Open(filepath.Join(b.TempDir(), "store"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Take(b.Context(), root, snapshot.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// The aim is at most 100 ms.
func BenchmarkTakeAgain(b *testing.B) {
	root := repository(b, 10_000)
	s, err := snapshot.Open(filepath.Join(b.TempDir(), "store"))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for range 2 { // the second one reads what may have changed in the tick of the first
		if _, err := s.Take(b.Context(), root, snapshot.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		n++
		if err := os.WriteFile(filepath.Join(root, "d1/e1/f1.go"), fmt.Appendf(nil, "package f // %d\n", n), 0o644); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Take(b.Context(), root, snapshot.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLandMany(b *testing.B) {
	root := repository(b, 10_000)
	s, err := snapshot.Open(filepath.Join(b.TempDir(), "store"))
	if err != nil {
		b.Fatal(err)
	}
	result, err := s.Take(b.Context(), root, snapshot.Options{})
	if err != nil {
		b.Fatal(err)
	}
	base, err := s.Take(b.Context(), b.TempDir(), snapshot.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if l, err := s.Land(b.Context(), snapshot.Plan{Target: b.TempDir(), Base: base, Result: result}); err != nil || !l.Applied {
			b.Fatal(err)
		}
	}
}
