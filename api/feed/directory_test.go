package feed_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"hecate/api/apitest"
	"hecate/api/feed"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// counted counts the reads of tasks' and runs' streams and the records that they gave.
type counted struct {
	eventstore.Store
	reads, records int
}

func (c *counted) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error) {
	records, err := c.Store.ReadStream(ctx, stream, after, limit)
	c.reads++
	c.records += len(records)
	return records, err
}

// manyTasks fills a log with tasks that have a run each.
func manyTasks(t *testing.T, n int) *counted {
	t.Helper()
	c := &counted{Store: apitest.Executor(t).Store}
	for i := range n {
		id := fmt.Sprint(i)
		apitest.Append(t, c, "task-"+id, task.Created{})
		apitest.Append(t, c, "run-"+id, run.Created{TaskID: id, Number: 1, Kind: "builtin"})
	}
	return c
}

func list(t *testing.T, r *feed.Reader) (tasks []string) {
	t.Helper()
	items, err := r.List(t.Context(), 0, 500, feed.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range items {
		tasks = append(tasks, i.TaskID)
	}
	return tasks
}

// A page about many tasks asks for each of them once, and never again.
func TestManyTasks(t *testing.T) {
	const n = 200
	log := manyTasks(t, n)
	r := feed.NewReader(log)
	if got := list(t, r); len(got) != n || log.reads > n {
		t.Errorf("first: %d events, %d reads", len(got), log.reads)
	}
	log.reads = 0
	apitest.Append(t, log, "task-7", task.Deleted{})
	got := strings.Join(list(t, r), " ")
	if len(strings.Fields(got)) != n-1 || strings.Contains(got, " 7 ") || log.reads > 0 {
		t.Errorf("second: %d reads, tasks %s", log.reads, got)
	}
}

// Of a task with a long history only the end is looked at.
func TestLongTask(t *testing.T) {
	for name, deleted := range map[string]bool{"kept": false, "deleted": true} {
		log := manyTasks(t, 1)
		for range 10 {
			var opened []event.Payload
			for range 300 {
				opened = append(opened, task.RunClosed{})
			}
			apitest.Append(t, log, "task-0", opened...)
		}
		if deleted {
			apitest.Append(t, log, "task-0", task.Deleted{})
		}
		got := list(t, feed.NewReader(log))
		if (len(got) == 0) != deleted || log.records > 200 {
			t.Errorf("%s: %d events, %d records in %d reads", name, len(got), log.records, log.reads)
		}
	}
}

// A deletion is noticed however much has happened since the last look.
func TestDeletedLongAgo(t *testing.T) {
	log := manyTasks(t, 3)
	r := feed.NewReader(log)
	if got := list(t, r); len(got) != 3 {
		t.Fatalf("before: %v", got)
	}
	apitest.Append(t, log, "task-1", task.Deleted{})
	for range 20 {
		var much []event.Payload
		for range 400 {
			much = append(much, task.RunClosed{})
		}
		apitest.Append(t, log, "task-0", much...)
	}
	if got := list(t, r); len(got) != 2 {
		t.Errorf("after: %v", got)
	}
}

// A hub that rested knows of the deletions of that time when it follows the log again.
func TestDeletedWhileTheHubRests(t *testing.T) {
	log := manyTasks(t, 2)
	r := feed.NewReader(log)
	list(t, r) // knows both tasks as there
	apitest.Append(t, log, "task-0", task.Deleted{})
	h := feed.NewHub(r, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	before := h.After(0, nil)
	defer h.Open()()
	<-before.Changed
	head := h.After(0, nil).Head
	apitest.Append(t, log, "run-0", run.TaskUpdated{})
	apitest.Append(t, log, "run-1", run.TaskUpdated{})
	news := h.After(head, nil)
	for ; len(news.Items) == 0; news = h.After(head, nil) {
		<-news.Changed
	}
	if len(news.Items) != 1 || news.Items[0].TaskID != "1" {
		t.Errorf("%d events, the first of task %s", len(news.Items), news.Items[0].TaskID)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
