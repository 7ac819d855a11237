package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/storetest"
)

func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			url := pgtest.DurableURL(b)
			s, err := postgres.Open(b.Context(), postgres.Options{URL: url})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			storetest.BenchAppend(b, s, writers, rawInserts(b, url))
		})
	}
}

func BenchmarkAppendClaimed(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			url := pgtest.DurableURL(b)
			s, err := postgres.Open(b.Context(), postgres.Options{URL: url})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			storetest.BenchAppendClaimed(b, s, writers, rawInserts(b, url))
		})
	}
}

func BenchmarkClaim(b *testing.B) {
	s, err := postgres.Open(b.Context(), postgres.Options{URL: pgtest.DurableURL(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	storetest.BenchClaim(b, s)
}

// rawInserts inserts the same rows into one plain table, one prepared statement
// and one transaction for each batch.
func rawInserts(b *testing.B, url string) func([]eventstore.Record) error {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(b.Context(), `CREATE TABLE raw (position bigint PRIMARY KEY, stream text, version bigint, event_id uuid, type text, schema bigint,
		at bigint, kind text, name text, org text, caused_by bigint, command_id text, trace text, hash bytea, salt bytea, data bytea)`)
	if err != nil {
		b.Fatal(err)
	}
	const insert = `INSERT INTO raw SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::bigint[], $7::bigint[],
		$8::text[], $9::text[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::bytea[], $15::bytea[], $16::bytea[])`
	return func(records []eventstore.Record) error {
		var c columns
		for i := range records {
			c.add(&records[i])
		}
		_, err := conn.Exec(context.Background(), insert, c.position, c.stream, c.version, c.id, c.typ, c.schema, c.at,
			c.kind, c.name, c.org, c.causedBy, c.command, c.trace, c.hash, c.salt, c.data)
		return err
	}
}

type columns struct {
	position, version, schema, at, causedBy      []int64
	stream, typ, kind, name, org, command, trace []string
	id                                           []pgtype.UUID
	hash, salt, data                             [][]byte
}

func (c *columns) add(r *eventstore.Record) {
	c.position = append(c.position, r.Position)
	c.stream = append(c.stream, r.Stream)
	c.version = append(c.version, r.Version)
	c.id = append(c.id, pgtype.UUID{Bytes: r.ID, Valid: true})
	c.typ = append(c.typ, r.Type)
	c.schema = append(c.schema, int64(r.Schema))
	c.at = append(c.at, r.At.UnixMicro())
	c.kind = append(c.kind, r.Actor.Kind)
	c.name = append(c.name, r.Actor.Name)
	c.org = append(c.org, r.Actor.Org)
	c.causedBy = append(c.causedBy, r.CausedBy)
	c.command = append(c.command, r.CommandID)
	c.trace = append(c.trace, r.Trace)
	c.hash = append(c.hash, r.Hash[:])
	c.salt = append(c.salt, r.Salt[:])
	c.data = append(c.data, r.Data)
}

const benchEvents = 1_000_000

// BenchmarkMillion builds a log of a million events once, and measures opening
// and reading it.
func BenchmarkMillion(b *testing.B) {
	url := pgtest.URL(b)
	s, err := postgres.Open(b.Context(), postgres.Options{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	storetest.Fill(b, s, benchEvents)
	b.Run("read", func(b *testing.B) { storetest.BenchReadAll(b, s) })
	b.Run("stream", func(b *testing.B) { storetest.BenchReadStream(b, s, benchEvents) })
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := postgres.Open(b.Context(), postgres.Options{URL: url})
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
