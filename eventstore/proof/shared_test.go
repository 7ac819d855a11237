package proof_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sync/errgroup"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/proof"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// Processes that share a log and a key seal it at the same time, while it is appended to.
// What comes of it is one tree.
func TestShared(t *testing.T) {
	url := pgtest.URL(t)
	var nodes []*postgres.Store
	for range 2 {
		s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		nodes = append(nodes, s)
	}
	key := keyOf(t, nodes[0])
	ctx := withPatience(t)
	appending, done := context.WithCancel(ctx)
	var sealing errgroup.Group
	for i := range 4 {
		sealer := newSealer(t, nodes[i%2], key)
		sealing.Go(func() error {
			for appending.Err() == nil {
				// Who is too slow, several times in a row, tries again later.
				if err := sealer.Seal(ctx); err != nil && !errors.Is(err, eventstore.ErrSealed) {
					return err
				}
			}
			return nil
		})
	}
	const appends = 60
	for i := range appends {
		appendTo(t, nodes[i%2], "run-1", 3)
	}
	done()
	if err := sealing.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := newSealer(t, nodes[0], key).Seal(ctx); err != nil {
		t.Fatal(err)
	}
	if head := sealed(t, nodes[1], key); head.Size != 3*appends {
		t.Errorf("sealed up to %d of %d", head.Size, 3*appends)
	}
}

var _ proof.Log = (*postgres.Store)(nil)
