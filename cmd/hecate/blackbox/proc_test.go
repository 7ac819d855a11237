//go:build linux

package blackbox_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// processesWith lists the processes whose /proc file (cmdline, environ) has the
// text, as "id command". A process that has ended but is not yet reaped has neither.
func processesWith(file, text string) []string {
	var out []string
	paths, _ := filepath.Glob("/proc/[0-9]*/" + file)
	for _, path := range paths {
		dir := filepath.Dir(path)
		if pid, err := strconv.Atoi(filepath.Base(dir)); err != nil || pid == os.Getpid() {
			continue
		}
		if raw, err := os.ReadFile(path); err != nil || !bytes.Contains(raw, []byte(text)) {
			continue
		}
		line, err := os.ReadFile(dir + "/cmdline")
		if err == nil && len(line) > 0 {
			out = append(out, filepath.Base(dir)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return out
}

// orphans waits until no process is left that a server of these tests started,
// and returns those that stay.
func orphans(limit time.Duration) []string {
	var left []string
	for end := time.Now().Add(limit); ; time.Sleep(pollEvery) {
		if left = processesWith("environ", root); len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

var naps atomic.Int64

// nap is a sleep that can be told from every other process of the machine.
func nap(seconds int) string {
	return fmt.Sprintf("sleep %d.%06d%03d", seconds, os.Getpid()%1_000_000, naps.Add(1))
}

// runs says whether the sleep itself runs, not only a shell that is to start it.
func runs(nap string) bool {
	return len(processesWith("cmdline", strings.ReplaceAll(nap, " ", "\x00"))) > 0
}

// goneSoon asserts that no process is left whose command line has one of the
// naps: neither the sleep nor what runs it.
func goneSoon(t *testing.T, naps ...string) {
	t.Helper()
	for _, nap := range naps {
		_, number, _ := strings.Cut(nap, " ")
		eventually(t, "no process is left of "+nap, func() bool { return len(processesWith("cmdline", number)) == 0 })
	}
}

const (
	pollEvery = 10 * time.Millisecond
	patience  = 2 * time.Minute // for what takes milliseconds on an idle machine
)

// eventually polls until ok holds, and fails the test if it never does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(pollEvery) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func fileLines(path string) int {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return bytes.Count(raw, []byte("\n"))
}

// soon is eventually for goroutines: it only says whether ok came to hold.
func soon(ok func() bool) bool {
	for end := time.Now().Add(patience); !ok(); time.Sleep(pollEvery) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
