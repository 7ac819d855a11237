package worker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"hecate/domain/event"
	"hecate/domain/fault"
	"hecate/domain/operation"
	"hecate/eventstore"
	"hecate/tools/filepatch"
	"hecate/tools/process"
	"hecate/tools/rootfs"
	"hecate/tools/snapshot"
)

// patchedMax is how large a file may be that is compared with a patch, in bytes. A patch
// holds both of its sides, and the log takes no longer text.
const patchedMax = eventstore.BlobMax

// applyPatch applies a patch, or reverts it: the file must be exactly what the patch
// starts from, and becomes exactly what it leads to.
func (j *job) applyPatch(ctx context.Context) (c operation.Completed, adds []event.Payload, err error) {
	kind := j.o.Requested.Kind
	if err := j.patch.May(kind); err != nil {
		return c, nil, err
	}
	diff, err := j.text(ctx, j.patch.Fact.Diff)
	if err != nil {
		return c, nil, err
	}
	p, err := filepatch.Parse(diff)
	if err != nil {
		return c, nil, fault.Invalid("invalid_request", "the patch cannot be carried out: %v", err)
	}
	from, to := p.Before, p.After
	if kind == operation.PatchRevert {
		from, to = to, from
	}
	root, err := os.OpenRoot(j.s.WorkspacePath)
	if err != nil {
		return c, nil, fault.Conflict("invalid_request", "the run's workspace is gone: %s", rootfs.Cause(err))
	}
	defer root.Close()
	found, err := loadPatched(root, j.s.WorkspacePath, p.Path)
	if err != nil {
		return c, nil, err
	}
	done := operation.Completed{Outcome: operation.Done}
	adds = []event.Payload{j.patch.Result(kind, j.o.ID)}
	switch now := (filepatch.File{Exists: found.Exists, Content: string(found.Data)}); {
	case j.o.Begun != nil && now == to:
		return done, adds, nil // the worker that had begun it got so far
	case j.o.Begun != nil && now != from:
		return unknown("its worker vanished, and the file " + p.Path + " is neither what it was before nor what it was to become"), nil, nil
	case now != from:
		return c, nil, fault.Conflict("invalid_request", "the file %q is not what the patch expects; it was changed since, and is left as it is", p.Path)
	}
	noting := j.watch(ctx)
	if err := j.begin(ctx); err != nil {
		return c, nil, err
	}
	if err := j.write(ctx, root, found, to); err != nil {
		return c, nil, err
	}
	return done, append(noting(), adds...), nil
}

// watch looks at the workspace before a file of it is written, and returns what says
// afterwards what has changed. That a snapshot cannot be taken keeps no patch from being applied.
func (j *job) watch(ctx context.Context) (changed func() []event.Payload) {
	h, err := j.history(j.s.Home(), j.s.WorkspacePath)
	var before snapshot.Tree
	if err == nil {
		before, err = h.peek(ctx)
	}
	return func() (out []event.Payload) {
		if err == nil {
			out, err = h.note(ctx, before, j.o.ID)
		}
		if err != nil {
			j.Log.Warn("take a snapshot of a workspace", "operation_id", j.o.ID, "error", err)
		}
		return out
	}
}

// loadPatched reads the file that a patch is about. Where its path leads through a link
// by now, it is another file.
func loadPatched(root *os.Root, rootPath, name string) (rootfs.File, error) {
	rel, err := rootfs.Writable(root, rootPath, name)
	if err != nil {
		return rootfs.File{}, fault.Invalid("invalid_request", "the patch cannot be carried out: %v", err)
	}
	if rel != path.Clean(name) {
		return rootfs.File{}, fault.Conflict("invalid_request", "the path %q leads through a link by now, so it is not the patched file", name)
	}
	found, err := rootfs.Load(root, rel, patchedMax)
	if err != nil {
		return rootfs.File{}, fault.Conflict("invalid_request", "the file %q is not what the patch expects: %s", name, rootfs.Cause(err))
	}
	return found, nil
}

// write makes the file what it is to become.
func (j *job) write(ctx context.Context, root *os.Root, found rootfs.File, to filepatch.File) error {
	err := rootfs.Apply(ctx, root, func() error {
		if !j.t.lease.Valid() {
			return process.ErrLeaseOver
		}
		return nil
	}, rootfs.Change{From: found, Data: []byte(to.Content), Delete: !to.Exists, Mode: fs.FileMode(j.patch.Fact.BeforeMode)})
	if err == nil || ctx.Err() != nil || errors.Is(err, process.ErrLeaseOver) {
		return err
	}
	return fault.Conflict("invalid_request", "the file could not be written: %v", err)
}

var errPatchErased = fault.Conflict("invalid_request", "what the patch changes was erased")

// text is a text of an event that was folded without those in blobs.
func (j *job) text(ctx context.Context, t event.Text) (string, error) {
	if t.Erased() {
		return "", errPatchErased
	}
	if t.Ref() == nil {
		return t.String(), nil
	}
	b, err := j.Store.Blob(ctx, t.Ref().Digest)
	if errors.Is(err, event.ErrErased) {
		return "", errPatchErased
	}
	return string(b), err
}
