package show_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// The status line never takes more than a row, and the least important goes first.
func TestStatusLine(t *testing.T) {
	events := eventsOf(t, "testdata/again.jsonl")
	live := show.NewLive(io.Discard, terminal.Style{Columns: 80, Redraws: true})
	for _, e := range events {
		if live.Event(e); e.Type == "model.call.started" {
			break
		}
	}
	now := time.Date(2026, 1, 2, 3, 4, 3, 0, time.UTC)
	for columns, want := range map[int]string{
		80: "… model call 1  2s", 20: "… model call 1…",
	} {
		rows := live.Rows(live.Doing(now), now, columns, 24)
		if len(rows) != 1 || !strings.HasPrefix(rows[0], want) {
			t.Errorf("%d columns: %q", columns, rows)
		}
	}
	live.Typing(1<<60, "日本語の文章\tand\x1b[2J more "+strings.Repeat("wide✅", 200))
	for columns := 1; columns < 120; columns++ {
		rows := live.Rows("something that is done at the moment", now, columns, 24)
		if len(rows) != 7 {
			t.Fatalf("%d rows at %d columns", len(rows), columns)
		}
		for _, row := range rows {
			if n := terminal.Columns(row); columns >= 12 && n >= columns {
				t.Errorf("%d of %d columns: %q", n, columns, row)
			}
			if strings.ContainsAny(row, "\x1b\t\n") {
				t.Errorf("%q", row)
			}
		}
	}
}

// What waits for a person is said until it is answered, and by whom it was.
func TestStatusAsks(t *testing.T) {
	var out strings.Builder
	live := show.NewLive(&out, terminal.Style{Columns: 80})
	live.Name = func(id string) string { return map[string]string{"approval_1": "ada"}[id] }
	asked := false
	for _, e := range eventsOf(t, "testdata/asks.jsonl") {
		live.Event(e)
		line := live.Rows("", e.OccurredAt, 80, 24)
		if asked = asked || e.Type == "approval.requested"; e.Type == "approval.resolved" {
			asked = false
		}
		if got := strings.HasPrefix(line[len(line)-1], "? approve? "); got != asked {
			t.Errorf("after %s: %q", e.Type, line)
		}
	}
}
