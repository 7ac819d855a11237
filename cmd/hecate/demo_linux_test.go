package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the README offers to somebody who is new, in two terminals: the demo's server in one,
// and in the other a run whose call is answered, one file put back and the rest taken, its
// second model call made again, and the bill.
func TestJourneyNewOperator(t *testing.T) {
	t.Parallel()
	environ, _ := journeyEnviron(t)
	server := inTmuxOf(t, 120, environ, `trap : INT; "$HECATE" demo --serve; echo "exit code $?"; exec sleep 60`)
	told := server.screen("walk through both")
	data := regexp.MustCompile(`export HECATE_DATA_DIR=(\S+)`).FindStringSubmatch(told)
	project := regexp.MustCompile(`cd (\S+)`).FindStringSubmatch(told)
	run := regexp.MustCompile(`hecate (run) "(.+)"`).FindStringSubmatch(told)
	if data == nil || project == nil || run == nil {
		t.Fatalf("the demo does not say how to go on:\n%s", told)
	}
	x := inTmuxOf(t, 120, append(environ, "HECATE_DATA_DIR="+data[1]), `hecate() { "$HECATE" "$@"; }; cd `+project[1]+`
n=1; while printf 'command %d> ' $n && read -r line; do clear; eval "$line"; echo "command $n: exit code $?"; n=$((n+1)); done`)
	n := 0
	enter := func(line, until string) string {
		t.Helper()
		n++
		x.screen(fmt.Sprintf("command %d>", n))
		x.do("send-keys", "-l", line)
		x.do("send-keys", "Enter")
		return x.screen(until)
	}
	ended := func() string { return x.screen(fmt.Sprintf("command %d: exit code 0", n)) }
	do := func(line string) string {
		enter(line, "")
		return ended()
	}
	enter(`hecate run "`+run[2]+`"`, "approve?")
	x.do("send-keys", "y")
	first := regexp.MustCompile(`hecate take (run_[0-9a-f]+)`).FindStringSubmatch(ended())
	points := do("hecate restore")
	point := regexp.MustCompile(`(step_[0-9a-f]+) +file_edit +median_test.go`).FindStringSubmatch(points)
	if first == nil || point == nil {
		t.Fatalf("it does not say how to go on:\n%s", points)
	}
	enter("hecate restore "+first[1]+" --before "+point[1], "put this back? y or n:")
	x.do("send-keys", "y", "Enter")
	ended()
	if shown := enter("hecate take", "take this? y or n:"); strings.Contains(shown, "median_test.go") {
		t.Errorf("the file that was put back is taken:\n%s", shown)
	}
	x.do("send-keys", "y", "Enter")
	ended()
	if raw, err := os.ReadFile(filepath.Join(project[1], "median.go")); !strings.Contains(string(raw), "middle") {
		t.Errorf("median.go was not taken: %v\n%s", err, raw)
	}
	enter("hecate branch "+first[1]+" --call 2", "approve?")
	x.do("send-keys", "y")
	ended()
	task := regexp.MustCompile(`task_[0-9a-f]+`).FindString(do("hecate tasks"))
	check(t, do("hecate tasks "+task), []string{"branch at model call 2 of run 1", "$0.0307 in all"})
	check(t, do("hecate usage"), []string{"$0.0307 by all providers"})
	server.do("send-keys", "C-c")
	server.screen("exit code 0")
	if _, err := os.Stat(data[1]); !os.IsNotExist(err) {
		t.Errorf("the demo leaves its data behind: %v", err)
	}
}
