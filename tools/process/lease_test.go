package process_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hecate/tools/process"
)

// over reports what Done says.
func over(l *process.Lease) bool {
	synctest.Wait()
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}

func expect(t *testing.T, what string, l *process.Lease, valid bool) {
	t.Helper()
	if l.Valid() != valid || over(l) == valid {
		t.Errorf("%s: valid %t, done %t", what, l.Valid(), over(l))
	}
}

func TestALeaseWithoutALimitLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := process.NewLease()
		time.Sleep(1000 * time.Hour)
		expect(t, "after a long time", l, true)
		if until, limited := l.Until(); limited {
			t.Errorf("it has the limit %v", until)
		}
		l.End()
		l.End()
		expect(t, "ended", l, false)
	})
}

func TestNoLeaseIsOneThatLasts(t *testing.T) {
	var l *process.Lease
	if _, limited := l.Until(); limited || !l.Valid() || l.Done() != nil {
		t.Error("a nil lease has an end")
	}
}

func TestALeaseEndsWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := process.NewLease()
		begun := time.Now()
		l.Extend(begun.Add(10 * time.Second))
		time.Sleep(9 * time.Second)
		l.Extend(begun.Add(20 * time.Second))
		l.Extend(begun.Add(15 * time.Second)) // what was promised holds
		if until, limited := l.Until(); !limited || !until.Equal(begun.Add(20*time.Second)) {
			t.Errorf("until %v, limited %t", until, limited)
		}
		time.Sleep(11*time.Second - time.Nanosecond)
		expect(t, "a moment before", l, true)
		time.Sleep(time.Nanosecond)
		expect(t, "at the time", l, false)
		l.Extend(time.Now().Add(time.Hour))
		expect(t, "extended after its end", l, false)
	})
}

// What takes place before the timer has run counts as well.
func TestALeaseIsNotRevived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := process.NewLease()
		l.Extend(time.Now())
		l.Extend(time.Now().Add(time.Hour))
		expect(t, "extended in the moment of its end", l, false)
		l = process.NewLease()
		l.Extend(time.Time{})
		expect(t, "with the zero time", l, false)
	})
}

// The wall clock alone ends a lease too: it is what goes on during a suspend.
func TestALeaseEndsByTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := process.NewLease()
		l.Extend(time.Now().Round(0).Add(5 * time.Second)) // without a monotonic reading
		time.Sleep(5*time.Second - time.Nanosecond)
		expect(t, "a moment before", l, true)
		time.Sleep(time.Nanosecond)
		expect(t, "at the time", l, false)
	})
}

func TestALeaseThatEndsEarlyKeepsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := process.NewLease()
		l.Extend(time.Now().Add(time.Minute))
		l.End()
		expect(t, "ended", l, false)
		time.Sleep(time.Hour) // a timer that came again would close Done twice
		expect(t, "long after", l, false)
	})
}
