package builtin

import (
	"errors"
	"fmt"

	"hecate/tools"
	"hecate/tools/rootfs"
)

// readable cleans a path for a reading tool and refuses links.
func readable(env *tools.Env, name string) (string, error) {
	rel, err := rootfs.Relative(name)
	if err != nil {
		return "", err
	}
	return rel, rootfs.NoLinks(env.Root, rel)
}

// about is an error text with the path it is about.
func about(name string, err error) string {
	var unfit rootfs.Unfit
	if errors.As(err, &unfit) {
		return fmt.Sprintf("%q %v", name, unfit)
	}
	return fmt.Sprintf("%q: %s", name, rootfs.Cause(err))
}
