package projections_test

import (
	"testing"
	"time"

	"hecate/projections"
)

func TestTimesSortAsText(t *testing.T) {
	early := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	if got := projections.FormatTime(early); got != "2026-01-02T02:04:05.000000000Z" {
		t.Errorf("got %s", got)
	}
	if projections.FormatTime(early) >= projections.FormatTime(early.Add(time.Microsecond)) {
		t.Error("a later time sorts before an earlier one")
	}
	if got := projections.FormatTime(time.Time{}); got != "" {
		t.Errorf("the zero time is %q", got)
	}
}
