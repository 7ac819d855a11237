package process

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
)

// ControlGroup is the directory of this process's control group (version 2); "" if it has
// none, or none that can be seen.
func ControlGroup() string {
	own, found := "", false
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			own, found = path, true
		}
	}
	if !found {
		return ""
	}
	root, at := groupMount()
	rel, err := filepath.Rel(root, own)
	if at == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.Join(at, rel)
}

// groupMount is where the tree of control groups is mounted, and which part of it; "" if it
// is not.
func groupMount() (root, at string) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if kind, _, _ := strings.Cut(after, " "); kind == "cgroup2" && len(fields) > 4 {
			return fields[3], fields[4]
		}
	}
	return "", ""
}
