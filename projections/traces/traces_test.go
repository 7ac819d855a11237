package traces_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hecate/domain/event"
	"hecate/eventstore"
	"hecate/projections/projectiontest"
	"hecate/projections/traces"
)

var update = flag.Bool("update", false, "write the golden files anew")

// told is a run's trace as text.
func told(t *testing.T, log traces.Log, runID string) string {
	t.Helper()
	tr, err := traces.Read(t.Context(), log, runID, "memory")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	it := tr.Item()
	fmt.Fprintf(&out, "%s of %s: %s %s, %d spans, %d ms, answered by %q\n", it.TraceID, it.RequestID, it.StatusCode, it.StatusText, it.SpanCount, it.DurationMS, it.Route.FinalProvider)
	for _, c := range tr.Run.Route.Candidates {
		fmt.Fprintf(&out, "attempt %d at %s %s: %s %s\n", c.Attempt, c.Provider, c.Model, c.Outcome, c.Detail)
	}
	depth := map[string]int{}
	for _, s := range tr.Spans {
		depth[s.SpanID] = depth[s.ParentID] + 1
		indent := strings.Repeat("  ", depth[s.ParentID])
		end := "…"
		if !s.End.IsZero() {
			end = fmt.Sprint(s.End.Sub(projectiontest.Start).Milliseconds())
		}
		fmt.Fprintf(&out, "%s%s %s [%d %s] %s %s %s\n", indent, s.Name, s.Kind, s.Start.Sub(projectiontest.Start).Milliseconds(), end, s.Status, s.Message, flat(s.Attributes))
		for _, e := range s.Events {
			fmt.Fprintf(&out, "%s  · %s %s\n", indent, e.Name, flat(e.Attributes))
		}
	}
	return out.String()
}

func flat(a traces.Attributes) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if k == "hecate.run.id" || k == "hecate.phase" {
			continue
		}
		out = append(out, fmt.Sprintf("%s=%v", k, a[k]))
	}
	return strings.Join(out, " ")
}

// Each kind of history is told as it stands in testdata.
func TestStories(t *testing.T) {
	for name, story := range projectiontest.Stories() {
		t.Run(name, func(t *testing.T) {
			log := projectiontest.New(t)
			log.AddAll(story.Facts)
			var got strings.Builder
			for _, id := range runsOf(log.Records()) {
				got.WriteString(told(t, log, id))
			}
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func runsOf(records []eventstore.Record) (ids []string) {
	for _, r := range records {
		if id, ok := strings.CutPrefix(r.Stream, traces.StreamPrefix); ok && r.Version == 1 {
			ids = append(ids, id)
		}
	}
	return ids
}

// Whoever begins in the midst of a run, wherever that is, hands on what is left, and the
// same spans. Each span is in one trace, below one that there is, under an id of its own.
func TestTheSameSpansFromAnywhere(t *testing.T) {
	log := projectiontest.New(t)
	log.AddAll(projectiontest.Mix(1))
	for _, id := range runsOf(log.Records()) {
		records, err := log.ReadStream(t.Context(), traces.StreamPrefix+id, 0, eventstore.EventsMax)
		if err != nil {
			t.Fatal(err)
		}
		var all []traces.Span
		after := make([]int, len(records)+1) // spans that have ended before a version
		whole := traces.New(id, "memory")
		for i, r := range records {
			all = append(all, clone(t, whole.Record(r))...)
			after[i+1] = len(all)
		}
		checkTree(t, append(slices.Clone(all), whole.Open()...))
		for from := 0; from < len(records); from += 1 + from/8 {
			late := traces.New(id, "memory")
			if from > 0 {
				if err := late.Catch(t.Context(), log, int64(from), nil); err != nil {
					t.Fatal(err)
				}
			}
			var rest []traces.Span
			for _, r := range records[from:] {
				rest = append(rest, late.Record(r)...)
			}
			if d := cmp.Diff(all[after[from]:], rest, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("run %s from %d: -want +got\n%s", id, from, d)
			}
		}
	}
}

// clone is spans as they are at this moment.
func clone(t *testing.T, spans []traces.Span) []traces.Span {
	t.Helper()
	for i, s := range spans {
		spans[i].Attributes, spans[i].Events = maps.Clone(s.Attributes), slices.Clone(s.Events)
	}
	return spans
}

func checkTree(t *testing.T, spans []traces.Span) {
	t.Helper()
	ids := map[string]bool{}
	for _, s := range spans {
		if ids[s.SpanID] || s.TraceID != spans[0].TraceID {
			t.Errorf("%s: id %s, trace %s", s.Name, s.SpanID, s.TraceID)
		}
		ids[s.SpanID] = true
	}
	for _, s := range spans {
		if s.Name != traces.Request && !ids[s.ParentID] {
			t.Errorf("%s is part of %s, which is not there", s.Name, s.ParentID)
		}
	}
}

// texter is a payload with texts.
type texter interface{ Texts() []*event.Text }

// No text of a person, a model or a program is on a span.
func TestNoTexts(t *testing.T) {
	texts := 0
	for name, story := range projectiontest.Stories() {
		log := projectiontest.New(t)
		log.AddAll(story.Facts)
		var all strings.Builder
		for _, id := range runsOf(log.Records()) {
			tr, err := traces.Read(t.Context(), log, id, "memory")
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(tr.Detail())
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
		for _, f := range story.Facts {
			p := reflect.New(reflect.TypeOf(f.Payload))
			p.Elem().Set(reflect.ValueOf(f.Payload))
			of, ok := p.Interface().(texter)
			if !ok {
				continue
			}
			for _, text := range of.Texts() {
				if s := text.String(); len(s) >= 12 {
					texts++
					if strings.Contains(all.String(), s) {
						t.Errorf("%s: %q is on a span", name, s)
					}
				}
			}
		}
	}
	if texts < 20 {
		t.Errorf("there were %d texts to look for", texts)
	}
}

func TestLabel(t *testing.T) {
	for in, want := range map[string]string{
		" gpt-5 ": "gpt-5", "a\x00b": "other", "bad\xff": "other", strings.Repeat("x", 97): "other", strings.Repeat("x", 96): strings.Repeat("x", 96), "": "",
	} {
		if got := traces.Label(in); got != want {
			t.Errorf("%q is %q", in, got)
		}
	}
}

// A stream that has no beginning, or none of a run, says nothing and breaks nothing.
func TestNoBeginning(t *testing.T) {
	log := projectiontest.New(t)
	for _, d := range event.Definitions() {
		log.Add("run-loose", d.Sample)
	}
	tr, err := traces.Read(t.Context(), log, "loose", "memory")
	if err != nil || tr.Root() == nil {
		t.Fatal(tr.Root(), err) // one of the samples is a beginning
	}
	tr, err = traces.Read(t.Context(), log, "unknown", "memory")
	if err != nil || len(tr.Spans) != 0 || tr.Item().SpanCount != 0 {
		t.Errorf("%+v %v", tr, err)
	}
}
