package storetest

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hecate/eventstore"
)

// childEnv tells the child process of Crash which log to open.
const childEnv = "HECATE_STORETEST_CRASH"

const (
	crashes         = 3
	crashWriters    = 8
	crashLinesBased = 150 // acknowledged appends before the first kill
)

// Crash kills a process that appends to the log, three times over, and checks
// after each kill that everything acknowledged is there and the log is whole.
//
// The process is this test binary again, running the calling test only: address
// is what the child's openAt needs to find the log.
func Crash(t *testing.T, address string, openAt func(address string) (eventstore.Store, error)) {
	if at := os.Getenv(childEnv); at != "" {
		s, err := openAt(at)
		if err != nil {
			t.Fatal(err)
		}
		appendForever(s)
	}
	acknowledged := map[string]string{} // event id → position
	for round := range crashes {
		killWhileAppending(t, address, crashLinesBased+70*round, acknowledged)
		s, err := openAt(address)
		if err != nil {
			t.Fatal(err)
		}
		found := readAll(t, s)
		verify(t, found, len(found))
		missing := len(acknowledged)
		for _, r := range found {
			if acknowledged[hex.EncodeToString(r.ID[:])] == strconv.FormatInt(r.Position, 10) {
				missing--
			}
		}
		if missing > 0 {
			t.Errorf("after crash %d: %d of %d acknowledged events are not where they were", round+1, missing, len(acknowledged))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// killWhileAppending starts the child, notes what it says was acknowledged and
// kills it after the given number of lines.
func killWhileAppending(t *testing.T, address string, lines int, acknowledged map[string]string) {
	cmd := exec.CommandContext(withPatience(t), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v=false")
	cmd.Env = append(os.Environ(), childEnv+"="+address)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	scan, n := bufio.NewScanner(out), 0
	for scan.Scan() {
		if id, position, ok := strings.Cut(strings.TrimPrefix(scan.Text(), "acknowledged "), " "); ok && strings.HasPrefix(scan.Text(), "acknowledged ") {
			acknowledged[id] = position
		} else {
			t.Logf("child: %s", scan.Text())
		}
		if n++; n == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n < lines {
		t.Fatalf("the child ended after %d lines", n)
	}
}

// appendForever appends until it is killed, and reports each event only after
// its acknowledgement.
func appendForever(s eventstore.Store) {
	var mu sync.Mutex
	for w := range crashWriters {
		go func() {
			for i := 0; ; i++ {
				events := NewEvents(1 + i%3)
				a, err := s.Append(context.Background(), To(fmt.Sprintf("run-%d", w), eventstore.AnyVersion, events...))
				if err != nil {
					fmt.Println("failed", err)
					os.Exit(1)
				}
				mu.Lock()
				for j, e := range events {
					fmt.Printf("acknowledged %s %d\n", hex.EncodeToString(e.ID[:]), a.First+int64(j))
				}
				mu.Unlock()
			}
		}()
	}
	select {}
}
