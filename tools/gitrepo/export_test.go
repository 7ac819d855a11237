package gitrepo

import "context"

// ParseStatus is for fuzzing.
var ParseStatus = parseStatus

// LookUp is for fuzzing: it returns what a view takes for the last commit.
func LookUp(ctx context.Context, dir string) (string, error) {
	v, err := open(ctx, dir)
	if err != nil {
		return "", err
	}
	defer v.close()
	return v.head, nil
}
