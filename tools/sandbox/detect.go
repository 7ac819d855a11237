package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// probeTimeout bounds the trial run of a wrapper. A busy machine must not be taken for one
// that confines nothing.
const probeTimeout = 20 * time.Second

// Detect finds the wrapper that works on this machine. It tries once per process.
func Detect() Wrapper { return detect() }

var detect = sync.OnceValue(func() Wrapper {
	switch runtime.GOOS {
	case "linux":
		return detectBwrap()
	case "darwin":
		return detectSandboxExec()
	}
	return Wrapper{Kind: WrapperNone, Reason: "there is no wrapper for " + runtime.GOOS}
})

func detectBwrap() Wrapper {
	path := "/usr/bin/bwrap"
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath("bwrap"); err != nil {
			return Wrapper{Kind: WrapperNone, Reason: "bubblewrap is not installed: no bwrap in /usr/bin or the PATH"}
		}
	}
	w := Wrapper{Kind: WrapperBwrap, Path: path}
	err := w.try("/bin/true", false)
	if err == nil {
		return w
	}
	// Installed is not enough: user namespaces may be switched off, or only those of the network.
	if w.try("/bin/true", true) == nil {
		w.Online, w.Reason = true, fmt.Sprintf("no network namespace can be made: %v", err)
		return w
	}
	return Wrapper{Kind: WrapperNone, Reason: fmt.Sprintf("%s does not work here: %v%s", path, err, namespaceHint())}
}

// try runs a program that does nothing.
func (w Wrapper) try(program string, network bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	dir := real("/tmp")
	argv := w.Wrap([]string{program}, Confine{Root: dir, Dir: dir, Network: network})
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	if line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n"); err != nil && line != "" {
		return fmt.Errorf("%s", line)
	}
	return err
}

// namespaceHint names the setting of the kernel that forbids namespaces, if it can be seen.
func namespaceHint() string {
	for file, forbids := range map[string]string{
		"/proc/sys/kernel/unprivileged_userns_clone":             "0",
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
		"/proc/sys/user/max_user_namespaces":                     "0",
	} {
		if b, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(b)) == forbids {
			return fmt.Sprintf(" (%s is %s)", file, forbids)
		}
	}
	return ""
}

func detectSandboxExec() Wrapper {
	w := Wrapper{Kind: WrapperSandboxExec, Path: "/usr/bin/sandbox-exec"}
	if _, err := os.Stat(w.Path); err != nil {
		return Wrapper{Kind: WrapperNone, Reason: "there is no " + w.Path}
	}
	if err := w.try("/usr/bin/true", false); err != nil {
		return Wrapper{Kind: WrapperNone, Reason: fmt.Sprintf("%s does not work here: %v", w.Path, err)}
	}
	return w
}
