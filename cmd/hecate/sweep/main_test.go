//go:build linux

package sweep_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"hecate/eventstore/postgres/pgtest"
)

var (
	full = flag.Bool("full", os.Getenv("HECATE_SWEEP_FULL") != "", "crash at every point on every backend")

	binary string // hecate with crash points
	root   string // holds everything that the servers write; part of the environment of all that they start
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	flag.Parse()
	raiseParallel()
	var err error
	if root, err = os.MkdirTemp("", "hecate-sweep-"); err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a directory for the tests:", err)
		return 1
	}
	defer os.RemoveAll(root)
	binary = filepath.Join(root, "hecate")
	build := exec.Command("go", "build", "-race=false", "-tags", "crashpoints", "-o", binary, "hecate/cmd/hecate")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
		return 1
	}
	code := pgtest.Main(m)
	if left := orphans(patience); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: processes outlived their servers: %q\n", left)
		code = max(code, 1)
	}
	return code
}

// raiseParallel lets more experiments run at once than there are cores, unless the
// command line says how many: they mostly wait.
func raiseParallel() {
	const atOnce = "5"
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		_ = flag.Set("test.parallel", atOnce) // the flag exists in every test binary
	}
}

// orphans waits until no process is left that a server of these tests started, and
// returns those that stay.
func orphans(limit time.Duration) []string {
	for end := time.Now().Add(limit); ; time.Sleep(pollEvery) {
		if left := processesWith("environ", root); len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// processesWith lists the processes whose /proc file (cmdline, environ) has the text,
// as "id command". One that has ended and is not yet reaped has neither.
func processesWith(file, text string) (out []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/" + file)
	for _, path := range paths {
		dir := filepath.Dir(path)
		if pid, err := strconv.Atoi(filepath.Base(dir)); err != nil || pid == os.Getpid() {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(raw, []byte(text)) {
			continue
		}
		if line, err := os.ReadFile(dir + "/cmdline"); err == nil && len(line) > 0 {
			out = append(out, filepath.Base(dir)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return out
}
