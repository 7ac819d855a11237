package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// bwrap returns argv run by bubblewrap: all else read-only, credentials, data and sockets
// of others out of sight, /tmp private and empty, no capabilities, and all processes gone
// when the command is.
func (w Wrapper) bwrap(argv []string, c Confine) []string {
	out := []string{w.Path, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"}
	// Root may change the kernel's settings without any capability, such as the program that it
	// starts for core dumps. Bubblewrap looks at the directory alone, which nobody can write.
	out = append(out, "--ro-bind-try", "/proc/sys", "/proc/sys")
	out = append(out, c.run()...)
	within, elsewhere := c.veils()
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
	out = append(out, "--cap-drop", "ALL", "--die-with-parent")
	if !c.TTY {
		// A session of its own keeps the command from typing into our terminal. With a terminal
		// device that is its own already, and another session would not have that terminal.
		out = append(out, "--new-session")
	}
	return append(append(out, "--"), argv...)
}

// run hides /run. Who may connect to the sockets there, such as those of a service manager,
// of containers or of an agent with keys, has others do what the command may not.
func (c Confine) run() []string {
	if !isDir("/run") {
		return nil
	}
	out := []string{"--tmpfs", "/run"}
	show := func(path string) {
		if path = real(path); path != "/run" && below("/run", path) {
			if _, err := os.Stat(path); err == nil {
				out = append(out, "--ro-bind", path, path)
			}
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) && below("/run", dir) { // as on NixOS, where it is a link
			first, _, _ := strings.Cut(strings.TrimPrefix(filepath.Clean(dir), "/run/"), "/")
			out = append(out, "--ro-bind-try", "/run/"+first, "/run/"+first)
		}
	}
	if c.Network {
		show("/etc/resolv.conf")
	}
	return out
}

// veils are the arguments for what is hidden: in the workspace, and elsewhere.
func (c Confine) veils() (within, elsewhere []string) {
	all := private()
	for _, dir := range c.Hidden {
		if isDir(dir) {
			all = append(all, veil{path: dir, dir: true})
		}
	}
	for _, v := range all {
		args := []string{"--tmpfs", v.path}
		switch {
		case v.shown:
			args = []string{"--ro-bind", v.path, v.path}
		case !v.dir:
			args = []string{"--ro-bind", os.DevNull, v.path} // devices do not work there, so it cannot be read
		}
		if v.path != c.Root && below(c.Root, v.path) {
			within = append(within, args...)
		} else {
			elsewhere = append(elsewhere, args...)
		}
	}
	return within, elsewhere
}
