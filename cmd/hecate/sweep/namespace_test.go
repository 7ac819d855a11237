//go:build linux

package sweep_test

import (
	"os/exec"
	"sync"
)

// separate says whether a process can be given a view of the file system of its own.
var separate = sync.OnceValue(func() bool {
	return exec.Command("bwrap", "--dev-bind", "/", "/", "--tmpfs", "/tmp", "true").Run() == nil
})

// apart makes n, as far as files go, a node on another machine than other: it sees
// neither the other's data nor its workspaces. Where it can be done, its own directory
// of workspaces has the same path as the other's.
func (n *node) apart(other *node) {
	if !separate() {
		return
	}
	n.wrap = []string{
		"bwrap", "--die-with-parent", "--dev-bind", "/", "/",
		"--tmpfs", other.data, "--bind", n.temp, other.temp, "--",
	}
	n.temp = other.temp
}
