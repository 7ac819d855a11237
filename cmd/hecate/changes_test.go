package main

import (
	"encoding/json"
	"slices"
	"testing"

	"hecate/cmd/hecate/internal/client"
)

// What counts is how a file stands at the end, against how it stood at the beginning.
func TestChangeSet(t *testing.T) {
	var s changeSet
	for _, data := range []string{
		`{"files":[{"path":"new","kind":"add"},{"path":"passing","kind":"add"},{"path":"old","kind":"update"},{"path":"gone","kind":"update"},{"path":"back","kind":"delete"}],"files_count":5}`,
		`{"files":[{"path":"new","kind":"update"},{"path":"passing","kind":"delete"},{"path":"gone","kind":"delete"},{"path":"back","kind":"add"}],"files_count":4}`,
	} {
		s.add(client.Event{Data: json.RawMessage(data)})
	}
	want := []changedFile{{"back", "M"}, {"gone", "D"}, {"new", "A"}, {"old", "M"}}
	if got := s.files(); !slices.Equal(got, want) || s.unnamed {
		t.Errorf("got %v, want %v", got, want)
	}
	s.add(client.Event{Data: json.RawMessage(`{"files":[],"files_count":1,"problem":"the disk is full"}`)})
	if !s.unnamed || s.problem != "the disk is full" {
		t.Errorf("%+v", s)
	}
	s.add(client.Event{Data: json.RawMessage(`[]`)}) // nothing of ours
}

func TestRunsThatUseTheServer(t *testing.T) {
	check(t, stillUsed(1), []string{"one more run uses"})
	check(t, stillUsed(2), []string{"2 more runs use"})
}
