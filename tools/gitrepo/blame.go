package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Errors of Blame that callers show as they are.
var (
	ErrUnborn    = errors.New("the repository has no commits yet")
	ErrUntracked = errors.New("the file is not in the last commit, so nobody is to be named for its lines")
)

// Blame says of each line of a file which commit it comes from, by whom and when. path
// is relative to dir, content what the file holds: git does not look at the file
// itself. Lines count from 1; with last 0 they go to the end, with first 0 they begin
// there.
//
// It uses none of the repository's configuration, which could name files elsewhere whose
// contents would stand in error messages.
func Blame(ctx context.Context, dir, path string, content []byte, first, last int) (string, error) {
	v, err := open(ctx, dir)
	if err != nil {
		return "", err
	}
	defer v.close()
	if v.head == "" {
		return "", ErrUnborn
	}
	args := []string{"blame", "--no-textconv", "--no-progress", "--date=short", "--abbrev=10"}
	if first > 0 || last > 0 {
		span := fmt.Sprintf("%d,", max(first, 1))
		if last > 0 {
			span += fmt.Sprint(last)
		}
		args = append(args, "-L", span)
	}
	out, err := v.run(ctx, call{input: content}, append(args, "--contents", "-", "--", path)...)
	if err != nil && strings.Contains(err.Error(), "no such path") {
		err = ErrUntracked
	}
	return string(out), err
}
