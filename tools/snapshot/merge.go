package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"hecate/tools/rootfs"
)

// mergeBytesMax is how large a text may be that is merged, in bytes.
const mergeBytesMax = 4 << 20

// merge plans a file that has changed on both sides. Content and bit for execution are
// merged by themselves.
func (pl *planner) merge(ctx context.Context, f Landed, base content, w work) (Landed, error) {
	result := w.New
	w.New.Mode = threeWay(base.Mode, w.Old.Mode, result.Mode)
	f.Outcome = Merged
	if base.Mode != 0 && (result.ID == base.ID || w.Old.ID == base.ID || w.Old.ID == result.ID) {
		w.New.ID = result.ID
		if result.ID == base.ID {
			w.New.ID = w.Old.ID
		}
		switch {
		case w.New == w.Old:
			f.Outcome = Already
			return f, nil
		case w.New.ID == w.Old.ID:
			data, err := pl.t.readText(w.Path, FileBytesMax)
			if err != nil {
				return conflict(f, rootfs.Cause(err)), nil
			}
			w.Data, w.Merged = data, true
		}
		return pl.add(f, w)
	}
	texts, why, err := pl.texts(base, w, result)
	if err != nil || why != "" {
		return conflict(f, why), err
	}
	merged, clean, err := pl.s.mergeText(ctx, texts)
	if err != nil {
		return f, err
	}
	if clean && base.Mode == 0 { // an empty file gives way to any other, which nobody has asked for
		return conflict(f, "is new on both sides, with different content"), nil
	}
	w.Data, w.Merged, w.New.ID = merged, true, idOf(kindBlob, merged)
	if !clean {
		f = conflict(f, "has been changed in the same places on both sides")
		if f.Markers = merged; !pl.p.Markers {
			return f, nil
		}
	}
	if w.New == w.Old {
		f.Outcome = Already
		return f, nil
	}
	return pl.add(f, w)
}

// threeWay returns what was changed, if anything was.
func threeWay(base, ours, theirs uint32) uint32 {
	if base == 0 || theirs == base {
		return ours
	}
	return theirs
}

// texts reads target, base and result, in this order; or says why they are not merged.
func (pl *planner) texts(base content, w work, result content) (texts [3][]byte, why string, err error) {
	tooLarge := fmt.Sprintf("has been changed on both sides, and is larger than %d bytes", mergeBytesMax)
	texts[0], err = pl.t.readText(w.Path, mergeBytesMax)
	if errors.As(err, new(rootfs.Unfit)) {
		return texts, tooLarge, nil
	} else if err != nil {
		return texts, rootfs.Cause(err), nil
	}
	if idOf(kindBlob, texts[0]) != w.Old.ID {
		return texts, errMoved.Error(), nil
	}
	if base.Mode != 0 {
		texts[1], err = pl.s.get(base.ID, kindBlob, mergeBytesMax)
	}
	if err == nil {
		texts[2], err = pl.s.get(result.ID, kindBlob, mergeBytesMax)
	}
	if errors.Is(err, errTooLarge) {
		return texts, tooLarge, nil
	} else if err != nil {
		return texts, "", err
	}
	for _, t := range texts {
		if isBinary(t) {
			return texts, "is binary, and has been changed on both sides", nil
		}
	}
	return texts, "", nil
}

// mergeText merges target, base and result, and reports whether that left no conflict.
func (s *Store) mergeText(ctx context.Context, texts [3][]byte) (merged []byte, clean bool, err error) {
	dir, err := os.MkdirTemp(s.dir, "tmp-merge-")
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	args := []string{"merge-file", "--stdout", "--quiet"}
	var files []string
	for i, label := range []string{"here", "base", "result"} {
		name := filepath.Join(dir, label)
		if err := os.WriteFile(name, texts[i], 0o600); err != nil {
			return nil, false, err
		}
		args, files = append(args, "-L", label), append(files, name)
	}
	merged, err = s.git(ctx, append(args, files...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() <= 127 { // how many conflicts
		return merged, false, nil
	}
	return merged, err == nil, err
}
