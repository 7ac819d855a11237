package gitrepo

import (
	"context"
	"slices"
	"strings"
)

// Summary lists what has changed in a work tree since its last commit.
type Summary struct {
	Files    []File `json:"files"`
	DiffStat string `json:"diff_stat,omitempty"`
}

// File is one entry of a summary.
type File struct {
	Path   string `json:"path"`
	Status string `json:"status"` // porcelain code without blanks, such as M or ??
	Raw    string `json:"raw"`    // the entry as one line
}

// plainDiff compares without the help of programs that a repository names. Paths
// count from the directory that is looked at, which may be a part of the repository.
var plainDiff = []string{"diff", "--relative", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"}

// Changes returns the summary; one without files for a clean tree.
func Changes(ctx context.Context, dir string) (Summary, error) {
	v, err := open(ctx, dir)
	if err != nil {
		return Summary{}, err
	}
	defer v.close()
	st, err := v.status(ctx)
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Files: []File{}}
	for _, e := range st.Entries {
		s.Files = append(s.Files, File{Path: e.Path, Status: strings.TrimSpace(e.Code), Raw: e.Line()})
	}
	if len(s.Files) == 0 || st.Unborn {
		return s, nil
	}
	stat, err := v.run(ctx, call{}, append(slices.Clone(plainDiff), "--stat", "HEAD", "--", ".")...)
	if err != nil {
		return s, err
	}
	s.DiffStat = strings.TrimRight(string(stat), "\n")
	return s, nil
}

// Diff returns the unified diff of the work tree, or of what is staged, below path
// ("." for all). It holds bytes as they are in the files, at most 32 MiB.
func Diff(ctx context.Context, dir, path string, staged bool) (string, error) {
	v, err := open(ctx, dir)
	if err != nil {
		return "", err
	}
	defer v.close()
	if err := v.checkFilters(ctx, path); err != nil {
		return "", err
	}
	// A pathspec is a plain path here, not a pattern with magic.
	args := append([]string{"--literal-pathspecs"}, plainDiff...)
	if staged {
		args = append(args, "--cached")
	}
	out, err := v.run(ctx, call{}, append(args, "--", path)...)
	return string(out), err
}
