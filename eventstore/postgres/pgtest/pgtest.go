// Package pgtest gives tests a PostgreSQL database of their own.
//
// It uses the server at HECATE_TEST_POSTGRES_URL if that is set, and else starts
// one throw-away server for the test binary from the binaries that are installed
// on the machine. Without either a test is skipped, or fails where CI or
// HECATE_TEST_REQUIRE_ALL is set: a check that quietly does nothing is none.
//
// A package that uses it stops the server in its TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	envURL        = "HECATE_TEST_POSTGRES_URL"
	envRequireAll = "HECATE_TEST_REQUIRE_ALL"
	startMax      = 4 * time.Minute // to start the server, on a busy machine
	statementMax  = 2 * time.Minute
)

const howToInstall = `no PostgreSQL server to test with. Either install one (version 14 or newer),
  Debian, Ubuntu:  apt-get install postgresql
  Fedora:          dnf install postgresql-server
  macOS:           brew install postgresql
or name a server on which databases may be created:
  HECATE_TEST_POSTGRES_URL=postgres://user:password@host:5432/postgres`

// errMissing says that there is no server and no way to start one.
var errMissing = errors.New(howToInstall)

// shared is the server of this test binary.
var shared struct {
	once   sync.Once
	server *server
	admin  *url.URL // of a database from which others can be created
	err    error
}

var databases atomic.Int64

// Main runs the tests of a package, stops the server if one was started, and
// returns the exit code. A server whose test binary dies is stopped by the
// operating system, and what it left behind is removed by the next one.
func Main(m *testing.M) int {
	code := m.Run()
	if shared.server != nil {
		shared.server.stop()
	}
	return code
}

// URL returns the address of a new, empty database for the length of the test.
func URL(t testing.TB) string {
	t.Helper()
	shared.once.Do(start)
	switch {
	case errors.Is(shared.err, errMissing) && os.Getenv("CI") == "" && os.Getenv(envRequireAll) == "":
		t.Skip(shared.err)
	case shared.err != nil:
		t.Fatal(shared.err)
	}
	// Names differ also between test binaries that share one server.
	name := fmt.Sprintf("hecate_test_%d_%d", os.Getpid(), databases.Add(1))
	if err := admin("CREATE DATABASE " + name); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() {
		if shared.server != nil {
			return // dropping takes longer than making, and all goes with the server
		}
		if err := admin("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	own := *shared.admin
	own.Path = "/" + name
	return own.String()
}

func start() {
	if explicit := os.Getenv(envURL); explicit != "" {
		shared.admin, shared.err = url.Parse(explicit)
		return
	}
	if shared.server, shared.err = startServer(); shared.err == nil {
		shared.admin = shared.server.url()
	}
}

// creating lets one database be made at a time: a template can have one reader only.
var creating sync.Mutex

func admin(sql string) error {
	creating.Lock()
	defer creating.Unlock()
	ctx, stop := context.WithTimeout(context.Background(), statementMax)
	defer stop()
	conn, err := pgx.Connect(ctx, shared.admin.String())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}
