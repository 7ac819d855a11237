package gitrepo

import (
	"context"
	"strings"
)

// TrackedIgnored lists the files that the repository tracks although its ignore rules
// name them, as slash-separated paths below dir.
func TrackedIgnored(ctx context.Context, dir string) ([]string, error) {
	v, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer v.close()
	out, err := v.run(ctx, call{whole: true}, "ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}
