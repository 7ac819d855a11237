package process_test

import (
	"os"
	"path/filepath"
	"testing"

	"hecate/tools/process"
)

// What is set for a command replaces what the server hands on, and reaches the command
// as it is, also where its supervisor has a variable of the same name.
func TestVariablesOfOneCommand(t *testing.T) {
	t.Setenv("LANG", "server")
	c := process.Command{Set: []string{"LANG=command", "A=x=y\nz", "GOGC=7", "EMPTY="}}
	r, out, _ := shell(t, t.Context(), c, `printf '%s|' "$LANG" "$A" "$GOGC" "${EMPTY-unset}"; env | grep -c -e ^LANG= -e HECATE_`)
	if want := "command|x=y\nz|7||1\n"; out != want || r.Err != nil {
		t.Errorf("got %q, %v, want %q", out, r.Err, want)
	}
	if _, out, _ := shell(t, t.Context(), process.Command{}, `echo "$LANG$A$GOGC"`); out != "server\n" {
		t.Errorf("the next command has %q", out)
	}
}

func TestProgramsAreFoundWhereTheCommandRuns(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "prog"), []byte("#!/bin/sh\nexit 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []process.Command{
		{Dir: dir, Argv: []string{"./prog"}}, {Dir: filepath.Join(dir, "sub"), Argv: []string{"../prog"}}, {Dir: "/", Argv: []string{filepath.Join(dir, "prog")}},
	} {
		if r := process.Run(t.Context(), c); r.ExitCode != 5 {
			t.Errorf("%s in %s: %v", c.Argv[0], c.Dir, r.Err)
		}
	}
	if r := process.Run(t.Context(), process.Command{Dir: dir, Argv: []string{"prog"}}); r.Err == nil || r.ExitCode != -1 {
		t.Errorf("a bare name is found beside: %+v", r)
	}
}
