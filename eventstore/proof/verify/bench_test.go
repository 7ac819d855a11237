package verify_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"hecate/eventstore"
	"hecate/eventstore/postgres"
	"hecate/eventstore/postgres/pgtest"
	"hecate/eventstore/proof"
	"hecate/eventstore/proof/stored"
	"hecate/eventstore/proof/verify"
	"hecate/eventstore/sqlite"
	"hecate/eventstore/storetest"
)

const benchRecords = 300_000

// BenchmarkVerify verifies a sealed log of events of a usual size.
func BenchmarkVerify(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "log.db")
		s, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		key := fillAndSeal(b, s)
		benchVerify(b, key, func(conns int) (*stored.Log, error) { return stored.OpenSQLite(b.Context(), path, "", conns) })
	})
	b.Run("postgres", func(b *testing.B) { // what the server uses is not counted
		url := pgtest.URL(b)
		s, err := postgres.Open(b.Context(), postgres.Options{URL: url})
		if err != nil {
			b.Fatal(err)
		}
		key := fillAndSeal(b, s)
		benchVerify(b, key, func(conns int) (*stored.Log, error) { return stored.OpenPostgres(b.Context(), url, "", conns) })
	})
}

func fillAndSeal(b *testing.B, s interface {
	eventstore.Store
	proof.Log
},
) (public string) {
	b.Helper()
	storetest.Fill(b, s, benchRecords)
	id, err := s.LogID(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	key, _, err := proof.OpenKey(filepath.Join(b.TempDir(), "audit.key"), proof.Origin(id))
	if err != nil {
		b.Fatal(err)
	}
	sealer, err := proof.NewSealer(b.Context(), s, key, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	if err := sealer.Seal(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return key.Public
}

func benchVerify(b *testing.B, key string, open func(conns int) (*stored.Log, error)) {
	b.Helper()
	for _, readers := range []int{1, 2} {
		b.Run(fmt.Sprintf("cpus=%d", readers), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(readers))
			l, err := open(readers + 2)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			before := cpuTime(b)
			for b.Loop() {
				r, err := verify.Log(b.Context(), l, verify.Options{Keys: []string{key}, Parallel: readers})
				if err != nil || !r.Sound() || r.Verified != r.Records {
					b.Fatal(r.Findings, err)
				}
			}
			// A machine that has other things to do says little about the time that passes.
			b.ReportMetric(float64(benchRecords)*float64(b.N)/(cpuTime(b)-before).Seconds(), "records/cpu-s")
			b.ReportMetric(float64(benchRecords)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// cpuTime is what this process has used of processors.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
