package proof_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"hecate/domain/event"
	"hecate/domain/logkey"
	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/stored"
	"hecate/eventstore/proof/verify"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

// keyed is a log with the file of its key, and a look at it from outside.
type keyed struct {
	proof.Log
	store  eventstore.Store
	file   proof.KeyFile
	first  string
	stored func() (*stored.Log, error)
}

// eachKeyed runs a test on a log of each kind, with five records that are sealed.
func eachKeyed(t *testing.T, test func(t *testing.T, l keyed)) {
	onKeyed(t, test, "sqlite", "postgres")
}

func onKeyed(t *testing.T, test func(t *testing.T, l keyed), kinds ...string) {
	path := filepath.Join(t.TempDir(), "log.db")
	all := map[string]func() (keyed, error){
		"sqlite": func() (keyed, error) {
			s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
			return keyed{Log: s, store: s, stored: func() (*stored.Log, error) { return stored.OpenSQLite(t.Context(), path, "", 2) }}, err
		},
		"postgres": func() (keyed, error) {
			url := pgtest.URL(t)
			s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
			return keyed{Log: s, store: s, stored: func() (*stored.Log, error) { return stored.OpenPostgres(t.Context(), url, "", 2) }}, err
		},
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			l, err := all[kind]()
			must(t, err)
			t.Cleanup(func() { _ = l.store.Close() })
			id, err := l.LogID(t.Context())
			must(t, err)
			l.file = proof.KeyFile{Path: filepath.Join(t.TempDir(), "audit.key"), Origin: proof.Origin(id)}
			key, _, err := proof.OpenKey(l.file.Path, l.file.Origin)
			must(t, err)
			l.first = key.Public
			appendTo(t, l.store, "run-1", 5)
			must(t, l.sealer(t).Seal(withPatience(t)))
			test(t, l)
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l keyed) sealer(t testing.TB) *proof.Sealer {
	t.Helper()
	s, err := proof.NewSealer(withPatience(t), l.Log, l.file, 0, slog.New(slog.DiscardHandler))
	must(t, err)
	return s
}

// record appends a change of the key, and returns its position.
func (l keyed) record(t testing.TB, p event.Payload) int64 {
	t.Helper()
	encoded, err := event.Encode(p, nil)
	must(t, err)
	done, err := l.store.Append(withPatience(t), storetest.To(logkey.Stream, eventstore.AnyVersion, storetest.NewEvent(encoded.Type, string(encoded.Data))))
	must(t, err)
	return done.Last
}

// rotated is the change from the key in the file to the one that is prepared.
func (l keyed) rotated(t testing.TB) logkey.Rotated {
	t.Helper()
	old, err := l.file.Holding("")
	must(t, err)
	next, err := l.file.Prepare()
	must(t, err)
	statement, err := old.Vouch(next.Public)
	must(t, err)
	return logkey.Rotated{Old: old.Public, New: next.Public, Statement: statement}
}

// keys returns which key signs since when.
func (l keyed) keys(t testing.TB) string {
	t.Helper()
	list, err := l.LogKeys(withPatience(t))
	must(t, err)
	var out []string
	for _, k := range list {
		out = append(out, fmt.Sprint(k.Since, " ", k.Public))
	}
	return strings.Join(out, "\n")
}

// verify verifies the log with the first key alone.
func (l keyed) verify(t testing.TB) verify.Report {
	t.Helper()
	log, err := l.stored()
	must(t, err)
	defer log.Close()
	r, err := verify.Log(withPatience(t), log, verify.Options{Keys: []string{l.first}})
	must(t, err)
	return r
}

// Wherever a change of the key is cut off, the log can be sealed, by a process that runs and by
// one that starts, and the first key leads to the next one.
func TestRotationCutOff(t *testing.T) {
	for _, point := range []string{"prepared", "recorded", "installed"} {
		t.Run(point, func(t *testing.T) {
			eachKeyed(t, func(t *testing.T, l keyed) {
				running := l.sealer(t)
				must(t, running.Seal(withPatience(t)))
				appendTo(t, l.store, "run-1", 2)
				r := l.rotated(t)
				want := "5 " + l.first
				if point != "prepared" {
					named := l.record(t, r)
					want += fmt.Sprintf("\n%d %s", named+2, r.New) // sealed with the two records behind it
				}
				if point == "installed" {
					_, err := l.file.Holding(r.New)
					must(t, err)
				}
				appendTo(t, l.store, "run-1", 2)
				must(t, l.sealer(t).Seal(withPatience(t)))
				appendTo(t, l.store, "run-1", 1)
				must(t, running.Seal(withPatience(t)))
				if got := l.keys(t); got != want {
					t.Errorf("signed since\n%s\nwant\n%s", got, want)
				}
				if report := l.verify(t); !report.Sound() || report.Sealed != report.Records {
					t.Errorf("%+v", report)
				}
			})
		})
	}
}

// A running sealer goes on with key after key, without being told.
func TestRotationWhileSealing(t *testing.T) {
	eachKeyed(t, func(t *testing.T, l keyed) {
		sealer := l.sealer(t)
		want := "5 " + l.first
		for range 3 {
			r := l.rotated(t)
			want += fmt.Sprintf("\n%d %s", l.record(t, r), r.New)
			must(t, sealer.Seal(withPatience(t)))
			appendTo(t, l.store, "run-1", 700)
			must(t, sealer.Seal(withPatience(t)))
		}
		if got := l.keys(t); got != want {
			t.Errorf("signed since\n%s\nwant\n%s", got, want)
		}
		if report := l.verify(t); !report.Sound() || len(report.Keys) != 4 {
			t.Errorf("%+v", report)
		}
	})
}

// A key that is lost is replaced, also long after, and also one that never came to sign. The
// new key seals all that has gathered; verification asks for it.
func TestReplacedKey(t *testing.T) {
	for _, never := range []bool{false, true} {
		t.Run(map[bool]string{false: "of old", true: "that never signed"}[never], func(t *testing.T) {
			eachKeyed(t, func(t *testing.T, l keyed) {
				current := l.first
				if never {
					r := l.rotated(t)
					l.record(t, r)
					current = r.New
					must(t, os.Remove(l.file.Path+".next"))
				}
				must(t, os.Remove(l.file.Path))
				appendTo(t, l.store, "run-1", 5000)
				if err := l.sealer(t).Seal(withPatience(t)); !errors.Is(err, proof.ErrOtherKey) {
					t.Fatalf("sealed without the key: %v", err)
				}
				next, err := l.file.Prepare()
				must(t, err)
				named := l.record(t, logkey.Replaced{Old: current, New: next.Public, Reason: "lost", After: 5})
				must(t, l.sealer(t).Seal(withPatience(t)))
				if report := l.verify(t); len(report.Findings) != 1 || report.Findings[0].Kind != verify.Signature || report.Findings[0].First != named || report.Sealed != report.Records {
					t.Errorf("with the lost key: %+v", report)
				}
				l.first = next.Public
				if report := l.verify(t); !report.Sound() || len(report.Notices) != 1 || report.Notices[0].First != named {
					t.Errorf("with the new key: %+v", report)
				}
			})
		})
	}
}

// Records that the old key left unsealed are sealed with the next one, however many they are.
func TestOldKeyGoneBeforeItsEnd(t *testing.T) {
	for _, behind := range []int{0, 600} {
		onKeyed(t, func(t *testing.T, l keyed) {
			appendTo(t, l.store, "run-1", 8*512) // as many as one seal takes
			r := l.rotated(t)
			named := l.record(t, r)
			_, err := l.file.Holding(r.New)
			must(t, err)
			appendTo(t, l.store, "run-1", behind)
			must(t, l.sealer(t).Seal(withPatience(t)))
			last, public, err := l.LastSeal(t.Context())
			must(t, err)
			if public != r.New || last.Size != named+int64(behind) {
				t.Errorf("sealed up to %d of %d under %s", last.Size, named+int64(behind), public)
			}
			if report := l.verify(t); !report.Sound() {
				t.Errorf("%+v", report.Findings)
			}
		}, "sqlite")
	}
}

// What nobody who has the key has said makes no sealer change its key, or go on.
func TestForgedChange(t *testing.T) {
	for name, forge := range map[string]func(t *testing.T, l keyed) event.Payload{
		"another key's statement": func(t *testing.T, l keyed) event.Payload {
			r := l.rotated(t)
			other := newKey(t, l.file.Origin)
			statement, err := other.Vouch(r.New)
			must(t, err)
			r.Statement = statement
			return r
		},
		"a statement about another key": func(t *testing.T, l keyed) event.Payload {
			r := l.rotated(t)
			r.New = newKey(t, l.file.Origin).Public
			return r
		},
		"a key of another log": func(t *testing.T, l keyed) event.Payload {
			return logkey.Replaced{Old: l.first, New: newKey(t, "hecate/log_2").Public, Reason: "lost", After: 5}
		},
		"the same key": func(_ *testing.T, l keyed) event.Payload {
			return logkey.Replaced{Old: l.first, New: l.first, Reason: "lost", After: 5}
		},
		"after a key that it never had": func(t *testing.T, l keyed) event.Payload {
			return logkey.Replaced{Old: newKey(t, l.file.Origin).Public, New: newKey(t, l.file.Origin).Public, Reason: "lost", After: 5}
		},
		"after a record to come": func(t *testing.T, l keyed) event.Payload {
			return logkey.Replaced{Old: l.first, New: newKey(t, l.file.Origin).Public, Reason: "lost", After: 500}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onKeyed(t, func(t *testing.T, l keyed) {
				running := l.sealer(t)
				must(t, running.Seal(withPatience(t)))
				l.record(t, forge(t, l))
				for _, s := range []*proof.Sealer{running, l.sealer(t)} {
					if err := s.Seal(withPatience(t)); !errors.Is(err, eventstore.ErrTampered) {
						t.Errorf("sealed: %v, want ErrTampered", err)
					}
				}
				if got := l.keys(t); got != "5 "+l.first {
					t.Errorf("signed since %s", got)
				}
				if report := l.verify(t); len(report.Findings) == 0 || report.Findings[0].Kind != verify.Signature {
					t.Errorf("%+v", report.Findings)
				}
			}, "sqlite")
		})
	}
}

// Nodes that share the file go on with the new key while they seal at the same time, and
// none of them signs anything with the old one from there on.
func TestRotationOfNodes(t *testing.T) {
	url := pgtest.URL(t)
	var nodes []*postgres.Store
	for range 2 {
		s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
		must(t, err)
		defer s.Close()
		nodes = append(nodes, s)
	}
	first := keyOf(t, nodes[0])
	id, err := nodes[0].LogID(t.Context())
	must(t, err)
	l := keyed{Log: nodes[0], store: nodes[0], first: first.Public, stored: func() (*stored.Log, error) { return stored.OpenPostgres(t.Context(), url, "", 2) }}
	l.file = proof.KeyFile{Path: filepath.Join(t.TempDir(), "audit.key"), Origin: proof.Origin(id)}
	key, _, err := proof.OpenKey(l.file.Path, l.file.Origin)
	must(t, err)
	l.first = key.Public
	appending, done := context.WithCancel(withPatience(t))
	var sealing errgroup.Group
	for i := range 4 {
		sealer, err := proof.NewSealer(t.Context(), nodes[i%2], l.file, 0, slog.New(slog.DiscardHandler))
		must(t, err)
		sealing.Go(func() error {
			for appending.Err() == nil {
				// A sealer that has looked at the log right before a change, and at the file right after it,
				// does not hold the key that it looks for. It looks again.
				if err := sealer.Seal(withPatience(t)); err != nil && !errors.Is(err, eventstore.ErrSealed) && !errors.Is(err, proof.ErrOtherKey) {
					return err
				}
			}
			return nil
		})
	}
	for i := range 40 {
		appendTo(t, nodes[i%2], "run-1", 3)
		if i%10 != 5 {
			continue
		}
		for { // as the command does: the key in force has signed before it changes
			must(t, sealPatiently(t, l))
			_, public, err := l.LastSeal(t.Context())
			must(t, err)
			if held, err := l.file.Holding(""); err == nil && held.Public == public {
				break
			}
		}
		r := l.rotated(t)
		l.record(t, r)
		if i%20 == 5 {
			_, err := l.file.Holding(r.New)
			must(t, err)
		}
	}
	done()
	must(t, sealing.Wait())
	must(t, sealPatiently(t, l))
	if report := l.verify(t); !report.Sound() || len(report.Keys) != 5 || report.Sealed != report.Records {
		t.Errorf("%+v", report)
	}
}

// sealPatiently seals a log that others seal too.
func sealPatiently(t *testing.T, l keyed) (err error) {
	for range 50 {
		if err = l.sealer(t).Seal(withPatience(t)); !errors.Is(err, eventstore.ErrSealed) && !errors.Is(err, proof.ErrOtherKey) {
			return err
		}
	}
	return err
}
