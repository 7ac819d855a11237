package projectiontest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"hecate/domain/erasure"
	"hecate/domain/event"
	"hecate/domain/run"
	"hecate/domain/task"
	"hecate/eventstore"
)

// Erase takes away what the streams of a task and its runs say, as the command does.
func (l *Log) Erase(taskID string) {
	l.t.Helper()
	p := erasure.Erased{Rule: erasure.RuleRequest, Reason: "a test", Subject: "task " + taskID, TaskIDs: []string{taskID}}
	var e eventstore.Erasure
	streams := []string{"task-" + taskID}
	version := int64(0)
	for _, r := range l.Records() {
		if r.Type == erasure.Type {
			version++
		}
		decoded, err := event.Decode(r.Type, r.Schema, r.Data, nil)
		if err != nil {
			l.t.Fatal(err)
		}
		if o, ok := decoded.(task.RunOpened); ok && r.Stream == streams[0] {
			streams = append(streams, "run-"+o.RunID)
		}
		c, ok := decoded.(run.Created)
		if r.Erased != 0 || !slices.Contains(streams, r.Stream) && !(ok && c.TaskID == taskID) {
			continue
		}
		form, contents, err := event.Erase(r.Type, r.Data)
		if err != nil {
			l.t.Fatal(err)
		}
		e.Records = append(e.Records, eventstore.ErasedRecord{Position: r.Position, Salt: r.Salt, Digest: r.DataDigest(), Form: form})
		p.Records = append(p.Records, erasure.Record{Position: r.Position, Form: eventstore.FormDigest(form)})
		for _, c := range contents {
			e.Contents = append(e.Contents, c.Digest)
		}
		if !slices.Contains(p.Types, r.Type) {
			p.Types = append(p.Types, r.Type)
		}
	}
	p.Contents = e.Contents
	data, err := json.Marshal(p)
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = l.Append(context.Background(), eventstore.Batch{
		Actor: eventstore.Actor{Kind: "operator", Name: "ada"}, Erase: &e,
		Streams: []eventstore.StreamAppend{{Stream: erasure.Stream, Expected: version, Events: []eventstore.Event{l.Event(erasure.Type, data)}}},
	})
	if err != nil {
		l.t.Fatal(strings.TrimSpace(err.Error()))
	}
}
