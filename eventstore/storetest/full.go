package storetest

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
)

// DiskFull appends to an empty log until that fails because fill has left it little
// room or none, and checks that nothing is half done then: what was acknowledged is
// there and no more, a claim whose end was refused holds, and all goes on once makeRoom
// has made room.
func DiskFull(t *testing.T, s eventstore.Store, fill, makeRoom func(*testing.T)) {
	t.Helper()
	register(t, s, "w1")
	openWork(t, s, "run-claimed")
	epoch := claim(t, s, "w1", "run-claimed")
	fill(t)
	const writers = 8
	acknowledged := make([]int, writers)
	large := `"` + strings.Repeat("x", 40_000) + `"`
	var g errgroup.Group
	for i := range writers {
		g.Go(func() error {
			for range 1000 {
				_, err := s.Append(withPatience(t), To(fmt.Sprintf("run-%d", i), eventstore.AnyVersion, NewEvent("test.happened", large)))
				if err != nil {
					return nil //nolint:nilerr // what this waits for
				}
				acknowledged[i]++
			}
			return fmt.Errorf("run-%d: the disk is never full", i)
		})
	}
	must(t, g.Wait())
	total := 0
	for i, n := range acknowledged {
		records, err := s.ReadStream(withPatience(t), fmt.Sprintf("run-%d", i), 0, 1<<20)
		if err != nil || len(records) != n {
			t.Errorf("run-%d: %d events of %d acknowledged, %v", i, len(records), n, err)
		}
		total += n
	}
	verify(t, readAll(t, s), 1+total)

	end := To("run-claimed", 1, NewEvent("test.happened", strings.Repeat(large, 10)))
	end.Streams[0].Epoch, end.Streams[0].Work = epoch, eventstore.WorkClose
	if _, err := s.Append(withPatience(t), end); err == nil {
		t.Fatal("there was room")
	}
	must(t, s.Renew(withPatience(t), "w1"))
	wantWorkers(t, s, live("w1", 1))
	makeRoom(t)
	mustAppend(t, s, end)
	wantFenced(t, appendUnder(t, s, "run-claimed", epoch), "run-claimed", epoch)
	mustAppend(t, s, To("run-0", int64(acknowledged[0]), NewEvent("test.happened", large)))
	verify(t, readAll(t, s), 1+total+2)
}
