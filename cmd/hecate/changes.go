package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// changedFile is a file that differs from what the run began with.
type changedFile struct {
	Path   string `json:"path"`
	Status string `json:"status"` // A, M or D; proposed for a patch that is not applied
}

// changeSet is what a run has changed in its workspace, as its snapshots say.
type changeSet struct {
	kinds   map[string][2]string // by path: the first and the last change
	unnamed bool                 // there were more files than an event names
	problem string               // why not all of it is known
}

// add takes an event in that says what has changed.
func (s *changeSet) add(e client.Event) {
	var c struct {
		Files []struct{ Path, Kind string }
		Count int64 `json:"files_count"`

		Problem string
	}
	if json.Unmarshal(e.Data, &c) != nil {
		return
	}
	if c.Problem != "" {
		s.problem = c.Problem
	}
	s.unnamed = s.unnamed || c.Count > int64(len(c.Files))
	if s.kinds == nil {
		s.kinds = map[string][2]string{}
	}
	for _, f := range c.Files {
		was, seen := s.kinds[f.Path]
		if !seen {
			was[0] = f.Kind
		}
		s.kinds[f.Path] = [2]string{was[0], f.Kind}
	}
}

// files lists what is different in the end, by path.
func (s *changeSet) files() []changedFile {
	out := []changedFile{}
	for _, path := range slices.Sorted(maps.Keys(s.kinds)) {
		first, last := s.kinds[path][0], s.kinds[path][1]
		switch {
		case first == "add" && last == "delete":
		case first == "add":
			out = append(out, changedFile{path, "A"})
		case last == "delete":
			out = append(out, changedFile{path, "D"})
		default:
			out = append(out, changedFile{path, "M"})
		}
	}
	return out
}

// changes says which files changed, and which changes are only proposed. A run that cannot be
// asked about those any more is no reason to lose the rest of the result.
func (f *follower) changes(ctx context.Context) {
	f.result.Files = f.changed.files()
	patches, err := f.server.Patches(ctx, f.task, f.run)
	if err != nil {
		fmt.Fprintf(f.ask, "%s list the proposed changes: %s\n", f.asks.Yellow("!"), terminal.Line(err.Error()))
		return
	}
	for _, p := range patches {
		if p.Status == "proposed" {
			f.result.Files = append(f.result.Files, changedFile{strings.TrimPrefix(strings.TrimPrefix(p.Path, f.result.WorkspacePath), "/"), p.Status})
		}
	}
}

// filesShown is how many files are listed at the end; the rest is only counted.
const filesShown = 50

// listFiles prints the changed files.
func (f *follower) listFiles(r runResult) {
	st := f.a.outStyle
	if len(r.Files) == 0 && f.changed.problem == "" {
		return
	}
	fmt.Fprintln(f.out, "\n"+st.Bold("changed files"))
	columns := 2
	for _, file := range r.Files {
		columns = max(columns, terminal.Columns(terminal.Line(file.Status)))
	}
	for _, file := range r.Files[:min(len(r.Files), filesShown)] {
		fmt.Fprintf(f.out, "  %-*s %s\n", columns, terminal.Line(file.Status), terminal.Line(file.Path))
	}
	switch more := len(r.Files) - filesShown; {
	case f.changed.unnamed:
		fmt.Fprintln(f.out, "  "+st.Dim("… and more"))
	case more > 0:
		fmt.Fprintln(f.out, "  "+st.Dim("… and "+show.Count(int64(more), "file")+" more"))
	}
	if f.changed.problem != "" {
		fmt.Fprintf(f.out, "  %s %s\n", st.Yellow("!"), terminal.Line(f.changed.problem))
	}
}
