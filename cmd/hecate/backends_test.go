package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"hecate/eventstore/postgres/pgtest"
)

// The same run on a real repository goes the same way over both databases: the same
// events in the same order, the same answer, the same cost.
func TestARunIsTheSameOverSQLiteAndPostgreSQL(t *testing.T) {
	overSQLite := typesOfRun(t, "HECATE_BACKEND=sqlite")
	overPostgres := typesOfRun(t, "HECATE_BACKEND=postgres", "HECATE_POSTGRES_URL="+pgtest.URL(t))
	if !slices.Equal(overSQLite, overPostgres) {
		t.Errorf("SQLite:     %v\nPostgreSQL: %v", overSQLite, overPostgres)
	}
	if len(overSQLite) < 20 {
		t.Errorf("only %d events: %v", len(overSQLite), overSQLite)
	}
}

// typesOfRun runs the real program on a new repository and returns the types of the
// run's events, its answer and its cost.
func typesOfRun(t *testing.T, settings ...string) []string {
	t.Helper()
	dir := t.TempDir()
	environ, stop, err := e2eEnviron(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	project := filepath.Join(dir, "project")
	for _, args := range [][]string{
		{"init", "-q", project},
		{"-C", project, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "run", "--yes", "--json", "--dir", project, "gated: make a file")
	cmd.Env = append(append(environ, settings...), asHecate+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("hecate run: %v\n%s%s", err, out, stderr.Bytes())
	}
	var got []string
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var line struct {
			Type string    `json:"type"` // of an event
			Data runResult `json:"data"` // of the last line
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		if line.Type != "" {
			got = append(got, line.Type)
			continue
		}
		r := line.Data
		got = append(got, fmt.Sprint(r.Status, r.Answer, r.CostMicroUSD, r.CostKnown, r.Files, r.ModelCallCount))
	}
	return got
}
