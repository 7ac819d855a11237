package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hecate/domain/ident"
)

// group is a control group (version 2) of one command: what a process starts is in it,
// whatever session, parent or name that takes, so that it can be ended even when the
// supervisor has been killed. There is none where this process may make none: then the
// supervisor is all there is. It bounds nothing; that is for the service of the server.
type group struct {
	dir  string
	lock *os.File // the directory, locked as long as the command has an owner
}

const (
	groupName  = "hecate"
	groupEmpty = 5 * time.Millisecond // how often it is looked whether ended processes are gone
)

// groupsAt is the directory in which groups can be made; "" if there is none. What earlier
// processes have left there is ended first: they died together with a supervisor.
var groupsAt = sync.OnceValue(func() string {
	dir := ControlGroup()
	if dir == "" || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
		return ""
	}
	left, _ := filepath.Glob(filepath.Join(dir, groupName+"_*"))
	for _, path := range left {
		if g, err := openGroup(path); err == nil {
			g.end()
		}
	}
	return dir
})

// newGroup makes a group, or returns nil.
func newGroup() *group {
	at := groupsAt()
	if at == "" {
		return nil
	}
	dir := filepath.Join(at, ident.New(groupName))
	if os.Mkdir(dir, 0o755) != nil {
		return nil
	}
	g, err := openGroup(dir)
	if err != nil {
		_ = os.Remove(dir)
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil { // before Linux 5.14
		g.end()
		return nil
	}
	return g
}

// openGroup takes a group that has no owner.
func openGroup(dir string) (*group, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &group{dir: dir, lock: f}, nil
}

// kill ends every process in the group.
func (g *group) kill() {
	if g != nil {
		_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0)
	}
}

// end does that, and removes the group once they are gone. What the kernel does not let go
// within a second stays for the next process that looks.
func (g *group) end() {
	if g == nil {
		return
	}
	defer g.lock.Close()
	for until := time.Now().Add(killWait); ; time.Sleep(groupEmpty) {
		err := os.Remove(g.dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) || time.Now().After(until) {
			return
		}
		g.kill()
	}
}

// Grouped reports whether each command gets a control group of its own.
func Grouped() bool { return groupsAt() != "" }
