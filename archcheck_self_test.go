package hecate_test

import (
	"slices"
	"testing"
	"testing/fstest"
)

// A rule that finds nothing in a tree that breaks it protects nobody.
func TestArchitectureRulesBite(t *testing.T) {
	const doc = "// Package p gives an example.\n"
	for name, c := range map[string]struct {
		path, text string
		rules      []string // expected, in order of the source
	}{
		"fine":                   {"domain/p/p.go", doc + `package p; import ("errors"; "hecate/domain/event")`, nil},
		"upwards":                {"domain/p/p.go", doc + `package p; import "hecate/commands"`, []string{"import"}},
		"reader that writes":     {"projections/p/p.go", doc + `package p; import "hecate/commands"`, []string{"import"}},
		"upwards in a test":      {"tools/p/p_test.go", `package p; import "hecate/runtime/worker"`, []string{"import"}},
		"unknown folder":         {"lib/p/p.go", doc + "package p", []string{"import"}},
		"test package":           {"api/p/p.go", doc + `package p; import "hecate/commands/commandtest"`, []string{"import"}},
		"adapter":                {"commands/p.go", doc + `package p; import "hecate/eventstore/sqlite"`, []string{"adapter"}},
		"model vendor":           {"runtime/p/p.go", doc + `package p; import "hecate/runtime/model/vendor"`, []string{"adapter"}},
		"what a model is":        {"runtime/p/p.go", doc + `package p; import "hecate/runtime/model"`, nil},
		"adapter in cmd":         {"cmd/p/p.go", "// Command p runs.\n" + `package main; import "hecate/eventstore/sqlite"`, nil},
		"adapter in a test":      {"commands/p_test.go", `package p; import "hecate/eventstore/sqlite"`, nil},
		"adapter for tests":      {"projections/projectiontest/p.go", "// Package projectiontest replays.\n" + `package projectiontest; import "hecate/eventstore/sqlite"`, nil},
		"part of an adapter":     {"eventstore/postgres/p/p.go", doc + `package p; import "hecate/eventstore/postgres"`, nil},
		"foreign module":         {"domain/p/p.go", doc + `package p; import "example.com/m"`, []string{"stdlib"}},
		"foreign module, tested": {"domain/p/p_test.go", `package p; import "example.com/m"`, nil},
		"input":                  {"domain/p/p.go", doc + `package p; import "os"`, []string{"pure"}},
		"random id":              {"commands/p.go", doc + `package p; import "crypto/rand"`, []string{"random"}},
		"salt":                   {"eventstore/p/p.go", doc + `package p; import "crypto/rand"`, nil},
		"clock in a fold":        {"projections/p/p.go", doc + `package p; import "time"; var x = time.Since(t)`, []string{"time"}},
		"clock under an alias":   {"commands/p.go", doc + `package p; import tm "time"; var x = tm.Now()`, []string{"time"}},
		"clock handed on":        {"runtime/p/p.go", doc + `package p; import "time"; var now = time.Now`, []string{"time"}},
		"time written down":      {"runtime/p/p.go", doc + `package p; import "time"; var x = time.Now().UTC()`, []string{"time"}},
		"time measured":          {"runtime/p/p.go", doc + `package p; import "time"; var x = time.Since(time.Now().Add(1))`, nil},
		"time that is no time":   {"commands/p.go", doc + `package p; var x = time.Now()`, nil},
		"print":                  {"api/p/p.go", doc + `package p; import "fmt"; func f() { fmt.Println(); println() }`, []string{"print", "print"}},
		"print in cmd":           {"cmd/p/p.go", "// Command p prints.\n" + `package main; import "fmt"; func f() { fmt.Println() }`, nil},
		"no name":                {"api/util/p.go", "// Package util is a drawer.\npackage util", []string{"name"}},
		"no comment":             {"api/p/p.go", "package p", []string{"comment"}},
		"bare function":          {"api/p/p.go", doc + "package p\n\nfunc F() {}\n", []string{"comment"}},
		"bare group":             {"api/p/p.go", doc + "package p\n\nconst (\n\t// A is first.\n\tA = 1\n\tB = 2\n)\n", []string{"comment"}},
		"bare method":            {"api/p/p.go", doc + "package p\n\n// T is.\ntype T struct{}\n\nfunc (t *T) M() {}\n", []string{"comment"}},
		"method of a private":    {"api/p/p.go", doc + "package p\n\ntype t struct{}\n\nfunc (t) M() {}\n", nil},
		"one comment for two":    {"api/p/p.go", doc + "package p\n\n// F and G do.\nfunc F() {}\nfunc G() {}\n", nil},
		"comment elsewhere":      {"cmd/p/p.go", "// Package main does things.\npackage main", []string{"comment"}},
		"not ours":               {"api/testdata/p.go", "package util", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range check(t, fstest.MapFS{c.path: {Data: []byte(c.text)}}) {
				got = append(got, f.rule)
			}
			if !slices.Equal(got, c.rules) {
				t.Errorf("rules broken: %v, want %v", got, c.rules)
			}
		})
	}
}
