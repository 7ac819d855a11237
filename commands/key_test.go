package commands_test

import (
	"strings"
	"sync"
	"testing"

	"hecate/commands"
	"hecate/domain/fault"
	"hecate/domain/logkey"
)

// The key changes by the word of the old one, and without it only for a reason.
func TestKeyLife(t *testing.T) {
	x := newExecutor(t)
	rotated := logkey.Rotated{Old: "a", New: "b", Statement: "s", Reason: " the\nyearly  change "}
	r, err := x.RotateKey(t.Context(), commands.Meta{CommandID: "key-b"}, rotated)
	if err != nil || r.Position != 1 || len(r.State.Keys) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = x.RotateKey(t.Context(), commands.Meta{CommandID: "key-b"}, rotated); err != nil || r.Position != 1 {
		t.Errorf("repeated: %+v, %v", r, err)
	}
	if r, err = x.RotateKey(t.Context(), commands.Meta{}, rotated); err != nil || r.Position != 0 {
		t.Errorf("again without an id: %+v, %v", r, err)
	}
	if r, err = x.ReplaceKey(t.Context(), commands.Meta{}, logkey.Replaced{Old: "b", New: "c", Reason: "lost", After: 1}); err != nil || r.Position != 2 {
		t.Errorf("replaced: %+v, %v", r, err)
	}
	for name, c := range map[string]struct {
		do   func() (commands.KeyResult, error)
		kind fault.Kind
	}{
		"after another one": {func() (commands.KeyResult, error) {
			return x.RotateKey(t.Context(), commands.Meta{}, logkey.Rotated{Old: "b", New: "d", Statement: "s"})
		}, fault.KindConflict},
		"back to the first": {func() (commands.KeyResult, error) {
			return x.RotateKey(t.Context(), commands.Meta{}, logkey.Rotated{Old: "c", New: "a", Statement: "s"})
		}, fault.KindInvalid},
		"to itself": {func() (commands.KeyResult, error) {
			return x.RotateKey(t.Context(), commands.Meta{}, logkey.Rotated{Old: "c", New: "c", Statement: "s"})
		}, fault.KindInvalid},
		"without a statement": {func() (commands.KeyResult, error) {
			return x.RotateKey(t.Context(), commands.Meta{}, logkey.Rotated{Old: "c", New: "d"})
		}, fault.KindInvalid},
		"without a reason": {func() (commands.KeyResult, error) {
			return x.ReplaceKey(t.Context(), commands.Meta{}, logkey.Replaced{Old: "c", New: "d", Reason: " \n"})
		}, fault.KindInvalid},
		"with a long reason": {func() (commands.KeyResult, error) {
			return x.ReplaceKey(t.Context(), commands.Meta{}, logkey.Replaced{Old: "c", New: "d", Reason: strings.Repeat("x", logkey.ReasonMax+1)})
		}, fault.KindInvalid},
	} {
		if _, err := c.do(); !isKind(err, c.kind) {
			t.Errorf("%s: %v, want %s", name, err, c.kind)
		}
	}
}

// Of several who change the key at once, one does.
func TestKeyRace(t *testing.T) {
	x := newExecutor(t)
	var wg sync.WaitGroup
	results := make([]error, 4)
	for i := range results {
		wg.Go(func() {
			_, results[i] = x.RotateKey(t.Context(), commands.Meta{}, logkey.Rotated{Old: "a", New: string(rune('b' + i)), Statement: "s"})
		})
	}
	wg.Wait()
	done := 0
	for _, err := range results {
		switch {
		case err == nil:
			done++
		case !isKind(err, fault.KindConflict):
			t.Error(err)
		}
	}
	if done != 1 {
		t.Errorf("%d of them did", done)
	}
}
