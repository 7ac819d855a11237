package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The kinds of wrapper.
const (
	WrapperNone  = "none"
	WrapperBwrap = "bwrap"
)

// probeTimeout bounds the trial run of a wrapper.
const probeTimeout = 5 * time.Second

// Detect finds the wrapper that works on this machine: bwrap and its path, or
// none. It tries once per process.
func Detect() (kind, path string) { return detect() }

var detect = sync.OnceValues(func() (string, string) {
	path := "/usr/bin/bwrap"
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath("bwrap"); err != nil {
			return WrapperNone, ""
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	// Installed is not enough: user namespaces may be switched off.
	argv := Wrap(path, []string{"/bin/true"}, Confine{Root: "/tmp", Dir: "/tmp"})
	if err := exec.CommandContext(ctx, argv[0], argv[1:]...).Run(); err != nil {
		return WrapperNone, ""
	}
	return WrapperBwrap, path
})

// Confine is what a wrapped command may touch.
type Confine struct {
	Root     string   // the workspace, absolute: the only directory that can be written
	Dir      string   // where the command begins
	ReadOnly bool     // not even the workspace can be written
	Network  bool     // without it there is only a loopback of its own
	Hidden   []string // directories that look empty, such as the server's data
	Cache    string   // a directory for caches of build tools, which can be written; "" for none
	Set      []string // NAME=VALUE for the command alone: in bwrap's own environment they could change what bwrap does
}

// hidden are the arguments that empty the hidden directories: those in the workspace, and
// those elsewhere.
func (c Confine) hidden() (within, elsewhere []string) {
	for _, dir := range c.Hidden {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		if rel, err := filepath.Rel(c.Root, dir); err == nil && filepath.IsLocal(rel) {
			within = append(within, "--tmpfs", dir)
		} else {
			elsewhere = append(elsewhere, "--tmpfs", dir)
		}
	}
	return within, elsewhere
}

// Wrap returns argv run by bwrap at path: all else read-only, /tmp private and
// empty, no capabilities, and all processes gone when the command is.
func Wrap(path string, argv []string, c Confine) []string {
	out := []string{
		path, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
	}
	within, elsewhere := c.hidden()
	out = append(out, elsewhere...)
	for _, s := range c.Set {
		name, value, _ := strings.Cut(s, "=")
		out = append(out, "--setenv", name, value) // before those of ours, which count
	}
	bind := "--bind"
	if c.ReadOnly {
		bind = "--ro-bind"
	}
	if c.Cache != "" {
		// Build tools fail without a cache that they can write, and home is read-only in there.
		out = append(out, "--bind", c.Cache, c.Cache, "--setenv", "XDG_CACHE_HOME", c.Cache)
	}
	out = append(out, bind, c.Root, c.Root)
	out = append(out, within...) // the workspace would show them again
	out = append(out, "--chdir", c.Dir,
		"--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
	if !c.Network {
		out = append(out, "--unshare-net")
	}
	if os.Getenv("TMPDIR") != "" {
		out = append(out, "--setenv", "TMPDIR", "/tmp") // the server's own one is read-only in there
	}
	// Without --cap-drop a command of root could make the read-only binds writable again.
	out = append(out, "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--")
	return append(out, argv...)
}
