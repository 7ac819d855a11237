package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/operation"
)

// revert takes one change of a file back.
func (c restoreCommand) revert(ctx context.Context, a *app, server *client.Client, of client.Run) error {
	patches, err := server.Patches(ctx, of.TaskID, of.ID)
	if err != nil {
		return fmt.Errorf("list the changes of run %s: %w", of.ID, err)
	}
	p, err := patchNamed(patches, of, c.Patch)
	if err != nil {
		return err
	}
	r := review{
		app: a, reviewFlags: c.reviewFlags, command: "hecate restore " + of.ID + " --patch " + p.Artifact.ID,
		question: "take this change back? y or n: ", done: "put back", nothing: func() string { return "there is nothing to take back" },
	}
	file := client.LandedFile{Path: p.Path, Outcome: "write"}
	if !p.BeforeExisted {
		file.Outcome = "delete"
	}
	shown := client.Landed{Target: cmp.Or(of.WorkspacePath, filepath.Dir(p.Path)), Digest: p.Artifact.ID, Files: []client.LandedFile{file}, FilesCount: 1, Diff: p.Diff}
	return r.through(func(digest string) (client.Landed, error) {
		if digest == "" {
			return shown, nil
		}
		return shown, server.RevertPatch(ctx, of, p.Artifact.ID, r.waiting)
	})
}

// patchNamed finds the patch that an id, its beginning or a file means: of a file, the last
// change that is in force. A file may be named as below the workspace.
func patchNamed(patches []client.Patch, of client.Run, name string) (client.Patch, error) {
	var found []client.Patch // the newest first
	for _, p := range patches {
		if strings.HasPrefix(p.Artifact.ID, name) || p.Path == name || strings.HasSuffix(p.Path, "/"+filepath.Clean(name)) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return client.Patch{}, advise(fmt.Errorf("run %s has no change %s", of.ID, terminal.Line(name)), "what it has done: hecate log "+of.ID)
	}
	for _, p := range found {
		if p.Path != found[0].Path {
			return client.Patch{}, usage(fmt.Errorf("%s means several files: %s and %s", terminal.Line(name), terminal.Line(found[0].Path), terminal.Line(p.Path)))
		}
	}
	for _, p := range found {
		if p.Status == operation.Applied {
			return p, nil
		}
	}
	return client.Patch{}, fmt.Errorf("the change of %s is %s; only one that is applied can be taken back", terminal.Line(found[0].Path), terminal.Line(found[0].Status))
}
