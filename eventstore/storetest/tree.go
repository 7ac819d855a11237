package storetest

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"hecate/eventstore"
)

// testTree adds two seals and asks for what they brought. One that begins elsewhere than
// at the end of the tree is refused as a whole.
func testTree(t *testing.T, l Log) {
	s := open(t, l)
	tree, ok := s.(eventstore.Tree)
	if !ok {
		t.Fatalf("%T keeps no tree", s)
	}
	if last, key, err := tree.LastSeal(withPatience(t)); last.Size != 0 || last.Note != nil || key != "" || err != nil {
		t.Fatalf("the last seal of a new log: %+v, %q, %v", last, key, err)
	}
	first := eventstore.Seal{
		Rows:       []eventstore.TreeRow{{Start: 0, Hashes: hashes(1, 2, 3)}, {Start: 3, Hashes: hashes(4)}},
		Checkpoint: eventstore.Checkpoint{Size: 3, Note: []byte("first\n")}, Key: "key-1",
	}
	must(t, tree.AddSeal(withPatience(t), first))
	second := eventstore.Seal{
		Rows:       []eventstore.TreeRow{{Start: 4, Hashes: hashes(5, 6, 7)}},
		Checkpoint: eventstore.Checkpoint{Size: 4, Note: []byte("second\n")},
	}
	must(t, tree.AddSeal(withPatience(t), second))
	for name, seal := range map[string]eventstore.Seal{"again": second, "with a gap": {
		Rows: []eventstore.TreeRow{{Start: 9, Hashes: hashes(9)}}, Checkpoint: eventstore.Checkpoint{Size: 9, Note: []byte("gap\n")}, Key: "key-2",
	}} {
		if err := tree.AddSeal(withPatience(t), seal); !errors.Is(err, eventstore.ErrSealed) {
			t.Errorf("a seal %s: %v, want ErrSealed", name, err)
		}
	}
	if last, key, err := tree.LastSeal(withPatience(t)); last.Size != 4 || string(last.Note) != "second\n" || key != "key-1" || err != nil {
		t.Errorf("the last seal: %+v, %q, %v", last, key, err)
	}
	third := eventstore.Seal{
		Rows:       []eventstore.TreeRow{{Start: 7, Hashes: hashes(8)}},
		Checkpoint: eventstore.Checkpoint{Size: 5, Note: []byte("third\n")}, Key: "key-2",
	}
	must(t, tree.AddSeal(withPatience(t), third))
	if _, key, err := tree.LastSeal(withPatience(t)); key != "key-2" || err != nil {
		t.Errorf("the key after a change: %q, %v", key, err)
	}
	if keys, err := tree.LogKeys(withPatience(t)); err != nil || !slices.Equal(keys, []eventstore.LogKey{{Since: 3, Public: "key-1"}, {Since: 5, Public: "key-2"}}) {
		t.Errorf("the keys: %+v, %v", keys, err)
	}
	got, err := tree.TreeHashes(withPatience(t), []int64{6, 0, 3, 2, 4})
	must(t, err)
	for i, want := range []byte{7, 1, 4, 3, 5} {
		if got[i] != [32]byte(hashes(want)) {
			t.Errorf("hash %d of the list begins with %d, want %d", i, got[i][0], want)
		}
	}
	if _, err := tree.TreeHashes(withPatience(t), []int64{1, 8}); !errors.Is(err, eventstore.ErrTampered) {
		t.Errorf("a hash beyond the tree: %v, want ErrTampered", err)
	}
}

// hashes strings hashes together that consist of one byte each.
func hashes(fill ...byte) []byte {
	var out []byte
	for _, b := range fill {
		out = append(out, bytes.Repeat([]byte{b}, 32)...)
	}
	return out
}
