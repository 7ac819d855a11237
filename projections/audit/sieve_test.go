package audit

import (
	"fmt"
	"testing"
)

// A name that was met is never taken for a new one, and of the new ones few for met. What
// begins when others may have been forgotten knows nothing.
func TestSieve(t *testing.T) {
	const names = 2 * sieveFrom
	var late, s sieve
	kept := newRecent[name, code](names)
	for i := range int64(names) {
		n := name{kindPath, fmt.Sprint("file", i)}
		late.add(n, i+1, false, kept)
		s.add(n, i+1, true, kept)
		kept.put(n, code{})
	}
	wrong := 0
	for i := range names {
		if !s.may(name{kindPath, fmt.Sprint("file", i)}) {
			t.Fatalf("file %d was met", i)
		}
		if s.may(name{kindHost, fmt.Sprint("file", i)}) {
			wrong++
		}
	}
	if wrong > names/100 {
		t.Errorf("%d of %d names are taken for met", wrong, names)
	}
	if !late.may(name{kindHost, "x"}) {
		t.Error("it knows what it cannot know")
	}
}
