package feed_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"hecate/api/apitest"
	"hecate/api/feed"
	"hecate/commands"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/eventstore"
)

// startHub returns a hub that follows a log and the log's records so far.
func startHub(t *testing.T, log feed.Log) (h *feed.Hub, head int64) {
	t.Helper()
	h = feed.NewHub(feed.NewReader(log), slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	begun := h.After(0, nil).Changed
	t.Cleanup(h.Open())
	<-begun
	return h, h.After(0, nil).Head
}

// collect waits until the hub has handed out n events after a position.
func collect(h *feed.Hub, after int64, n int) (out []*feed.Item) {
	for len(out) < n {
		news := h.After(after, nil)
		if news.Behind || news.Closed {
			break
		}
		out, after = append(out, news.Items...), news.Head
		if len(out) < n {
			<-news.Changed
		}
	}
	return out
}

// oldPagesWait is a log whose history takes as long as a test wants.
type oldPagesWait struct {
	eventstore.Store
	slow atomic.Bool
	free chan struct{}
}

func (l *oldPagesWait) ReadAll(ctx context.Context, after int64, limit int) ([]eventstore.Record, error) {
	if after == 0 && l.slow.Load() {
		select {
		case <-l.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return l.Store.ReadAll(ctx, after, limit)
}

// Streams that read the history, however many, do not hold up those that are up to date.
func TestHistoryDoesNotHoldUpNews(t *testing.T) {
	log := &oldPagesWait{Store: apitest.Executor(t).Store, free: make(chan struct{})}
	apitest.Story(t, log)
	h, head := startHub(t, log)
	log.slow.Store(true)
	const late = 100
	pages := make(chan int, late)
	for range late {
		go func() {
			items, _, err := h.Page(t.Context(), 0, feed.Filter{})
			if err != nil {
				t.Error(err)
			}
			pages <- len(items)
		}()
	}
	for range 50 {
		apitest.Append(t, log, "run-"+apitest.RunID, run.TaskUpdated{})
	}
	if n := len(collect(h, head, 50)); n != 50 {
		t.Errorf("%d events", n)
	}
	close(log.free)
	for range late {
		if n := <-pages; n < 40 {
			t.Errorf("a page of %d events", n)
		}
	}
}

// A piece is bounded in number and in bytes, and pieces in a row are the whole.
func TestPieces(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "large": 16 << 10} {
		store := apitest.Executor(t).Store
		h, head := startHub(t, store)
		const total = 400
		text := event.NewText(string(bytes.Repeat([]byte("x"), size)))
		for range total {
			apitest.Append(t, store, "run-r", run.ShellOutput{ToolCallID: "c", Data: text})
		}
		collect(h, head, total)
		var live []int64
		for after := head; len(live) < total; {
			news := h.After(after, nil)
			bytes := 0
			for _, i := range news.Items {
				live, bytes = append(live, i.Sequence), bytes+len(i.Frame())
			}
			if n := len(news.Items); n == 0 || n > 256 || bytes > 300<<10 {
				t.Fatalf("%s: a piece of %d events, %d bytes", name, n, bytes)
			}
			after = news.Head
		}
		var read []int64
		for after := head; len(read) < total; {
			items, upTo, err := h.Page(t.Context(), after, feed.Filter{})
			if err != nil || upTo == after {
				t.Fatal(err, upTo)
			}
			bytes := 0
			for _, i := range items {
				read, bytes = append(read, i.Sequence), bytes+len(i.Frame())
			}
			if bytes > 300<<10 {
				t.Fatalf("%s: a page of %d bytes", name, bytes)
			}
			after = upTo
		}
		if !slices.Equal(live, read) || live[total-1]-live[0] != total-1 {
			t.Errorf("%s: %d live, %d read", name, len(live), len(read))
		}
	}
}

// altered is a log whose texts were tampered with.
type altered struct{ eventstore.Store }

func (altered) Blob(context.Context, string) ([]byte, error) { return nil, eventstore.ErrTampered }

// A text that cannot be trusted is not shown. It stops neither lists nor streams.
func TestAlteredTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := altered{apitest.Executor(t).Store}
		h, head := startHub(t, log)
		apitest.Story(t, log)
		all, err := feed.NewReader(log).List(t.Context(), 0, 500, feed.Filter{})
		if err != nil || len(all) < 40 {
			t.Fatalf("%d events, error %v", len(all), err)
		}
		live := collect(h, head, len(all))
		for i, item := range live {
			if !bytes.Equal(item.JSON(), all[i].JSON()) || bytes.Contains(item.JSON(), []byte("a long line of output")) {
				t.Errorf("%s", item.JSON())
			}
		}
	})
}

// A follower takes the run's records from the hub, and says when one is missing.
func TestFollowerTakesFromTheHub(t *testing.T) {
	store := apitest.Executor(t).Store
	apitest.Append(t, store, "run-r", run.Created{TaskID: "t", Number: 1, Kind: "builtin"})
	h, head := startHub(t, store)
	add := func() {
		apitest.Append(t, store, "run-r", run.TaskUpdated{})
		apitest.Append(t, store, "run-other", run.TaskUpdated{})
		apitest.Append(t, store, "external-r", run.ExternalEvent{RunID: "r", TaskID: "t", Type: "a.b"})
	}
	add()
	f := feed.NewReader(store).Follow("r")
	if records, err := f.Next(t.Context()); err != nil || len(records) != 3 {
		t.Fatalf("%d records, error %v", len(records), err)
	}
	add()
	items := collect(h, head, 6)
	records, ok := f.Take(items)
	if !ok || len(records) != 2 || records[0].Version != 3 || records[1].Version != 2 {
		t.Errorf("took %d records, %v", len(records), ok)
	}
	if records, ok = f.Take(items); !ok || len(records) != 0 {
		t.Errorf("took %d records twice", len(records))
	}
	add()
	add()
	items = collect(h, head, 12)
	if records, ok = f.Take(items[9:]); ok || len(records) != 0 {
		t.Errorf("took %d records behind a gap, %v", len(records), ok)
	}
	if records, err := f.Next(t.Context()); err != nil || len(records) != 4 {
		t.Errorf("%d records afterwards, error %v", len(records), err)
	}
}

// What the hub keeps for streams that keep up is forgotten with an erasure: it may hold what is gone.
func TestHubForgetsWhatWasErased(t *testing.T) {
	x := apitest.Executor(t)
	log := x.Store
	h, head := startHub(t, log)
	apitest.Story(t, log)
	if got := collect(h, head, 30); len(got) < 30 {
		t.Fatalf("%d events", len(got))
	}
	erased, err := x.Erase(t.Context(), commands.Meta{}, commands.EraseRequest{TaskID: apitest.TaskID, Reason: "r"})
	if err != nil {
		t.Fatal(err)
	}
	apitest.Append(t, log, "run-"+apitest.RunID, run.Warned{Code: "c", Message: "m"})
	if got := collect(h, erased.Position, 1); len(got) != 1 {
		t.Fatal("nothing comes behind an erasure")
	}
	if news := h.After(head, nil); !news.Behind {
		t.Errorf("the hub still has %d events from before the erasure", len(news.Items))
	}
}
