package leases_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hecate/eventstore"
	"hecate/eventstore/internal/leases"
)

// Leases run out by the machine's clock. All else is checked by the suite of logs.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := leases.New(7)
		table.Register(eventstore.Worker{Instance: "w1", Node: "n1", TTL: time.Minute})
		time.Sleep(time.Minute - 1)
		if err := table.Renew("w1"); err != nil {
			t.Errorf("renew in time: %v", err)
		}
		if epoch, err := table.Claim("w1", "run-1", true, 0); epoch != 8 || err != nil {
			t.Errorf("claim: %d, %v, want 8", epoch, err)
		}
		time.Sleep(time.Minute - 1)
		if n, oldest := table.Claims(); n != 1 || oldest != time.Minute-1 || !table.Held("run-1") {
			t.Errorf("%d claims for %s", n, oldest)
		}
		time.Sleep(time.Nanosecond)
		if err := table.Renew("w1"); !errors.Is(err, eventstore.ErrLeaseLost) {
			t.Errorf("renew too late: %v, want ErrLeaseLost", err)
		}
		if n, _ := table.Claims(); n != 0 || table.Held("run-1") || table.Epoch("run-1") != 8 {
			t.Errorf("%d claims hold, epoch %d", n, table.Epoch("run-1"))
		}
	})
}
