package builtin

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"hecate/domain/event"
	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/filepatch"
	"hecate/tools/rootfs"
	"hecate/tools/sandbox"
	"hecate/tools/textedit"
)

// Limits of one patch: all of its files are held in memory, and recorded together in
// one append, each as an event of its own.
const (
	patchMax      = 16 << 20 // bytes of its files together, before and after
	patchFilesMax = 200
)

// applyPatch lets the model change several files at once, or none.
var applyPatch = tools.New(tools.Spec[applyPatchIn]{
	Name: "apply_patch",
	Summary: "Add, update and delete files of the workspace with one patch; all of it is applied or nothing. It begins with *** Begin Patch and ends with *** End Patch. " +
		"Between them: *** Add File: path, then lines with +; *** Update File: path, then hunks, each begun with @@, of lines with a space (context), - or +; *** Delete File: path. " +
		"With propose nothing is changed: the patch waits for the operator.",
	Check:   checkApplyPatch,
	Propose: func(in applyPatchIn) bool { return in.Propose },
	Input: func(in applyPatchIn) map[string]any {
		return map[string]any{"patch_chars": utf8.RuneCountInString(in.PatchText), "propose": in.Propose}
	},
	Line:   func(in applyPatchIn) (string, bool) { return in.line(), true },
	Facts:  func(at tools.Place, in applyPatchIn) permission.Facts { return at.Paths(in.paths()...) },
	Handle: runApplyPatch,
})

type applyPatchIn struct {
	PatchText string `json:"patch_text" jsonschema:"the patch"`
	Propose   bool   `json:"propose,omitempty" jsonschema:"only propose the changes; not with Delete File"`
}

// checkApplyPatch reads the patch, so that nobody is asked about one that cannot be read.
func checkApplyPatch(in *applyPatchIn) error {
	sections, err := textedit.Parse(in.PatchText)
	if err != nil {
		return fmt.Errorf("apply_patch: %w", err)
	}
	if n := len(sections); n > patchFilesMax {
		return fmt.Errorf("apply_patch: the patch changes %d files, at most %d go into one; split it", n, patchFilesMax)
	}
	for _, s := range sections {
		if in.Propose && s.Op == textedit.Delete {
			return fmt.Errorf("apply_patch: propose=true does not support delete sections (%q)", s.Path)
		}
	}
	return nil
}

// line names what happens to which file.
func (in applyPatchIn) line() string {
	sections, _ := textedit.Parse(in.PatchText) // checked
	verb := "apply"
	if in.Propose {
		verb = "propose"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "apply_patch %s patch_bytes=%d files=%d", verb, len(in.PatchText), len(sections))
	for _, s := range sections {
		fmt.Fprintf(&b, " %s=%s", s.Op, tools.ShownName(s.Path))
	}
	return b.String()
}

// paths are all that the patch names.
func (in applyPatchIn) paths() []string {
	sections, _ := textedit.Parse(in.PatchText) // checked
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = s.Path
	}
	return names
}

func runApplyPatch(ctx context.Context, env *tools.Env, in applyPatchIn) tools.Result {
	if env.ReadOnly && !in.Propose {
		return notChanged(ctx, env, sandbox.WriteDenied())
	}
	sections, err := textedit.Parse(in.PatchText)
	if err != nil {
		return notChanged(ctx, env, err)
	}
	changes, err := planned(ctx, env, sections)
	if err != nil {
		return notChanged(ctx, env, err)
	}
	if !in.Propose {
		if err := apply(ctx, env, changes...); err != nil {
			return notChanged(ctx, env, err)
		}
	}
	return patched(env, in.Propose, sections, changes)
}

// planned reads all files and works out what becomes of them. Nothing is written.
func planned(ctx context.Context, env *tools.Env, sections []textedit.Section) ([]rootfs.Change, error) {
	seen := map[string]bool{}
	changes := make([]rootfs.Change, 0, len(sections))
	size := 0
	for _, s := range sections {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		from, err := target(env, s.Path, editMax)
		if err != nil {
			return nil, err
		}
		if seen[from.Path] {
			return nil, fmt.Errorf("%s: two sections are about this file; put all its hunks into one", tools.ShownName(s.Path))
		}
		seen[from.Path] = true
		c, err := plan(s, from)
		if err != nil {
			return nil, err
		}
		if size += len(from.Data) + len(c.Data); size > patchMax {
			return nil, fmt.Errorf("the files of this patch have more than %d bytes together; split it", patchMax)
		}
		changes = append(changes, c)
	}
	for _, c := range changes {
		for dir := path.Dir(c.From.Path); dir != "."; dir = path.Dir(dir) {
			if seen[dir] {
				return nil, fmt.Errorf("%s: %q is a file of this patch too", tools.ShownName(c.From.Path), dir)
			}
		}
	}
	return changes, nil
}

func plan(s textedit.Section, from rootfs.File) (rootfs.Change, error) {
	c := rootfs.Change{From: from, Data: []byte(s.Content), Delete: s.Op == textedit.Delete}
	switch {
	case s.Op == textedit.Add && from.Exists:
		return c, fmt.Errorf("%q already exists", s.Path)
	case s.Op != textedit.Add && !from.Exists:
		return c, fmt.Errorf("%q: not found", s.Path)
	}
	if s.Op == textedit.Update {
		after, err := s.Apply(string(from.Data))
		if err != nil {
			return c, fmt.Errorf("%s: %w", tools.ShownName(s.Path), err)
		}
		c.Data = []byte(after)
	}
	if len(c.Data) > editMax {
		return c, errors.New(about(s.Path, rootfs.TooLarge(int64(len(c.Data)), editMax)))
	}
	return c, nil
}

func patched(env *tools.Env, propose bool, sections []textedit.Section, changes []rootfs.Change) tools.Result {
	status := "applied"
	if propose {
		status = "proposed"
	}
	text := "status=" + status
	var facts []event.Payload
	for i, c := range changes {
		after := filepatch.Text(string(c.Data))
		if c.Delete {
			after = filepatch.File{}
		}
		f := fact(env, sections[i].Op, status, c.From, after)
		if c.Delete {
			f.BeforeMode = int64(c.From.Perm())
		}
		if !propose {
			f.BytesWritten = int64(len(after.Content))
		}
		facts = append(facts, f)
		text += fmt.Sprintf("\n%s %s patch_artifact_id=%s", f.Operation, tools.ShownName(c.From.Path), f.ArtifactID)
	}
	r := done(fmt.Sprintf("apply_patch (%d files)", len(changes)), text)
	r.Input = map[string]any{"file_count": len(changes)}
	r.Output = map[string]any{"file_count": len(changes), "proposed": propose}
	r.Facts = facts
	return r
}
