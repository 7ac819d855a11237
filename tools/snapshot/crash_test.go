package snapshot_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hecate/tools/snapshot"
)

// crash is the panic with which a test ends a landing in the middle.
type crash struct{}

// landUntil lands until the nth point, and reports whether it came that far.
func landUntil(t *testing.T, s *snapshot.Store, p snapshot.Plan, n int) (crashed bool, at string) {
	t.Helper()
	s.Probe(func(point string) {
		if n--; n < 0 {
			at = point
			panic(crash{})
		}
	})
	defer s.Probe(nil)
	defer func() {
		if r := recover(); r != nil {
			if crashed = r == (crash{}); !crashed {
				panic(r)
			}
		}
	}()
	if _, err := s.Land(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return false, ""
}

// cutOff is a landing that can be cut off, again and again.
type cutOff struct {
	s             *snapshot.Store
	plan          snapshot.Plan
	before, after files
}

func newCutOff(t *testing.T) *cutOff {
	t.Helper()
	before := files{"a": "1", "b": "x:1", "gone": "1", "file": "1", "dir/x/y": "1", "l": "l:a", "stays": "s", "m": poem + "here\n", "old/only": "1"}
	base, after := maps.Clone(before), maps.Clone(before)
	base["m"] = poem
	result := maps.Clone(base)
	changed := files{"a": "2", "b": "2", "gone": "-", "file": "-", "file/in/it": "2", "dir/x/y": "-", "dir": "x:2", "l": "l:b", "new/dir/f": "2", "m": "0\n" + poem, "old/only": "-"}
	for p, c := range changed {
		if c == "-" {
			delete(result, p)
			delete(after, p)
		} else {
			result[p], after[p] = c, c
		}
	}
	after["m"] = "0\n" + poem + "here\n"
	s := newStore(t)
	return &cutOff{s, snapshot.Plan{Base: treeOf(t, s, base), Result: treeOf(t, s, result)}, before, after}
}

// fresh returns the plan with a target as before.
func (c *cutOff) fresh(t *testing.T) snapshot.Plan {
	t.Helper()
	p := c.plan
	p.Target = dirOf(t, c.before)
	return p
}

// Wherever a landing is cut off, the target is as before or finished with the next call.
func TestLandAfterACrash(t *testing.T) {
	c := newCutOff(t)
	s, before, after := c.s, c.before, c.after
	finished, points := false, map[string]bool{}
	for n := 0; ; n++ {
		p := c.fresh(t)
		crashed, at := landUntil(t, s, p, n)
		if !crashed {
			same(t, "without a crash", read(t, p.Target), after)
			if n < 20 || !finished {
				t.Errorf("%d points: %v", n, points)
			}
			return
		}
		points[at] = true
		if now := read(t, p.Target); at == "journal" || at == "stage" || at == "staged" {
			maps.DeleteFunc(now, func(p, _ string) bool { return strings.HasPrefix(p, ".hecate-landing-") })
			same(t, at, now, before)
		}
		if err := s.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		now := read(t, p.Target)
		if at == "journal" || at == "stage" || at == "staged" {
			same(t, at, now, before)
		} else {
			finished = true
			same(t, at, now, after)
		}
		if _, err := os.Lstat(filepath.Join(p.Target, "old")); maps.Equal(now, after) && err == nil {
			t.Errorf("%s: the empty directory is still there", at)
		}
		if _, err := s.Land(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		same(t, "landed again", read(t, p.Target), after)
	}
}

// A crash in the middle of finishing is a crash like any other.
func TestRecoverAfterACrashWhileRecovering(t *testing.T) {
	c := newCutOff(t)
	s, after := c.s, c.after
	for n := range 12 {
		p := c.fresh(t)
		if crashed, _ := landUntil(t, s, p, 14); !crashed { // some steps are done
			t.Fatal("no crash")
		}
		landUntil(t, s, p, n)
		if err := s.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, "recovered", read(t, p.Target), after)
	}
}

// What somebody changed after the crash stays, and the rest is put back.
func TestRecoverWhenTheTargetHasMoved(t *testing.T) {
	c := newCutOff(t)
	s, before, after := c.s, c.before, c.after
	for n := 0; ; n++ {
		p := c.fresh(t)
		crashed, at := landUntil(t, s, p, n)
		if !crashed {
			return
		}
		mine := filepath.Join(p.Target, "a")
		if err := os.RemoveAll(mine); err != nil {
			t.Fatal(err)
		}
		put(t, mine, "mine")
		err := s.Recover(t.Context())
		now := read(t, p.Target)
		if now["a"] != "mine" {
			t.Errorf("%s: what was written after the crash is gone: %v\n%s", at, err, now)
		}
		for path, c := range now {
			if path != "a" && !strings.HasPrefix(path, ".hecate-landing-") && before[path] != c && after[path] != c {
				t.Errorf("%s: %q is neither as before nor as after", at, path)
			}
		}
		if err := s.Recover(t.Context()); err != nil {
			t.Errorf("%s: a second time: %v", at, err)
		}
	}
}
