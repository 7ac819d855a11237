package feed_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"hecate/api/apitest"
	"hecate/api/feed"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
	"hecate/eventstore/sqlite"
)

// BenchmarkLongRun reads a run of 300 rounds in pages of 500: one whose records are
// in memory, and one that is read from the database.
func BenchmarkLongRun(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log.db")
	s := openLog(b, path)
	longRun(b, s)
	b.Run("recent", func(b *testing.B) { readLongRun(b, s) })
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	s = openLog(b, path)
	defer s.Close()
	b.Run("stored", func(b *testing.B) { readLongRun(b, s) })
}

func openLog(b *testing.B, path string) *sqlite.Store {
	b.Helper()
	s, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func longRun(b *testing.B, s eventstore.Store) {
	b.Helper()
	apitest.Append(b, s, "run-r", run.Created{TaskID: "task_x", Number: 1, Kind: "builtin"})
	version := int64(1)
	for n := range int64(300) {
		said := run.Message{Content: event.NewText(fmt.Sprintf("round %d: I look at the next file now.", n)), ToolCalls: []run.ToolCall{{ID: "c", Name: "read_file", Arguments: event.NewText(`{"path":"README.md"}`)}}}
		apitest.Append(b, s, "run-r",
			run.ModelCallStarted{ModelCallIndex: n},
			run.ModelCallCompleted{ModelCallIndex: n},
			run.ModelResponseRecorded{ModelCallIndex: n, Message: said},
			run.AssistantText{ModelCallIndex: n, Response: version + 3},
			run.ToolCallProposed{ModelCallIndex: n, Response: version + 3},
			run.DispatchSettled{},
			run.TaskUpdated{})
		version += 7
	}
}

func readLongRun(b *testing.B, s eventstore.Store) {
	r := feed.NewReader(s)
	for b.Loop() {
		total := 0
		for after := int64(0); ; {
			page, err := r.Run(b.Context(), "r", after, 500)
			if err != nil {
				b.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			total += len(page)
			after = page[len(page)-1].Sequence
		}
		if total != 2101 {
			b.Fatal(total)
		}
	}
}
