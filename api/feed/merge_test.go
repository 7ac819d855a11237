package feed_test

import (
	"testing"

	"hecate/api/apitest"
	"hecate/api/feed"
	"hecate/domain/event"
	"hecate/domain/run"
)

// A page reads what it shows, and little else.
func TestPageReadsOnce(t *testing.T) {
	log := manyTasks(t, 1)
	var much []event.Payload
	for range 400 {
		much = append(much, run.TaskUpdated{})
	}
	apitest.Append(t, log, "run-0", much...)
	page, err := feed.NewReader(log).Run(t.Context(), "0", 0, 200)
	if err != nil || len(page) != 200 || log.records > 210 {
		t.Errorf("%d events from %d records, error %v", len(page), log.records, err)
	}
}
