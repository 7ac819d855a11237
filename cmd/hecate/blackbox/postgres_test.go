//go:build linux

package blackbox_test

import (
	"testing"

	"hecate/eventstore/postgres/pgtest"
)

// backends are the settings of a server over a new log, by kind of database.
var backends = map[string]func(t *testing.T) []string{
	"sqlite":   func(*testing.T) []string { return nil },
	"postgres": func(t *testing.T) []string { return onPostgres(pgtest.URL(t)) },
}

func onPostgres(url string) []string {
	return []string{"HECATE_BACKEND=postgres", "HECATE_POSTGRES_URL=" + url}
}

// What matters most holds on PostgreSQL too.
func TestPostgres(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := serve(t, append(onPostgres(url), "HECATE_TASK_APPROVAL_POLICIES=")...)
	direct := s.begin(t, sh("echo out"))
	direct.becomes(t, "completed")
	equal(t, "history", direct.history(t), "run.created run.queued run.started tool.invoked tool.started tool.shell.command "+
		"tool.shell.output_chunk tool.shell.exited tool.completed run.finished")
	odd := "nul\x00 and \uFFFD, é"
	equal(t, "odd text", s.post(t, direct.path()+"/events", args{"note": odd}).str("data", "note"), odd)

	crashDuringACommand(t, s)
	before := len(pages(t, s.client, "limit=500"))
	s.crash(t)
	equal(t, "events after a crash", len(pages(t, s.client, "limit=500")), before)
}

func TestPostgresApprovals(t *testing.T) {
	t.Parallel()
	crashWhileAnApprovalWaits(t, serve(t, append(onPostgres(pgtest.URL(t)), "HECATE_TASK_APPROVAL_POLICIES=UNSET")...))
}
