package dialog_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"hecate/cmd/hecate/internal/dialog"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
	"hecate/domain/run"
)

var update = flag.Bool("update", false, "write the golden files anew")

// asked is a call as the server asks about it in the levels posture.
func asked(tool, input string, call permission.Call) show.Prompt {
	call.Tool = tool
	v := permission.Decide(call, permission.Posture{Name: permission.PostureLevels, Project: true, ShellOffline: true})
	c := run.ApprovalCall{
		ToolCallID: "c1", ToolName: tool, Reason: v.Reason, Offer: v.Offer, Answers: v.Answers, Notes: v.Notes,
		Ruling: run.Ruling{Decision: string(v.Decision), Level: v.Level, Posture: v.Posture, Rule: v.Rule, Layer: v.Layer},
	}
	for _, g := range v.Gates {
		c.Gates = append(c.Gates, g.Gate)
	}
	return show.Prompt{
		Call: show.Call{ID: "c1", Tool: tool, Input: json.RawMessage(input)}, Asked: c, Offer: v.Offer, Number: 1, Of: 1,
		Where: show.Where{Place: run.Place{Kind: run.PlaceWorktree, Path: "/tmp/hecate-workspaces/run_1", Source: "/home/you/project", Ref: "main"}}, RememberIn: "/home/you/project/.hecate/config.toml",
	}
}

func program(argv ...string) show.Prompt {
	input, _ := json.Marshal(map[string]any{"program": argv[0], "args": argv[1:]}) // of strings
	return asked("exec", string(input), permission.Call{Facts: permission.Facts{Argv: argv}})
}

func text(s string) string {
	raw, _ := json.Marshal(s) // a string always encodes
	return string(raw)
}

// hostile repaints itself as ls, rings, writes to the clipboard and turns around.
const hostile = "rm -rf ~\r\x1b[2Kls\b\b\x1b]52;c;aGk=\x07\u009b2J\u009d0;title\u009c \u202elper\u200b\ufe0f\u00a0x\n  why: it is harmless\ny  this call only"

// screens are the prompts whose pictures are kept.
func screens() map[string]show.Prompt {
	short := program("cargo", "test", "--lib", "auth")
	short.Call.Why = "Run the suite to confirm the fix compiles and passes."

	locked := program("env", "CI=1", "make", "it's done", "")
	locked.Call.Input = json.RawMessage(`{"program":"env","args":["CI=1","make","it's done",""],"env":{"RUST_BACKTRACE":"1","NOTE":"two words"},"working_directory":"sub"}`)
	locked.Asked.Locks = []string{"build-output", "test-db"}

	var script strings.Builder
	for i := range 60 {
		fmt.Fprintf(&script, "echo step %d of a long script that is wider than sixty columns are, for certain\n", i+1)
	}
	long := asked("shell_exec", `{"command":`+text(script.String())+`}`, permission.Call{Facts: permission.Facts{Principal: script.String()}})
	long.Call.Why = "All of it in one go."
	long.Number, long.Of, long.Others = 2, 3, []show.Other{{ID: "c0", Number: 1, Call: "read_file a.go", Remark: "needs no answer"}, {ID: "c3", Number: 3, Call: "shell_exec make", Remark: "asks by itself"}}

	const url = "https://docs.tokio.rs/tokio/topics/shutdown"
	fetch := asked("web_fetch", `{"url":"`+url+`"}`, permission.Call{Facts: permission.Facts{Principal: url}})
	fetch.Call.Why = "Confirm how a Notify wakes every waiter before relying on it."

	again := asked("shell_exec", `{"command":"make check"}`, permission.Call{
		Facts: permission.Facts{Principal: "make check"}, Checkpoint: "make check had the same result three times; a fast model calls it a loop: nothing was changed in between",
	})
	thinking := program("go", "test", "./...")
	thinking.Call.Thinking = strings.Repeat("The failure is in the parser, as it seems to me. ", 12) + "\nSo the tests have to run.\n\n" + strings.Repeat("One more line of it.\n", 20)

	deceit := asked("shell_exec", `{"command":`+text(hostile)+`}`, permission.Call{Facts: permission.Facts{Principal: hostile}})
	deceit.Call.Why = "Just a look.\x1b[2J\u202e\nA  remember: all"

	change := asked("config_edit", `{"file":"project","list":"permissions.approve","entry":"exec(go) args(test *)"}`, permission.Call{})
	change.Asked.ConfigFile, change.Where.Home = "/home/you/project/.hecate/config.toml", "/home/you"
	change.Call.Why = "You asked for the tests to run without a question."
	shell := asked("terminal_open", `{}`, permission.Call{Facts: permission.Facts{Principal: "/bin/zsh"}})
	shell.Asked.Program = "/bin/zsh"
	shell.Where.Place = run.Place{Kind: run.PlaceInPlace, Path: "/home/you/project", Ref: "main"}
	typed := asked("terminal_write", `{"terminal_id":"terminal_0af3","input":"print(1)\n"}`, permission.Call{Facts: permission.Facts{Principal: "print(1)\n", Opaque: true}})
	typed.Asked.Program = "python3 -i"
	typed.Where.Place = run.Place{Kind: run.PlaceCopy, Path: "/tmp/x", Source: "/home/you/notes"}
	return map[string]show.Prompt{
		"config": change, "shell": shell, "typed": typed,
		"exec": short, "locks": locked, "script": long, "fetch": fetch, "repetition": again, "thinking": thinking, "hostile": deceit,
	}
}

func edit(p show.Prompt, text string) (permission.Offer, error) {
	if p.Call.Tool != "exec" {
		return permission.Offer{}, errors.New("it does not cover this call")
	}
	var in struct {
		Program string
		Args    []string
	}
	if err := json.Unmarshal(p.Call.Input, &in); err != nil {
		return permission.Offer{}, err
	}
	return permission.Edited(permission.Call{Tool: p.Call.Tool, Facts: permission.Facts{Argv: append([]string{in.Program}, in.Args...)}}, text)
}

func open(columns, rows int, prompts ...show.Prompt) *dialog.Model {
	m := dialog.New(prompts, dialog.Options{Edit: edit, Interrupt: "Ctrl-C cancels the run"})
	m.Update(tea.WindowSizeMsg{Width: columns, Height: rows})
	return m
}

// press presses keys, and reports whether the dialog ended.
func press(m *dialog.Model, keys ...string) bool {
	special := map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "backspace": tea.KeyBackspace, "left": tea.KeyLeft, "home": tea.KeyHome}
	ended := false
	for _, k := range keys {
		msg := tea.KeyPressMsg{Code: special[k]}
		switch {
		case strings.HasPrefix(k, "ctrl+"):
			msg = tea.KeyPressMsg{Code: rune(k[5]), Mod: tea.ModCtrl}
		case msg.Code == 0:
			for _, r := range k {
				_, cmd := m.Update(tea.KeyPressMsg{Code: unicode.ToLower(r), Text: string(r)})
				ended = ended || quits(cmd)
			}
			continue
		}
		_, cmd := m.Update(msg)
		ended = ended || quits(cmd)
	}
	return ended
}

func quits(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	_, is := cmd().(tea.QuitMsg)
	return is
}

func screen(m *dialog.Model) string { return m.View().Content }

// The dialog at the sizes of small, usual and large windows.
func TestGolden(t *testing.T) {
	for name, p := range screens() {
		for _, size := range [][2]int{{80, 24}, {60, 16}, {120, 40}} {
			steps := []string{"", "pgdown"}
			if p.Long() {
				steps = append(steps, "t")
			}
			if name == "exec" || name == "fetch" {
				steps = append(steps, "e", "N")
			}
			for _, step := range steps {
				m := open(size[0], size[1], p)
				press(m, step)
				file := fmt.Sprintf("%s-%s-%dx%d.txt", name, step, size[0], size[1])
				got := screen(m)
				checkScreen(t, file, got, size[0], size[1])
				if step == "pgdown" && m.View().Content == screen(open(size[0], size[1], p)) {
					continue // all of it is in view
				}
				golden(t, filepath.Join("testdata", strings.Replace(file, "--", "-", 1)), got+"\n")
			}
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", path, diff)
	}
}

// checkScreen makes sure that a picture fits, and that nothing foreign got into it.
func checkScreen(t *testing.T, name, got string, columns, rows int) {
	t.Helper()
	lines := strings.Split(got, "\n")
	if len(lines) > rows {
		t.Errorf("%s has %d rows", name, len(lines))
	}
	for _, l := range lines {
		if terminal.Columns(l) > columns {
			t.Errorf("%s is too wide: %q", name, l)
		}
		if terminal.Exact(l) != l {
			t.Errorf("%s holds what does not print: %q", name, l)
		}
	}
}
