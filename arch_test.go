// Package hecate_test holds what is true of the whole tree: who may import whom,
// and the few habits that a machine can check. The checker is in
// archcheck_test.go; this file is the rules.
package hecate_test

import (
	"os"
	"testing"
)

// layers is the import table: the folders of ours that a folder's code may use
// besides itself. A folder that is not listed may not hold Go code.
var layers = map[string][]string{
	"domain":      {},
	"migrations":  {},
	"eventstore":  {"domain", "migrations"},
	"commands":    {"domain", "eventstore"},               // not projections: they lag, a decision on them can be wrong
	"projections": {"domain", "eventstore", "migrations"}, // not commands: a reader writes no facts
	"tools":       {"domain"},                             // not eventstore: a handler acts, it does not record
	"runtime":     {"domain", "eventstore", "commands", "tools"},
	"api":         {"domain", "eventstore", "commands", "projections"}, // not runtime: the log wakes it
	"cmd":         {"domain", "migrations", "eventstore", "commands", "projections", "tools", "runtime", "api"},
}

// adapters are chosen when the program is put together, so only cmd names them.
// Tests may too: they have to run on something.
var adapters = []string{
	"eventstore/postgres",
	"eventstore/sqlite",
	"tools/builtin",
	"runtime/model/", // every folder below it is one vendor
}

// stdlibOnly are the folders whose code needs no other module.
var stdlibOnly = []string{"domain"}

// impure are the packages that a rule or a fold has no use for.
var impure = []string{
	"database/sql", "io/fs", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http",
	"os", "os/exec", "os/signal", "syscall",
}

// timeless are the folders where even measuring time is out of place: what they
// compute must come out the same when it is replayed. They take a clock.Clock.
var timeless = []string{"domain", "commands", "projections"}

// random says where randomness may come from, and why. Everything else is handed its ids.
var random = map[string]string{
	"domain/ident": "makes the ids",
	"eventstore":   "salts, and the id of a new log",
	"api/auth":     "tokens",
	"cmd":          "hands ids and salts to the others",
}

// exempt lists single findings that are right all the same: "file: rule" and the reason.
var exempt = map[string]string{
	"domain/clock/clock.go: time": "the one source of recorded time",
}

func TestArchitecture(t *testing.T) {
	for _, f := range check(t, os.DirFS(".")) {
		if exempt[f.path+": "+f.rule] == "" {
			t.Errorf("%s:%d: %s: %s", f.path, f.line, f.rule, f.text)
		}
	}
}
