package ident_test

import (
	"regexp"
	"testing"

	"hecate/domain/ident"
)

func TestIDs(t *testing.T) {
	shape := regexp.MustCompile(`^run_[0-9a-f]{24}$`)
	if a, b := ident.New("run"), ident.New("run"); !shape.MatchString(a) || a == b {
		t.Errorf("New: %s, %s", a, b)
	}
	if a, b := ident.Derive("run", "ab", "c"), ident.Derive("run", "a", "bc"); !shape.MatchString(a) || a == b {
		t.Errorf("Derive: %s, %s", a, b)
	}
	if ident.Derive("step", "r", "1") != ident.Derive("step", "r", "1") {
		t.Error("Derive depends on more than its parts")
	}
}

// The first ten characters of a public event id are the milliseconds, most significant first.
func TestPublicEventIDsSortByTime(t *testing.T) {
	zero, top := [16]byte{}, [16]byte{}
	for i := range top {
		top[i] = 0xff
	}
	if got := ident.PublicEvent(zero); got != "evt_00000000000000000000000000" {
		t.Errorf("zero: %s", got)
	}
	if got := ident.PublicEvent(top); got != "evt_7ZZZZZZZZZZZZZZZZZZZZZZZZZ" {
		t.Errorf("top: %s", got)
	}
	early, late := [16]byte{0x01, 0x90}, [16]byte{0x01, 0x91}
	if ident.PublicEvent(early) >= ident.PublicEvent(late) {
		t.Error("a later id sorts before an earlier one")
	}
}
