package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"hecate/domain/event"
	"hecate/domain/operation"
	"hecate/tools/snapshot"
)

// diffMax is how much of a diff a preview holds, in bytes.
const diffMax = 4 << 20

// landedOf is a landing as events hold it.
func landedOf(l snapshot.Landing) *operation.Landed {
	paths := pathBudget(pathsMax)
	out := &operation.Landed{FilesCount: int64(len(l.Files)), Files: []operation.LandedFile{}, NotUndoneCount: int64(l.NotUndoneCount)}
	for _, f := range l.Files {
		switch f.Outcome {
		case snapshot.Conflicted:
			out.Conflicts++
		case snapshot.Withheld:
			out.Withheld++
		}
		if len(out.Files) < operation.LandedMax && paths.fits(f.Path) {
			out.Files = append(out.Files, operation.LandedFile{Path: shownPath(f.Path), Outcome: string(f.Outcome), Reason: f.Reason, Class: f.Class})
		}
	}
	for _, p := range l.NotUndone[:min(len(l.NotUndone), operation.LandedMax)] {
		if paths.fits(p) {
			out.NotUndone = append(out.NotUndone, shownPath(p))
		}
	}
	return out
}

// digestOf is the same for two looks if the same would be done to the same files.
func digestOf(out *operation.Landed, l snapshot.Landing, plan any) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	head := []any{out.Target, out.Commit, out.Before, out.After, plan}
	for _, f := range l.Files {
		head = append(head, []string{hex.EncodeToString([]byte(f.Path)), string(f.Outcome), f.Found})
	}
	_ = e.Encode(head) // strings and a plain struct: it cannot fail
	return hex.EncodeToString(h.Sum(nil))
}

// show adds the diff between two snapshots to a preview.
func (h *history) show(ctx context.Context, out *operation.Landed, from, to snapshot.Tree, paths ...string) error {
	diff, err := h.Patch(ctx, from, to, paths...)
	if err != nil {
		return err
	}
	out.DiffCut = len(diff) > diffMax
	out.Diff = event.NewText(string(diff[:min(len(diff), diffMax)]))
	return nil
}

// finished reports whether nothing is left to be written.
func finished(l snapshot.Landing) bool {
	for _, f := range l.Files {
		if f.Outcome != snapshot.Already && f.Outcome != snapshot.Withheld {
			return false
		}
	}
	return true
}

func conflicted(out *operation.Landed) string {
	for _, f := range out.Files {
		if f.Outcome == string(snapshot.Conflicted) {
			return fmt.Sprintf("%s, which %s", f.Path, f.Reason)
		}
	}
	return "one that is not listed"
}
