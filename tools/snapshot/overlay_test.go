package snapshot_test

import (
	"testing"

	"hecate/tools/snapshot"
)

// An overlay has what changed elsewhere, and keeps what is its own.
func TestOverlay(t *testing.T) {
	s := newStore(t)
	from := files{"same": "1", "changed": "1", "gone": "1", "file": "1", "dir/a": "1", "dir/b": "1"}
	to := files{"same": "1", "changed": "2", "new/x": "2", "file/in": "2", "dir": "x:2"}
	onto := files{"same": "mine", "changed": "mine", "gone": "mine", "file": "mine", "dir/a": "1", "dir/c": "mine", "own": "mine"}
	got, err := s.Overlay(t.Context(), treeOf(t, s, onto), treeOf(t, s, from), treeOf(t, s, to))
	if err != nil {
		t.Fatal(err)
	}
	want := treeOf(t, s, files{"same": "mine", "changed": "2", "new/x": "2", "file/in": "2", "dir": "x:2", "own": "mine"})
	if got != want {
		changes, err := s.Changed(t.Context(), want, got)
		t.Errorf("it differs: %+v, %v", changes, err)
	}
	if same, err := s.Overlay(t.Context(), got, want, want); err != nil || same != got {
		t.Errorf("nothing changed: %s, %v", same, err)
	}
	if _, err := s.Overlay(t.Context(), snapshot.Tree("x"), want, got); err == nil {
		t.Error("laid over nothing")
	}
}
