package dialog_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"hecate/cmd/hecate/internal/dialog"
	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/permission"
)

// What is pressed decides, and only what is offered can be pressed.
func TestKeys(t *testing.T) {
	all := screens()
	for name, c := range map[string]struct {
		prompt string
		keys   []string
		want   dialog.Result
		open   bool
	}{
		"once":                  {"exec", []string{"y"}, dialog.Result{Answers: []dialog.Answer{{Key: "y"}}}, false},
		"session":               {"exec", []string{"a"}, dialog.Result{Answers: []dialog.Answer{{Key: "a"}}}, false},
		"remember":              {"exec", []string{"A"}, dialog.Result{Answers: []dialog.Answer{{Key: "A"}}}, false},
		"deny":                  {"exec", []string{"n"}, dialog.Result{Answers: []dialog.Answer{{Key: "n"}}}, false},
		"deny with reason":      {"exec", []string{"N", "use make", "enter"}, dialog.Result{Answers: []dialog.Answer{{Key: "N", Note: "use make"}}}, false},
		"a reason is needed":    {"exec", []string{"N", "  ", "enter"}, dialog.Result{}, true},
		"no reason after all":   {"exec", []string{"N", "yes", "esc", "y"}, dialog.Result{Answers: []dialog.Answer{{Key: "y"}}}, false},
		"edited":                {"exec", []string{"e", "left", "backspace", "test *", "enter", "A"}, dialog.Result{Answers: []dialog.Answer{{Key: "A", Scope: "exec(cargo) args(test *)"}}}, false},
		"edited, then once":     {"exec", []string{"e", "left", "backspace", "test *", "enter", "y"}, dialog.Result{Answers: []dialog.Answer{{Key: "y"}}}, false},
		"edited to another":     {"exec", []string{"e", "ctrl+u", "exec(rm) args(*)", "enter", "a"}, dialog.Result{}, true},
		"edited to nothing":     {"exec", []string{"e", "ctrl+u", "enter", "y"}, dialog.Result{}, true},
		"edit left":             {"exec", []string{"e", "ctrl+u", "esc", "a"}, dialog.Result{Answers: []dialog.Answer{{Key: "a"}}}, false},
		"nothing is a yes":      {"exec", []string{"enter", " ", "Y", "x", "t", "q", "esc"}, dialog.Result{}, true},
		"not remembered":        {"repetition", []string{"a", "A", "e"}, dialog.Result{}, true},
		"interrupted":           {"exec", []string{"ctrl+c"}, dialog.Result{Interrupted: true}, false},
		"interrupted in typing": {"exec", []string{"N", "because", "ctrl+c"}, dialog.Result{Interrupted: true}, false},
		"alt is another key":    {"exec", []string{"ctrl+y", "ctrl+a"}, dialog.Result{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := open(80, 24, all[c.prompt])
			ended := press(m, c.keys...)
			if got := m.Result(); ended == c.open || got.Interrupted != c.want.Interrupted || !slices.Equal(got.Answers, c.want.Answers) {
				t.Errorf("ended %v with %+v, want %+v", ended, got, c.want)
			}
		})
	}
}

// Calls are asked about one after the other; what was done to one prompt is not carried
// over to the next.
func TestSeveralCalls(t *testing.T) {
	all := screens()
	m := open(80, 24, all["script"], all["exec"], all["fetch"])
	press(m, "pgdown", "y")
	if s := screen(m); !strings.Contains(s, "cargo test") || strings.Contains(s, "above") || !strings.Contains(s, "after it: 1 more call") {
		t.Errorf("second call:\n%s", s)
	}
	press(m, "e", "left", "backspace", "test *", "enter", "a")
	if ended := press(m, "a"); !ended || m.Result().Answers[1].Scope != "exec(cargo) args(test *)" || m.Result().Answers[2].Scope != "" {
		t.Errorf("ended %v with %+v", ended, m.Result())
	}
	if s := screen(m); s != "" {
		t.Errorf("after the last answer:\n%s", s)
	}
}

// What was typed before a call was on the screen is no answer to it.
func TestKeysTypedAhead(t *testing.T) {
	p := screens()["exec"]
	m := dialog.New([]show.Prompt{p, p}, dialog.Options{Edit: edit, Pause: time.Nanosecond})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	late := m.Init()
	if press(m, "y", "y", "N"); len(m.Result().Answers) > 0 || strings.Contains(screen(m), "approve?") {
		t.Fatalf("answered: %+v\n%s", m.Result(), screen(m))
	}
	ready := late()
	m.Update(ready)
	if press(m, "y", "y"); len(m.Result().Answers) != 1 {
		t.Fatalf("answered: %+v", m.Result())
	}
	m.Update(ready) // that of the first call
	if press(m, "y"); len(m.Result().Answers) != 1 {
		t.Errorf("answered: %+v", m.Result())
	}
}

// A paste is typed where something is typed, and answers nothing.
func TestPaste(t *testing.T) {
	m := open(80, 24, screens()["exec"])
	m.Update(tea.PasteMsg{Content: "y"})
	press(m, "N")
	m.Update(tea.PasteMsg{Content: "two\nlines\x1b[2J\u202e"})
	if s := screen(m); !strings.Contains(s, `reason: two lines[2J\u202e`) {
		t.Errorf("shown:\n%s", s)
	}
	press(m, "enter")
	if got := m.Result().Answers; len(got) != 1 || got[0].Note != "two lines[2J\u202e" {
		t.Errorf("answers %+v", got)
	}
}

// Every line can be scrolled to, the marker counts the others, and the level and the
// keys stay in view.
func TestScrolling(t *testing.T) {
	for name, p := range screens() {
		m := open(60, 12, p)
		var seen []string
		for range 400 {
			s := screen(m)
			if !strings.Contains(s, "Level 2 (approve)") || !strings.Contains(s, "y once") {
				t.Fatalf("%s:\n%s", name, s)
			}
			lines := strings.Split(s, "\n")
			seen = append(seen, lines[1])
			if !strings.Contains(s, "below") {
				seen = append(seen, lines[2:slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "├") })]...)
				break
			}
			press(m, "down")
		}
		var want []string
		for _, r := range show.Rows(p.Lines(false), 56) {
			want = append(want, "│ "+r.Text+strings.Repeat(" ", 56-terminal.Columns(r.Text))+" │")
		}
		if !slices.Equal(seen, want) {
			t.Errorf("%s: scrolled through\n%s\nwant\n%s", name, strings.Join(seen, "\n"), strings.Join(want, "\n"))
		}
		press(m, "pgup", "pgup")
		for range 100 {
			m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
		}
		if s := screen(m); strings.Contains(s, "above") {
			t.Errorf("%s at its beginning:\n%s", name, s)
		}
		m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
		if s := screen(m); !strings.Contains(s, "↑ 3 lines above") {
			t.Errorf("%s after a step of the wheel:\n%s", name, s)
		}
	}
}

// Expanding long thinking, and back, goes to the top, answers nothing and changes no size.
func TestThinking(t *testing.T) {
	m := open(80, 24, screens()["thinking"])
	before := screen(m)
	press(m, "down", "down")
	if ended := press(m, "t"); ended || len(m.Result().Answers) > 0 {
		t.Fatal("it answers")
	}
	expanded := screen(m)
	if strings.Contains(expanded, "above") || strings.Count(expanded, "\n") != strings.Count(before, "\n") || !strings.Contains(expanded, "y once") {
		t.Errorf("expanded:\n%s", expanded)
	}
	press(m, "pgdown", "t")
	if s := screen(m); s != before {
		t.Errorf("collapsed again:\n%s\nbefore:\n%s", s, before)
	}
}

// The dialog follows the size of the window. What is too small for it is not asked in.
func TestResize(t *testing.T) {
	m := open(80, 24, screens()["script"])
	press(m, "pgdown", "pgdown")
	for _, size := range [][2]int{{40, 10}, {200, 60}, {41, 11}, {100, 400}} {
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		checkScreen(t, "script", screen(m), size[0], size[1])
	}
	m.Update(tea.WindowSizeMsg{Width: 39, Height: 24})
	if press(m, "y", "down"); len(m.Result().Answers) > 0 || !strings.Contains(screen(m), "Needs 40×10") {
		t.Errorf("asked in too small a window:\n%s", screen(m))
	}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	if !press(m, "y") {
		t.Error("it does not go on")
	}
}

// An approval before a run has a yes and a no, which ends the run.
func TestBeforeARun(t *testing.T) {
	p := show.Prompt{Call: show.Call{Tool: "shell", Input: []byte(`{"command":"make"}`)}, Number: 1, Of: 1, Ends: true}
	m := open(80, 24, p)
	if s := screen(m); !strings.Contains(s, "before the run begins") || !strings.Contains(s, "y once   n refuse") {
		t.Errorf("shown:\n%s", s)
	}
	if press(m, "a", "N", "e"); len(m.Result().Answers) > 0 {
		t.Errorf("answers %+v", m.Result().Answers)
	}
	if !press(m, "n") {
		t.Error("no does not end it")
	}
}

// Whatever a call holds, it stays inside the box and escaped.
func FuzzScreen(f *testing.F) {
	f.Add(hostile, "why", "thinking", 60, 16)
	f.Add("ls", "", strings.Repeat("x\n", 30), 40, 10)
	f.Fuzz(func(t *testing.T, command, why, thinking string, columns, rows int) {
		if columns < 1 || columns > 300 || rows < 1 || rows > 100 || len(command) > 4096 {
			t.Skip()
		}
		p := screens()["hostile"]
		p.Call.Input = []byte(`{"command":` + text(command) + `}`)
		p.Call.Why, p.Call.Thinking = why, thinking
		m := open(columns, rows, p)
		for _, key := range []string{"", "t", "pgdown", "N"} {
			press(m, key)
			for _, r := range screen(m) {
				if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector) {
					t.Fatalf("%U is on the screen", r)
				}
			}
			for line := range strings.SplitSeq(screen(m), "\n") {
				if terminal.Columns(line) > columns {
					t.Fatalf("%q is wider than %d", line, columns)
				}
			}
		}
	})
}

// What is given for more than once answers the later calls that it covers: it is said
// before, and after. What it does not cover is asked about.
func TestWhatIsGivenCoversLaterCalls(t *testing.T) {
	calls := []show.Prompt{program("rm", "x"), program("cargo", "test"), program("make"), program("cargo", "build"), program("cargo", "run")}
	for i := range calls {
		calls[i].Number, calls[i].Of, calls[i].Call.ID = i+1, len(calls), string(rune('a'+i))
	}
	for k := range calls {
		for i := range calls {
			if i != k {
				calls[k].Others = append(calls[k].Others, show.Other{ID: calls[i].Call.ID, Number: i + 1, Call: "call", Remark: "asks by itself"})
			}
		}
	}
	covers := func(o permission.Offer, p show.Prompt) bool {
		x, err := edit(p, o.Scope)
		return err == nil && x.Scope == o.Scope
	}
	m := dialog.New(calls, dialog.Options{Edit: edit, Covers: covers})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 60})
	press(m, "n")
	if s := screen(m); !strings.Contains(s, "a and A cover calls 4, 5 of the same answer, too") || !strings.Contains(s, "1  call · n: denied") {
		t.Errorf("before it is given:\n%s", s)
	}
	press(m, "a")
	if s := screen(m); !strings.Contains(s, "call 3 of 5") || !strings.Contains(s, "2  call · a: this session, exec(cargo) args(*)") {
		t.Errorf("after it is given:\n%s", s)
	}
	want := []dialog.Answer{{Key: "n"}, {Key: "a"}, {Key: "y"}, {CoveredBy: "b"}, {CoveredBy: "b"}}
	if ended := press(m, "y"); !ended || !slices.Equal(m.Result().Answers, want) {
		t.Errorf("ended %v with %+v", ended, m.Result())
	}
	if got := dialog.Said(calls, want); got != "covered by exec(cargo) args(*)" {
		t.Errorf("the last is said to be %q", got)
	}
}
