package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hecate/tools"
	"hecate/tools/tooltest"
)

// typed writes to a terminal.
func typed(t *testing.T, w *tooltest.Workspace, id, input string) tools.Result {
	t.Helper()
	return w.Call(tool(t, "terminal_write"), args{"terminal_id": id, "input": input})
}

// Programs that ask only where they have a terminal device get one, with and without the
// wrapper: shells control jobs on it, and an interrupt reaches what runs in the foreground.
func TestTerminalDevices(t *testing.T) {
	for _, wrapper := range wrappers() {
		t.Run(wrapper.Kind, func(t *testing.T) {
			w := tooltest.New(t)
			w.Env.Settings.Wrapper = wrapper
			id := opened(t, w, args{"command": "sh", "args": []string{"-c", `test -t 0 && test -t 1 && test -t 2 && stty size; echo $TERM $PAGER; printf 'sure? '; read x; echo "you said $x" >&2; exit 3`}, "pty": true})
			shown(t, w, id, "sure? ")
			if r := typed(t, w, id, "yes\n"); r.Error {
				t.Fatal(r.Text)
			}
			check(t, w.Call(tool(t, "terminal_wait"), args{"terminal_id": id, "timeout_ms": 60000}), id,
				"terminal_id=ID running=false exit_code=3\n--- output ---\n40 120\ndumb cat\nsure? yes\nyou said yes\n", "terminal_wait (exited)", false)

			id = opened(t, w, args{"command": "bash", "args": []string{"--norc"}, "pty": true})
			for _, step := range [][2]string{
				{"sh -c 'echo be\"\"gun; exec sleep 300'\n", "begun\n"}, {"\x03", "^C"}, {"jobs; sleep 301 & jobs\n", "Running"}, {"kill %1; wait; echo rea''dy\n", "ready\n"},
			} {
				if r := typed(t, w, id, step[0]); r.Error {
					t.Fatal(r.Text)
				}
				shown(t, w, id, step[1])
			}
			// Only a shell that has asked for the next line takes the end of the input as such.
			if r := shown(t, w, id, "ready\nbash-"); strings.Contains(r.Text, "no job control") {
				t.Error(r.Text)
			}
			if r := typed(t, w, id, "\x04"); r.Error {
				t.Fatal(r.Text)
			}
			if r := w.Call(tool(t, "terminal_wait"), args{"terminal_id": id, "timeout_ms": 60000}); !strings.Contains(r.Text, "running=false") {
				t.Errorf("the end of the input: %s", r.Text)
			}
		})
	}
}

// A terminal device hands on something else than what is typed, if it is let.
func TestWhatMayNotBeTypedOnATerminalDevice(t *testing.T) {
	w := tooltest.New(t)
	id := opened(t, w, args{"command": "sh", "pty": true})
	for input, want := range map[string]string{
		"nohup touch made &\n":           `"nohup" detaches processes`,
		"nX\x7fohup touch made\n":        "edits the line",
		"echo '\x03nohup touch made\n":   `"nohup" detaches processes`,
		"nohu\tp touch made\n":           "edits the line",
		"\x1b[A\n":                       "edits the line",
		strings.Repeat("x", 4096) + "\n": "at most 4095 bytes",
		"curl example.org\n":             "network access is disabled",
	} {
		if r := typed(t, w, id, input); !r.Error || !strings.Contains(r.Text, want) {
			t.Errorf("%.40q: %+v", input, r.Text)
		}
	}
	if r := typed(t, w, id, "echo still he''re\n"); r.Error {
		t.Fatal(r.Text)
	}
	shown(t, w, id, "still here\n")
	if w.Read("made") != "<absent>" {
		t.Error("something of what was refused was run")
	}
	// A program that runs nothing of its input gets every key.
	keys := opened(t, w, args{"command": "sh", "args": []string{"-c", "stty raw -echo; echo ready; head -c 4 | od -An -tx1"}, "pty": true})
	shown(t, w, keys, "ready")
	if r := typed(t, w, keys, "\x1b[A\t"); r.Error {
		t.Fatal(r.Text)
	}
	shown(t, w, keys, "1b 5b 41 09")
}

// An interrupt may have made a shell forget what it had, or not: both count for permissions.
func TestFactsAfterAnInterrupt(t *testing.T) {
	w := tooltest.New(t)
	id := opened(t, w, args{"command": "sh", "pty": true})
	if r := typed(t, w, id, "echo '\x03"); r.Error {
		t.Fatal(r.Text)
	}
	p, err := tool(t, "terminal_write").Prepare(marshal(t, args{"terminal_id": id, "input": "npm ci\n"}))
	if err != nil {
		t.Fatal(err)
	}
	f := p.Facts(tools.Place{Root: w.Env.Root, Path: w.Dir, Terminals: w.Env.Terminals})
	if !f.Opaque || len(f.Programs) != 1 || f.Programs[0].Argv[0] != "npm" {
		t.Errorf("got %+v", f)
	}
}

// What a shell with a terminal device has begun is in process groups of its own.
func TestNothingOutlivesATerminalDevice(t *testing.T) {
	for _, wrapper := range wrappers() {
		t.Run(wrapper.Kind, func(t *testing.T) {
			w := tooltest.New(t)
			w.Env.Settings.Wrapper = wrapper
			w.Write("escape", "set -m; for i in 1 2 3; do sh -c 'trap \"\" HUP TERM INT; while :; do echo x >>grow; sleep 0.01; done' & done; setsid sh -c 'while :; do echo x >>grow; sleep 0.01; done' & echo ready; wait\n")
			id := opened(t, w, args{"command": "sh", "args": []string{"escape"}, "pty": true})
			shown(t, w, id, "ready")
			if r := w.Call(tool(t, "terminal_kill"), args{"terminal_id": id}); r.Error || !strings.Contains(r.Text, "running=false exit_code=-1") {
				t.Fatal(r.Text)
			}
			size := len(w.Read("grow"))
			time.Sleep(100 * time.Millisecond) // ten times what a survivor would wait
			if now := len(w.Read("grow")); now != size {
				t.Errorf("the file goes on growing from %d to %d bytes", size, now)
			}
		})
	}
}

// What nothing holds is refused, if it may change nothing or if the operator says so.
func TestCommandsThatNothingHolds(t *testing.T) {
	w := tooltest.New(t)
	w.Env.Settings.Wrapper.Reason = "it is not installed"
	w.Env.ReadOnly = true
	if r := w.Call(tool(t, "shell"), args{"command": "touch f"}); !strings.Contains(r.Text, "write access is disabled") {
		t.Errorf("what is plainly forbidden: %s", r.Text)
	}
	for _, name := range []string{"shell", "shell_exec", "git"} {
		r := w.Call(tool(t, name), args{"command": "version"})
		if !r.Error || r.ErrorKind != tools.KindPolicy || !strings.Contains(r.Text, "nothing on this machine keeps a command from changing files") || !strings.Contains(r.Text, "(it is not installed)") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	w.Env.ReadOnly, w.Env.Settings.Confined = false, true
	for name, in := range map[string]args{
		"shell_exec": {"command": "touch made"}, "git_exec": {"command": "init"}, "exec": {"program": "touch", "args": []string{"made"}}, "terminal_open": {"command": "touch", "args": []string{"made"}},
	} {
		w.Env.StepID += "+"
		if r := w.Call(tool(t, name), in); !r.Error || r.ErrorKind != tools.KindPolicy || !strings.Contains(r.Text, "HECATE_TASK_SANDBOX=required") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "made")); err == nil {
		t.Error("a refused command has run")
	}
}
