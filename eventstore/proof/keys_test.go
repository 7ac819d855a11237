package proof_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hecate/domain/event"
	"hecate/domain/logkey"
	"hecate/eventstore"
	"hecate/eventstore/proof"
)

// The file holds the key that is asked for, or says that it does not, and changes only when
// the next key is asked for.
func TestNextKey(t *testing.T) {
	f := proof.KeyFile{Path: filepath.Join(t.TempDir(), "audit.key"), Origin: "hecate/log_1"}
	if _, err := f.Holding(""); !errors.Is(err, proof.ErrOtherKey) {
		t.Errorf("no file: %v", err)
	}
	first, _, err := proof.OpenKey(f.Path, f.Origin)
	must(t, err)
	next, err := f.Prepare()
	must(t, err)
	if again, err := f.Prepare(); err != nil || again.Public != next.Public {
		t.Errorf("prepared twice: %v, %v", again, err)
	}
	for _, public := range []string{"", first.Public} {
		if k, err := f.Holding(public); err != nil || k.Public != first.Public {
			t.Errorf("before the change: %v, %v", k, err)
		}
	}
	if _, err := f.Holding(newKey(t, f.Origin).Public); !errors.Is(err, proof.ErrOtherKey) {
		t.Errorf("a third key: %v", err)
	}
	for _, public := range []string{next.Public, next.Public, ""} {
		if k, err := f.Holding(public); err != nil || k.Public != next.Public {
			t.Errorf("after the change: %v, %v", k, err)
		}
	}
	if _, err := f.Holding(first.Public); !errors.Is(err, proof.ErrOtherKey) {
		t.Errorf("the old key is still there: %v", err)
	}
	if os.Getuid() == 0 { // the command may be root's, and the server somebody else's
		must(t, os.Chown(f.Path, 12345, 12345))
		_, err := f.Prepare()
		must(t, err)
		if info, err := os.Stat(f.Path + ".next"); err != nil || fmt.Sprint(reflect.ValueOf(info.Sys()).Elem().FieldByName("Uid")) != "12345" {
			t.Errorf("the next key belongs to somebody else: %v", err)
		}
	}
	must(t, os.WriteFile(f.Path, []byte("x"), 0o600))
	if _, err := f.Holding(next.Public); err == nil || errors.Is(err, proof.ErrOtherKey) {
		t.Errorf("a broken file: %v", err)
	}
}

// A key vouches for one key of its own log, in words that say nothing else.
func TestStatement(t *testing.T) {
	const origin = "hecate/log_1"
	old, next, other := newKey(t, origin), newKey(t, origin), newKey(t, origin)
	statement, err := old.Vouch(next.Public)
	must(t, err)
	must(t, proof.CheckStatement(statement, origin, old.Public, next.Public))
	checkpoint, err := proof.Head{Origin: origin}.Sign(old)
	must(t, err)
	if _, err := proof.Open([]byte(statement), old.Public); err == nil {
		t.Error("a statement is taken for a checkpoint")
	}
	for name, c := range map[string]struct{ statement, origin, old, next string }{
		"another old key":   {statement, origin, other.Public, next.Public},
		"another next key":  {statement, origin, old.Public, other.Public},
		"the other way":     {statement, origin, next.Public, old.Public},
		"another log":       {statement, "hecate/log_2", old.Public, next.Public},
		"no old key":        {statement, origin, "x", next.Public},
		"no next key":       {statement, origin, old.Public, "x"},
		"a checkpoint":      {string(checkpoint), origin, old.Public, next.Public},
		"nothing":           {"", origin, old.Public, next.Public},
		"more than allowed": {statement + strings.Repeat("— x y\n", 2000), origin, old.Public, next.Public},
		"a changed word":    {strings.Replace(statement, "v1", "v2", 1), origin, old.Public, next.Public},
	} {
		if err := proof.CheckStatement(c.statement, c.origin, c.old, c.next); !errors.Is(err, proof.ErrStatement) {
			t.Errorf("%s: %v, want ErrStatement", name, err)
		}
	}
}

// Whatever stands in the records about keys, a first key leads only to keys that somebody with
// the key before has named.
func FuzzTerms(f *testing.F) {
	const origin = "hecate/log_1"
	old, next := newKey(f, origin), newKey(f, origin)
	statement, err := old.Vouch(next.Public)
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range []event.Payload{
		logkey.Rotated{Old: old.Public, New: next.Public, Statement: statement},
		logkey.Replaced{Old: old.Public, New: next.Public, Reason: "lost", After: 3},
	} {
		encoded, err := event.Encode(p, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded.Type, encoded.Data, statement)
	}
	f.Fuzz(func(t *testing.T, typ string, data []byte, text string) {
		terms, doubts := proof.TermsOf(origin, old.Public, []eventstore.Record{{Position: 9, Type: typ, Schema: 1, Data: data}})
		for i, term := range terms {
			if i > 0 && len(doubts) == 0 && !term.Replaced && term.Public != next.Public {
				t.Errorf("the first key leads to %q", term.Public)
			}
			if until := terms.Until(i); until < 8 {
				t.Errorf("key %d signs up to %d", i, until)
			}
		}
		if proof.CheckStatement(text, origin, old.Public, next.Public) == nil && !strings.HasPrefix(text, "hecate.key-rotation.v1\n"+origin+"\n") {
			t.Errorf("a statement: %q", text)
		}
	})
}
