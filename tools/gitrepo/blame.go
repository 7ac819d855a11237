package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Errors of Blame that callers show as they are.
var (
	ErrUnborn    = errors.New("the repository has no commits yet")
	ErrUntracked = errors.New("the file is not in the last commit, so nobody is to be named for its lines")
)

// plainBlame says who wrote what without the help of programs and files that a
// repository names.
var plainBlame = []string{
	"-c", "blame.ignoreRevsFile=", "-c", "blame.coloring=none", "-c", "blame.showEmail=false", "-c", "blame.showRoot=false", "-c", "blame.blankBoundary=false",
	"-c", "mailmap.file=", "-c", "mailmap.blob=", "-c", "color.ui=never",
	"blame", "--no-textconv", "--no-progress", "--date=short", "--abbrev=10",
}

// Blame says of each line of a file which commit it comes from, by whom and when. path
// is relative to dir, content what the file holds: git does not look at the file
// itself. Lines count from 1; with last 0 they go to the end, with first 0 they begin
// there.
func Blame(ctx context.Context, dir, path string, content []byte, first, last int) (string, error) {
	if err := checkFilters(ctx, dir); err != nil {
		return "", err
	}
	args := slices.Clone(plainBlame)
	if first > 0 || last > 0 {
		span := fmt.Sprintf("%d,", max(first, 1))
		if last > 0 {
			span += fmt.Sprint(last)
		}
		args = append(args, "-L", span)
	}
	out, err := feed(ctx, dir, content, append(args, "--contents", "-", "--", path)...)
	var exit *exec.ExitError
	switch {
	case err == nil || !errors.As(err, &exit):
	case strings.Contains(err.Error(), "no such ref"), strings.Contains(err.Error(), "bad revision 'HEAD'"):
		err = ErrUnborn
	case strings.Contains(err.Error(), "no such path"):
		err = ErrUntracked
	}
	return string(out), err
}
