package gitrepo

import (
	"context"
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

// Changes returns the summary; one without files for a clean tree.
func Changes(ctx context.Context, dir string) (Summary, error) {
	st, err := ReadStatus(ctx, dir)
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
	stat, err := run(ctx, dir, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", "--stat", "HEAD", "--", ".")
	if err != nil {
		return s, err
	}
	s.DiffStat = strings.TrimRight(string(stat), "\n")
	return s, nil
}

// Diff returns the unified diff of the work tree, or of what is staged, below path
// ("." for all). It holds bytes as they are in the files.
func Diff(ctx context.Context, dir, path string, staged bool) (string, error) {
	if err := checkFilters(ctx, dir); err != nil {
		return "", err
	}
	args := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"}
	if staged {
		args = append(args, "--cached")
	}
	// A pathspec is a plain path here, not a pattern with magic.
	out, err := run(ctx, dir, append([]string{"--literal-pathspecs"}, append(args, "--", path)...)...)
	return string(out), err
}
