package snapshot_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hecate/tools/snapshot"
)

// swapping exchanges two names in a directory, over and over, until the test's end.
func swapping(t *testing.T, a, b string) {
	t.Helper()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, move := range [][2]string{{a, a + ".aside"}, {b, a}, {a, b}, {a + ".aside", a}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	t.Cleanup(func() { close(stop); wg.Wait() })
}

// A directory or file that is exchanged for a link while a snapshot is taken brings
// nothing from outside into it.
func TestTakeWhileLinksAreSwappedIn(t *testing.T) {
	outside := dirOf(t, files{"x": "secret"})
	for _, name := range []string{"d", "d/x"} {
		s, root, aside := newStore(t), dirOf(t, files{"d/x": "1"}), t.TempDir()
		to := outside
		if name != "d" {
			to = filepath.Join(outside, "x")
		}
		put(t, filepath.Join(aside, "link"), "l:"+to)
		swapping(t, filepath.Join(root, name), filepath.Join(aside, "link"))
		empty := treeOf(t, s, nil)
		for range 100 {
			changes, err := s.Diff(t.Context(), empty, take(t, s, root))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				data, err := s.Read(t.Context(), c.NewBlob)
				if err != nil || strings.Contains(string(data), "secret") {
					t.Fatalf("%q has %q, %v", c.Path, data, err)
				}
			}
		}
	}
}

// Nothing is written outside while a directory is exchanged for a link.
func TestLandWhileLinksAreSwappedIn(t *testing.T) {
	outside := dirOf(t, files{"x": "secret"})
	s := newStore(t)
	root, aside := dirOf(t, files{"d/x": "1"}), t.TempDir()
	put(t, filepath.Join(aside, "link"), "l:"+outside)
	a, b := treeOf(t, s, files{"d/x": "1"}), treeOf(t, s, files{"d/x": "2", "d/y/z": "2"})
	swapping(t, filepath.Join(root, "d"), filepath.Join(aside, "link"))
	for range 50 {
		for _, p := range []snapshot.Plan{{Base: a, Result: b}, {Base: b, Result: a}} {
			p.Target = root
			_, _ = s.Land(t.Context(), p) // it may fail, in any way
		}
	}
	same(t, "outside", read(t, outside), files{"x": "secret"})
}
