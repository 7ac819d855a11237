package escape_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hecate/tools/terminal"
)

// patience is how long something may take that takes a moment on an idle machine.
const patience = time.Minute

// within gives the calls of an attack that ends with its time limit more of it until the
// attack has got going: how long that takes is up to the machine.
func (s *scene) within(limit time.Duration, attack func() (begun bool)) {
	for s.Env.Timeout = limit; !attack() && s.Env.Timeout < patience/3; s.Env.Timeout *= 3 {
	}
}

// stands checks that nothing writes to a file of the workspace any more.
func (s *scene) stands(name string) {
	s.t.Helper()
	size := len(s.Read(name))
	time.Sleep(60 * time.Millisecond) // six times what the loops of these tests wait
	if now := len(s.Read(name)); now != size || size == 0 {
		s.t.Errorf("%s goes on growing from %d to %d bytes", name, size, now)
	}
}

// loop is a process that can be seen to live.
const loop = `while :; do echo x >>grow; sleep 0.01; done`

// Processes that try to outlive their call: ah-process-01.
func TestDaemons(t *testing.T) {
	for name, script := range map[string]string{
		"double fork":            `(setsid nohup sh -c '` + loop + `' >/dev/null 2>&1 </dev/null &) ; (setsid sh -c 'setsid sh -c "` + loop + `" & exit' &)`,
		"deaf":                   `sh -c 'trap "" TERM INT HUP QUIT PIPE; ` + loop + `' & setsid sh -c 'trap "" TERM HUP; ` + loop + `' &`,
		"holding the output":     `sh -c '` + loop + `' & setsid sh -c 'sleep 300; ` + loop + `' &`,
		"begetting for ever":     `g() { echo x >>grow; sleep 0.01; g & exit; }; for i in 1 2 3 4 5 6 7 8; do g & done`,
		"stopped":                `sh -c '` + loop + `' & sleep 300 & kill -STOP $!`,
		"of another group":       `set -m; sh -c '` + loop + `' & set +m`,
		"with another name":      `bash -c 'exec -a "[kworker/0:1]" sh -c "` + loop + `"' &`,
		"many":                   `for i in $(seq 40); do sh -c '` + loop + `' & done`,
		"a terminal multiplexer": `(setsid bash -c 'exec 3<>/dev/null 0<&3 1>&3 2>&3; cd /; cd - >/dev/null; ` + loop + `' &)`,
	} {
		daemon := func(s *scene, last string) (begun bool) {
			s.t.Helper()
			s.Write("grow", "")
			s.Write("attack.sh", script+"\nuntil [ -s grow ]; do sleep 0.01; done\n"+last+"\n")
			since := time.Now()
			s.call("shell_exec", args{"command": "bash attack.sh"})
			if took := time.Since(since); took > patience {
				s.t.Errorf("took %v", took)
			}
			return s.Read("grow") != ""
		}
		t.Run(name+" and an exit", func(t *testing.T) {
			both(t, func(_ *testing.T, s *scene) {
				daemon(s, "sleep 0.02")
				s.stands("grow")
			})
		})
		t.Run(name+" and no time left", func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.within(500*time.Millisecond, func() bool { return daemon(s, "sleep 300") })
			s.stands("grow")
		})
	}
}

// Many processes at once, as many as a machine for tests bears: the limit on their number
// is the operating system's (docs/sandbox.md); that all of them end is ours.
func TestForkBombs(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		s.Write("grow", "")
		s.Write("attack.sh", "b() { echo x >>grow; [ $1 -gt 0 ] && { b $(($1-1)) & b $(($1-1)) & }; sleep 0.3; while :; do echo x >>grow; sleep 0.2; done; }\nb 7\n")
		s.within(time.Second, func() bool {
			begun := time.Now()
			r := s.call("shell_exec", args{"command": "bash attack.sh"})
			if took := time.Since(begun); took > patience || r.ErrorKind != "shell_timeout" {
				t.Errorf("after %v: %s", took, r.Text)
			}
			return s.Read("grow") != ""
		})
		s.stands("grow")
	})
}

// Commands find limits that hold them if their user is not root, and leave no core dumps.
func TestLimits(t *testing.T) {
	both(t, func(t *testing.T, s *scene) {
		r := s.call("shell_exec", args{"command": "ulimit -c; ulimit -Hc; [ $(bash -c 'ulimit -u') -le 16384 ] && echo bounded"})
		if !strings.Contains(r.Text, "0\n0\nbounded") {
			t.Errorf("got %s", r.Text)
		}
	})
}

// Output without end, on both streams and after the end.
func TestFloods(t *testing.T) {
	for name, script := range map[string]string{
		"lines": "yes", "one line": "tr '\\0' x </dev/zero", "errors": "yes >&2", "both": "yes & yes >&2", "left behind": "(yes &); sleep 0.05", "bytes that are no text": "cat /dev/urandom",
		"deaf": "trap '' PIPE TERM; while :; do echo x; echo x >&2; done",
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, s *scene) {
				s.Env.Settings.OutputMaxBytes = 300_000
				s.Env.Timeout = patience
				r := s.call("shell_exec", args{"command": script})
				if len(r.Text) > 64<<10 {
					t.Errorf("a result of %d bytes", len(r.Text))
				}
				total := 0
				for _, p := range s.Emitted() {
					total += size(t, p)
				}
				if total > 3<<20 {
					t.Errorf("events of %d bytes", total)
				}
				if name != "left behind" && name != "deaf" && !strings.Contains(r.Text, "exceeded limit of 300000 bytes") {
					t.Errorf("got %.300s", r.Text)
				}
			})
		})
	}
}

// A terminal, with pipes and with a device, is held as any other command.
func TestTerminals(t *testing.T) {
	for name, device := range map[string]bool{"pipes": false, "device": true} {
		t.Run(name, func(t *testing.T) {
			s := confined(t)
			before := tree(t, s.outside, home, s.data)
			s.Write("attack.sh", s.variables()+`cat "$HOME"/.ssh/* "$DATA"/*; echo x >"$OUT/new"; unshare -Urm sh -c 'umount "$0"; cat "$0"/*' "$DATA"; exec 3<>/dev/tcp/169.254.169.254/80 && echo SES''AME`+"\necho tried\n")
			id, _ := s.call("terminal_open", args{"command": "bash", "args": []string{"--norc"}, "pty": device}).Output["terminal_id"].(string)
			if r := s.call("terminal_write", args{"terminal_id": id, "input": "bash attack.sh\nexit\n"}); r.Error {
				t.Fatal(r.Text)
			}
			s.kept(before, s.call("terminal_wait", args{"terminal_id": id, "timeout_ms": 60000}).Text)
		})
		t.Run(name+", left behind", func(t *testing.T) {
			both(t, func(t *testing.T, s *scene) {
				s.Write("grow", "")
				s.Write("attack.sh", "set -m; sh -c 'trap \"\" TERM HUP INT; "+loop+"' & (setsid nohup sh -c '"+loop+"' >/dev/null 2>&1 &)\nuntil [ -s grow ]; do sleep 0.01; done; echo ready; sleep 300\n")
				id, _ := s.call("terminal_open", args{"command": "bash", "args": []string{"attack.sh"}, "pty": device}).Output["terminal_id"].(string)
				for end := time.Now().Add(patience); !strings.Contains(s.call("terminal_read", args{"terminal_id": id}).Text, "ready"); time.Sleep(5 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("it does not begin")
					}
				}
				other := s.Env.Terminals
				s.Env.Terminals = s.Terminals.Of("another run")
				if r := s.call("terminal_write", args{"terminal_id": id, "input": "x"}); !r.Error || !strings.Contains(r.Text, "not found") {
					t.Errorf("another run writes to it: %s", r.Text)
				}
				s.Env.Terminals = other
				s.Terminals.Retire("run_1") // as when the run is cancelled
				s.stands("grow")
			})
		})
		t.Run(name+", flood", func(t *testing.T) {
			both(t, func(t *testing.T, s *scene) {
				id, _ := s.call("terminal_open", args{"command": "sh", "args": []string{"-c", "yes | head -c 3000000; sleep 300"}, "pty": device}).Output["terminal_id"].(string)
				x, ok := s.Env.Terminals.Get(id)
				if !ok {
					t.Fatal("it is not there")
				}
				for end := time.Now().Add(patience); x.Written() < 3_000_000 && time.Now().Before(end); {
					time.Sleep(5 * time.Millisecond)
				}
				if text, cut := x.Tail(1 << 30); len(text) > terminal.RetainedMax || !cut || x.Written() < 3_000_000 {
					t.Errorf("%d bytes are kept of %d", len(text), x.Written())
				}
				if r := s.call("terminal_kill", args{"terminal_id": id}); r.Error {
					t.Error(r.Text)
				}
			})
		})
	}
}

// Wrapped processes are in a process namespace: they see no others, and end with its first.
func TestProcessesOfOthers(t *testing.T) {
	s := confined(t)
	said := s.script(`ls /proc | grep -c '^[0-9]'; for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline; echo; done`)
	if strings.Contains(said, filepath.Base(os.Args[0])) {
		t.Errorf("it sees the server: %s", said)
	}
}
