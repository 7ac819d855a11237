package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
)

// changedFile is a file that differs from what the run began with.
type changedFile struct {
	Path   string `json:"path"`
	Status string `json:"status"` // as git says it, such as M or ??; proposed or reverted for a patch that is not applied
}

// changes asks which files changed. A run that cannot be asked about any more is
// no reason to lose the rest of the result.
func (f *follower) changes(ctx context.Context) {
	f.result.Files = []changedFile{}
	artifacts, err := f.server.Artifacts(ctx, f.task, f.run)
	if err != nil {
		fmt.Fprintf(f.ask, "%s list the changed files: %s\n", f.asks.Yellow("!"), terminal.Line(err.Error()))
		return
	}
	files, byGit := changedByGit(artifacts)
	if !byGit {
		f.result.Files = changedByPatches(artifacts, f.result.WorkspacePath)
		return
	}
	for _, file := range files {
		if f.origin != "" && !f.committed && sameFile(f.origin, f.result.WorkspacePath, file.Path) {
			f.result.FilesBefore++
			continue
		}
		f.result.Files = append(f.result.Files, file)
	}
}

// changedByGit reads git's summary, if there is one. It compares with the last
// commit, so it names what was changed before the run, too.
func changedByGit(artifacts []client.Artifact) ([]changedFile, bool) {
	for _, a := range artifacts { // newest first
		var summary struct{ Files []changedFile }
		if a.Kind == "git_summary" && json.Unmarshal([]byte(a.Content), &summary) == nil {
			return summary.Files, true
		}
	}
	return nil, false
}

// changedByPatches names the files that the run's own tools wrote, as git would: a
// file's oldest patch says whether it was there before, its latest whether it is now.
func changedByPatches(artifacts []client.Artifact, root string) []changedFile {
	out := []changedFile{}
	at := map[string]int{}
	for _, a := range artifacts { // newest first
		if a.Kind != "patch" {
			continue
		}
		i, seen := at[a.Path]
		if !seen {
			i = len(out)
			at[a.Path] = i
			out = append(out, changedFile{Path: strings.TrimPrefix(strings.TrimPrefix(a.Path, root), "/"), Status: patchStatus(a)})
		}
		if added := strings.HasPrefix(a.Content, "--- /dev/null\n"); added && out[i].Status == "M" {
			out[i].Status = "A"
		}
	}
	return out
}

// patchStatus is A, M or D for a patch that was applied, else what became of it.
func patchStatus(a client.Artifact) string {
	switch {
	case a.Status != "applied":
		return a.Status
	case strings.HasPrefix(a.Content, "--- /dev/null\n"):
		return "A"
	case strings.Contains(a.Content, "\n+++ /dev/null\n"):
		return "D"
	}
	return "M"
}

// sameFile reports whether a workspace of this machine holds the same at a path as
// the directory that it was copied from, or nothing like it. What cannot be compared
// counts as different.
func sameFile(origin, workspace, path string) bool {
	if info, err := os.Stat(workspace); err != nil || !info.IsDir() || !filepath.IsLocal(path) {
		return false // another machine's, or gone
	}
	was, now := filepath.Join(origin, path), filepath.Join(workspace, path)
	wasInfo, wasErr := os.Lstat(was)
	nowInfo, nowErr := os.Lstat(now)
	switch {
	case errors.Is(wasErr, fs.ErrNotExist) && errors.Is(nowErr, fs.ErrNotExist):
		return true
	case wasErr != nil || nowErr != nil || wasInfo.Mode() != nowInfo.Mode():
		return false
	case wasInfo.Mode().Type() == fs.ModeSymlink:
		wasTo, wasErr := os.Readlink(was)
		nowTo, nowErr := os.Readlink(now)
		return wasErr == nil && nowErr == nil && wasTo == nowTo
	case !wasInfo.Mode().IsRegular() || wasInfo.Size() != nowInfo.Size():
		return false
	}
	return sameBytes(was, now)
}

// sameBytes compares two files without holding either of them.
func sameBytes(a, b string) bool {
	fileA, err := os.Open(a)
	if err != nil {
		return false
	}
	defer fileA.Close()
	fileB, err := os.Open(b)
	if err != nil {
		return false
	}
	defer fileB.Close()
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(fileA, bufA)
		m, errB := io.ReadFull(fileB, bufB)
		switch {
		case !bytes.Equal(bufA[:n], bufB[:m]):
			return false
		case atEnd(errA) && atEnd(errB):
			return true
		case errA != nil || errB != nil:
			return false
		}
	}
}

func atEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// listFiles prints the changed files.
func (f *follower) listFiles(r runResult) {
	st := f.a.outStyle
	if len(r.Files) == 0 && r.FilesBefore == 0 {
		return
	}
	fmt.Fprintln(f.out, "\n"+st.Bold("changed files"))
	columns := 2
	for _, file := range r.Files {
		columns = max(columns, terminal.Columns(terminal.Line(file.Status)))
	}
	for _, file := range r.Files {
		fmt.Fprintf(f.out, "  %-*s %s\n", columns, terminal.Line(file.Status), terminal.Line(file.Path))
	}
	if r.FilesBefore > 0 {
		fmt.Fprintln(f.out, "  "+st.Dim(show.Count(int64(r.FilesBefore), "file")+" changed before the run, left out"))
	}
}
