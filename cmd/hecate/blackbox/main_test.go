//go:build linux

package blackbox_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hecate/eventstore/postgres/pgtest"
)

var (
	binary string // the hecate that is tested
	root   string // holds everything that the servers write; part of the environment of all that they start
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	flag.Parse()
	raiseParallel()
	var err error
	if root, err = os.MkdirTemp("", "hecate-blackbox-"); err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a directory for the tests:", err)
		return 1
	}
	defer os.RemoveAll(root)
	binary = filepath.Join(root, "hecate")
	build := exec.Command("go", "build", "-race=false", "-o", binary, "hecate/cmd/hecate")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
		return 1
	}
	code := pgtest.Main(m)
	stopShared()
	if left := orphans(patience); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: processes outlived their servers: %q\n", left)
		code = max(code, 1)
	}
	return code
}

// raiseParallel lets more tests run at once than there are cores, unless the
// command line says how many: they mostly wait for other processes.
func raiseParallel() {
	const atOnce = "6"
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		_ = flag.Set("test.parallel", atOnce) // the flag exists in every test binary
	}
}
