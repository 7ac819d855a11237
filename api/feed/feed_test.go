package feed_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hecate/api/apitest"
	"hecate/api/feed"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Every event type of a run has its public form in the golden file. Operations on its
// workspace stand in streams of their own, which are not public.
func TestPublicFormOfEveryType(t *testing.T) {
	store := apitest.Executor(t).Store
	apitest.Story(t, store)
	items, err := feed.NewReader(store).Run(t.Context(), apitest.RunID, 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	long, err := json.Marshal(apitest.Long)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, i := range items {
		seen[i.Type] = true
		var line bytes.Buffer
		if err := json.Indent(&line, bytes.ReplaceAll(i.JSON(), long, []byte(`"(the long text)"`)), "", "  "); err != nil {
			t.Fatalf("%s: %v", i.Type, err)
		}
		out.Write(line.Bytes())
		out.WriteString("\n")
	}
	golden(t, "public.json", out.Bytes())
	for _, d := range event.Definitions() {
		if !seen[d.Type] && !strings.HasPrefix(d.Type, "task.") && !strings.HasPrefix(d.Type, "preset.") && !strings.HasPrefix(d.Type, "workspace.operation.") && !strings.HasPrefix(d.Type, "log.") && !strings.HasPrefix(d.Type, "retention.") && d.Type != "external.event" {
			t.Errorf("the story has no %s", d.Type)
		}
	}
	if !seen["ci.build.finished"] {
		t.Error("the caller's event does not stand under its own type")
	}
}

// A list and the log agree, whatever the page size, and whoever asks.
func TestPagesAreTheWhole(t *testing.T) {
	store := apitest.Executor(t).Store
	apitest.Story(t, store)
	r := feed.NewReader(store)
	all, err := r.List(t.Context(), 0, 500, feed.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(after int64) ([]*feed.Item, error){
		"all": func(after int64) ([]*feed.Item, error) { return r.List(t.Context(), after, 3, feed.Filter{}) },
		"task": func(after int64) ([]*feed.Item, error) {
			return r.List(t.Context(), after, 3, feed.Filter{TaskID: apitest.TaskID})
		},
		"run": func(after int64) ([]*feed.Item, error) { return r.Run(t.Context(), apitest.RunID, after, 3) },
	} {
		var got []string
		for after := int64(0); ; {
			page, err := read(after)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, i := range page {
				got = append(got, string(i.JSON()))
			}
			after = page[len(page)-1].Sequence
		}
		var want []string
		for _, i := range all {
			want = append(want, string(i.JSON()))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFilterByType(t *testing.T) {
	store := apitest.Executor(t).Store
	apitest.Story(t, store)
	items, err := feed.NewReader(store).List(t.Context(), 0, 500, feed.Filter{Types: []string{"run.finished", "ci.build.finished"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := typesOf(items); !slices.Equal(got, []string{"run.finished", "ci.build.finished"}) {
		t.Errorf("got %v", got)
	}
	items, err = feed.NewReader(store).List(t.Context(), 0, 500, feed.Filter{TaskID: "task_unknown"})
	if err != nil || len(items) != 0 {
		t.Errorf("an unknown task has %d events, error %v", len(items), err)
	}
}

// The events of a run that belongs to a deleted task are gone from lists.
func TestDeletedTaskIsHidden(t *testing.T) {
	store := apitest.Executor(t).Store
	apitest.Story(t, store)
	r := feed.NewReader(store)
	if items, err := r.List(t.Context(), 0, 1, feed.Filter{}); err != nil || len(items) != 1 {
		t.Fatalf("before: %d events, error %v", len(items), err)
	}
	apitest.Append(t, store, "task-"+apitest.TaskID, task.Deleted{})
	for _, f := range []feed.Filter{{}, {TaskID: apitest.TaskID}} {
		if items, err := r.List(t.Context(), 0, 500, f); err != nil || len(items) != 0 {
			t.Errorf("after: %d events, error %v", len(items), err)
		}
	}
}

// What another version of this program wrote is passed on as it is; what cannot be
// read stops nobody.
func TestForeignRecords(t *testing.T) {
	store := apitest.Executor(t).Store
	apitest.Append(t, store, "run-r", run.Created{TaskID: "task_x", Number: 1, Kind: "builtin"})
	for i, e := range []eventstore.Event{
		{Type: "run.teleported", Schema: 3, Data: []byte(`{"where":"mars","n":1.50}`)},
		{Type: "run.started", Schema: 99, Data: []byte(`{"later":true}`)},
		{Type: "run.started", Schema: 1, Data: []byte(`{"kind":7}`)},
		{Type: "run.odd", Schema: 1, Data: []byte(`[1]`)},
	} {
		e.ID, e.At, e.Salt = [16]byte{1, byte(i)}, apitest.T0, [16]byte{1}
		if _, err := store.Append(t.Context(), eventstore.Batch{Streams: []eventstore.StreamAppend{{Stream: "run-r", Expected: eventstore.AnyVersion, Events: []eventstore.Event{e}}}}); err != nil {
			t.Fatal(err)
		}
	}
	items, err := feed.NewReader(store).Run(t.Context(), "r", 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	var data []string
	for _, i := range items[1:] {
		var e feed.Event
		if err := json.Unmarshal(i.JSON(), &e); err != nil {
			t.Fatal(err)
		}
		data = append(data, e.Type+" "+string(e.Data))
	}
	want := []string{`run.teleported {"where":"mars","n":1.50}`, `run.started {"later":true}`, `run.started {"kind":7}`, `run.odd {}`}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A run's own events and its callers' stand in two streams. A reader that goes on from
// its last sequence misses none of either, while both are written to.
func TestTwoStreamsStayInOrder(t *testing.T) {
	store := apitest.Executor(t).Store
	apitest.Append(t, store, "run-r", run.Created{TaskID: "task_x", Number: 1, Kind: "builtin"})
	const each = 300
	var writers sync.WaitGroup
	write := func(stream string, p event.Payload) {
		enc, err := event.Encode(p, func() [16]byte { return [16]byte{} })
		if err != nil {
			t.Error(err)
		}
		for i := range each {
			e := eventstore.Event{ID: [16]byte{1, stream[0], byte(i >> 8), byte(i)}, Type: enc.Type, Schema: 1, At: apitest.T0, Data: enc.Data, Salt: [16]byte{1}}
			_, err := store.Append(t.Context(), eventstore.Batch{Streams: []eventstore.StreamAppend{{Stream: stream, Expected: eventstore.AnyVersion, Events: []eventstore.Event{e}}}})
			if err != nil {
				t.Error(err)
			}
		}
	}
	writers.Go(func() { write("run-r", run.TaskUpdated{}) })
	writers.Go(func() { write("external-r", run.ExternalEvent{RunID: "r", TaskID: "task_x", Type: "a.b"}) })
	r := feed.NewReader(store)
	follower := r.Follow("r")
	var listed, followed []int64
	for after := int64(0); len(listed) < 2*each+1 || len(followed) < 2*each+1; {
		page, err := r.Run(t.Context(), "r", after, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page {
			after = i.Sequence
			listed = append(listed, after)
		}
		records, err := follower.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range records {
			followed = append(followed, rec.Position)
		}
	}
	writers.Wait()
	for i := range listed {
		if listed[i] != int64(i+1) || followed[i] != int64(i+1) {
			t.Fatalf("at %d: listed %d, followed %d", i, listed[i], followed[i])
		}
	}
}

func typesOf(items []*feed.Item) []string {
	var out []string
	for _, i := range items {
		out = append(out, i.Type)
	}
	return out
}
