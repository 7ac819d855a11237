package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	v1 "hecate/api/v1"
	"hecate/tools/process"
	"hecate/tools/sandbox"
)

// probeMax bounds one look at a program or a database.
const probeMax = 5 * time.Second

// confinement says what commands are held to, and what becomes of those that are not.
func (f *findings) confinement(c config) {
	w := wrapperOf(c)
	none := w.Kind == sandbox.WrapperNone
	lack := wanting
	if c.Sandbox == sandboxRequired {
		lack = failing
	}
	switch {
	case none && c.Sandbox == sandboxNone:
		f.add("sandbox", noted, "none, as HECATE_TASK_SANDBOX=none says: commands can read and change what the server's user can")
	case none:
		f.add("sandbox", lack, "none: %s. Commands can read and change what the server's user can", w.Reason)
	case w.Kind == sandbox.WrapperSandboxExec:
		f.add("sandbox", wanting, "%s; its profile has not been tried by us, see docs/sandbox.md", w.Path)
	default:
		f.add("sandbox", healthy, "%s: commands change only their workspace, and see neither credentials nor the server's data", w.Path)
	}
	switch err := w.Holds(false, false, true); {
	case err == nil:
		f.add("network", healthy, "commands of tasks without sandbox_network have none")
	case c.Sandbox == sandboxRequired:
		f.add("network", failing, "it cannot be taken from commands%s: those of tasks without sandbox_network are refused", because(w, none))
	default:
		f.add("network", wanting, "it cannot be taken from commands%s: for tasks without sandbox_network only their text is checked; HECATE_TASK_SANDBOX=required refuses them", because(w, none))
	}
	if w.Holds(true, false, false) != nil {
		f.add("read-only", wanting, "commands cannot be kept from writing, so tasks with sandbox_read_only run none")
	} else {
		f.add("read-only", healthy, "commands of tasks with sandbox_read_only cannot write")
	}
	switch {
	case proofOf(c, w) == v1.ProofNever:
		f.add("approvals", wanting, "whoever reaches the API may answer them, commands of agents as well (HECATE_OPERATOR_TOKEN_REQUIRED=never)")
	case proofOf(c, w) == v1.ProofAlways, w.Kind != sandbox.WrapperBwrap:
		f.add("approvals", healthy, "they need an operator's token, since commands may reach the API")
	default:
		f.add("approvals", healthy, "they need an operator's token while a run with network is open")
	}
}

// because is the reason of a wrapper that lacks something; a missing one was explained before.
func because(w sandbox.Wrapper, none bool) string {
	if none || w.Reason == "" {
		return ""
	}
	return " (" + w.Reason + ")"
}

// machine says what there is to run commands with.
func (f *findings) machine(ctx context.Context) {
	f.limits()
	if path, err := exec.LookPath("git"); err != nil {
		f.add("git", failing, "it is not in the PATH: tasks with repositories and git tools fail")
	} else if v := versionOf(ctx, path); older(v, 2, 38) {
		f.add("git", wanting, "%s is %s; from 2.38 on a directory that only looks like a repository is not taken for one", path, v)
	} else {
		f.add("git", healthy, "%s, version %s", path, v)
	}
	if path, err := exec.LookPath("sh"); err != nil {
		f.add("shells", failing, "there is no sh in the PATH: shell_exec and git_exec fail")
	} else {
		found := []string{path}
		for _, name := range []string{"bash", "zsh"} {
			if path, err := exec.LookPath(name); err == nil {
				found = append(found, path)
			}
		}
		f.add("shells", healthy, "%s", strings.Join(found, ", "))
	}
	if err := process.CheckTTY(); err != nil {
		f.add("terminals", wanting, "they have pipes only, no devices (pty): %v", err)
	} else {
		f.add("terminals", healthy, "with pipes and with devices (pty)")
	}
	if path := findRTK(); path != "" {
		f.add("rtk", noted, "%s, for chats that want shorter output", path)
	}
}

// limits says whether the operating system bounds what this process starts.
func (f *findings) limits() {
	if runtime.GOOS != "linux" {
		f.add("limits", noted, "the time and output of a command are bounded; its processes and memory are not")
		return
	}
	if process.Grouped() {
		f.add("ending", healthy, "each command gets a control group of its own: all that it starts ends with it")
	} else {
		f.add("ending", noted, "a command's supervisor ends all that it starts; one without a sandbox can kill it first. Where the server's service has Delegate=yes, that ends as well")
	}
	group := process.ControlGroup()
	processes, memory := limitOf(group, "pids.max"), limitOf(group, "memory.max")
	if processes != "" && memory != "" {
		f.add("limits", healthy, "the control group %s allows %s processes and %s bytes of memory", group, processes, memory)
		return
	}
	var lacking []string
	if processes == "" {
		lacking = append(lacking, "TasksMax=")
	}
	if memory == "" {
		lacking = append(lacking, "MemoryMax=")
	}
	f.add("limits", noted, "the time and output of a command are bounded; its processes and memory only where the server's service has %s", strings.Join(lacking, " and "))
}

// limitOf is the tightest limit of a kind that is set on a control group or one around it;
// "" if none is.
func limitOf(group, kind string) string {
	least, found := int64(0), false
	for dir := group; strings.HasPrefix(dir, "/sys/fs/cgroup"); dir = filepath.Dir(dir) {
		raw, err := os.ReadFile(filepath.Join(dir, kind))
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && (!found || n < least) {
			least, found = n, true
		}
	}
	if !found {
		return ""
	}
	return strconv.FormatInt(least, 10)
}

// versionOf is the version that a program says it has.
func versionOf(ctx context.Context, path string) string {
	ctx, stop := context.WithTimeout(ctx, probeMax)
	defer stop()
	out, _ := exec.CommandContext(ctx, path, "--version").Output()
	for word := range strings.FieldsSeq(string(out)) {
		if word[0] >= '0' && word[0] <= '9' {
			return word
		}
	}
	return "unknown"
}

// older reports whether a version is before another one. An unknown one is.
func older(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return true
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA != nil || errB != nil || a < major || a == major && b < minor
}
