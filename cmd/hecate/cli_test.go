package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/event"
	"hecate/domain/run"
)

// testApp is a process without a terminal, a home or a server.
func testApp(t *testing.T) (*app, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	home := t.TempDir()
	return &app{
		in: strings.NewReader(""), out: &out, err: &errs, interrupt: make(chan os.Signal, 2),
		environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "HECATE_DATA_DIR=" + filepath.Join(home, "data")},
		start: func(context.Context, []string, *slog.Logger) (runningNode, error) {
			return nil, errors.New("no server in this test")
		},
		discoverLocal: func(context.Context) (string, string, []string, bool) { return "", "", nil, false },
	}, &out, &errs
}

// onTerminal makes the app ask, and answer from in.
func onTerminal(a *app, in io.Reader) {
	a.in, a.inTTY = in, true
	a.outStyle = terminal.Style{Columns: 80}
}

// A person's answer decides; nothing but a clear word is one, and the end of the
// input is a no to everything.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		in       string
		code     int
		requests []string
		out      []string
	}{
		"yes":              {"y\n", exitCompleted, []string{`POST resolve {"decision":"approve"}`}, []string{"command │ go test ./...", "✓ approved by operator", "All tests pass.", "✓ completed"}},
		"no":               {"n\n", exitRefused, []string{`POST resolve {"decision":"reject"}`}, []string{"✗ rejected by operator", "✗ cancelled", "2 model calls", "  approval rejected"}},
		"unclear, then no": {"\nYES please\nno\n", exitRefused, []string{`POST resolve {"decision":"reject"}`}, []string{"please type y or n"}},
		"capital yes":      {"  YES \n", exitCompleted, []string{`POST resolve {"decision":"approve"}`}, nil},
		"end of input":     {"", exitRefused, []string{"cancel"}, []string{"refused, since nobody could answer:\n    shell_exec go test ./..."}},
		"half a line":      {"y", exitRefused, []string{"cancel"}, []string{"refused, since nobody"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newContractServer(t, gated("runtime-policy"))
			a, out, errs := testApp(t)
			onTerminal(a, strings.NewReader(c.in))
			if code := a.run([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			check(t, s.requests(), c.requests)
			check(t, out.String(), c.out)
			if errs.Len() > 0 || strings.Count(s.requests(), "resolve") > 1 {
				t.Errorf("stderr %q, requests %s", errs, s.requests())
			}
		})
	}
}

func check(t *testing.T, text string, wants []string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// How a run ends decides the exit code.
func TestExitCodes(t *testing.T) {
	failed := []scriptedEvent{ev("run.created", obj{}), ev("run.failed", obj{"code": "run_failed", "message": "agent loop hit per-task cost ceiling: spent", "model_call_count": 1})}
	cancelled := []scriptedEvent{ev("run.created", obj{}), ev("run.cancelled", obj{"by": "operator", "reason": "run cancelled: wrong branch"})}
	for name, c := range map[string]struct {
		script   []scriptedEvent
		args     []string
		code     int
		requests []string
		out      []string
	}{
		"allowed by flag":               {gated("runtime-policy"), []string{"--yes"}, exitCompleted, []string{`"note":"--yes"`}, []string{"approval needed", "median.go", `new\x1b[2J.go`, "2 model calls · cost $0.0030"}},
		"nobody there":                  {gated("runtime-policy"), nil, exitRefused, []string{`cancel {"reason":"approval needed, and nobody was there to answer"}`}, []string{"✗ cancelled", "    shell_exec go test ./...", "--yes"}},
		"the flag does not open it":     {gated("mcp-require-approval"), []string{"--yes"}, exitRefused, []string{"cancel"}, nil},
		"failed":                        {failed, nil, exitFailed, nil, []string{"✗ failed", "  agent loop hit per-task cost ceiling"}},
		"cancelled by somebody else":    {cancelled, nil, exitCancelled, nil, []string{"✗ cancelled", "  run cancelled: wrong branch"}},
		"time limit":                    {[]scriptedEvent{ev("run.created", obj{}), ev("hang", nil)}, []string{"--timeout", "20ms"}, exitCancelled, []string{`cancel {"reason":"time limit of 20ms reached"}`, `"timeout_ms":20`}, nil},
		"in place, with all the things": {failed, []string{"--in-place", "--model", "m", "--provider", "p", "--budget", "0.5"}, exitFailed, []string{`"workspace_mode":"in_place"`, `"requested_model":"m"`, `"requested_provider":"p"`, `"budget_micros_usd":500000`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newContractServer(t, c.script)
			a, out, errs := testApp(t)
			args := append([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}, c.args...)
			if code := a.run(args); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, errs)
			}
			check(t, s.requests(), c.requests)
			check(t, out.String()+errs.String(), c.out)
		})
	}
}

// A yes goes with the digest of what was shown. If the server refuses it because
// something else waits, nothing is approved, and that is said.
func TestAnswerIsBoundToWhatWasShown(t *testing.T) {
	for name, c := range map[string]struct {
		accepted string
		code     int
	}{
		"the same":       {digestOfShellCall(), exitCompleted},
		"something else": {"another digest", exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			script := gated("runtime-policy")
			for _, e := range script {
				if e.typ == "approval.requested" {
					e.data["digest"] = c.accepted
				}
			}
			s := newContractServer(t, script)
			s.digest = c.accepted
			a, _, errs := testApp(t)
			if code := a.run([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "--yes", "Repair it"}); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			check(t, s.requests(), []string{`"digest":"` + digestOfShellCall() + `"`})
			if c.code != 0 {
				check(t, errs.String(), []string{"answer approval approval_1", "what waits is not what was shown"})
			}
		})
	}
}

func digestOfShellCall() string { return digestOf("run_1", 1, shellCall) }

// digestOf is what the server calls the calls of a bundle.
func digestOf(runID string, index int64, calls ...obj) string {
	var out []run.ToolCall
	for _, c := range calls {
		input, _ := json.Marshal(c["input"]) // of strings
		out = append(out, run.ToolCall{ID: c["tool_call_id"].(string), Name: c["tool_name"].(string), Arguments: event.NewText(string(input))})
	}
	return run.BundleDigest(runID, index, out)
}

func TestAnsweredElsewhere(t *testing.T) {
	s := newContractServer(t, gated("runtime-policy"))
	s.answered = func() {
		s.happen(ev("approval.resolved", obj{"status": "approved", "by": "operator"}))
		s.play()
	}
	in, writer := io.Pipe() // nobody types anything
	defer writer.Close()
	a, out, _ := testApp(t)
	onTerminal(a, in)
	if code := a.run([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}); code != exitCompleted {
		t.Errorf("exit code %d", code)
	}
	check(t, out.String(), []string{"answered elsewhere", "✓ completed"})
}

func TestAnswerThatComesTooLate(t *testing.T) {
	s := newContractServer(t, gated("runtime-policy"))
	s.conflict = true
	a, out, _ := testApp(t)
	onTerminal(a, strings.NewReader("n\n"))
	if code := a.run([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}); code != exitCompleted {
		t.Errorf("exit code %d", code)
	}
	check(t, out.String(), []string{"the approval is answered already (409 invalid_request)", "✓ completed"})
}

// The first Ctrl-C cancels the run and waits for its end; the second leaves.
func TestInterrupt(t *testing.T) {
	for s, reason := range map[os.Signal]string{
		os.Interrupt: "interrupted with Ctrl-C", syscall.SIGTERM: "hecate was asked to end (SIGTERM)", syscall.SIGHUP: "the terminal was closed",
	} {
		t.Run(reason, func(t *testing.T) {
			server := newContractServer(t, []scriptedEvent{ev("run.created", obj{}), ev("hang", nil)})
			a, out, _ := testApp(t)
			a.interrupt <- s
			if code := a.run([]string{"run", "--server", server.URL, "--dir", t.TempDir(), "Repair it"}); code != exitInterrupted {
				t.Errorf("exit code %d", code)
			}
			check(t, server.requests(), []string{`cancel {"reason":"` + reason + `"}`})
			check(t, out.String(), []string{"✗ cancelled"})
		})
	}
	t.Run("twice", func(t *testing.T) {
		s := newContractServer(t, []scriptedEvent{ev("run.created", obj{}), ev("hang", nil)})
		a, out, _ := testApp(t)
		a.interrupt <- os.Interrupt
		a.interrupt <- syscall.SIGTERM
		if code := a.run([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}); code != exitInterrupted {
			t.Errorf("exit code %d", code)
		}
		check(t, s.requests(), []string{"cancel"})
		check(t, out.String(), []string{"run_1"})
	})
}

func TestJSONLines(t *testing.T) {
	s := newContractServer(t, gated("runtime-policy"))
	a, out, _ := testApp(t)
	if code := a.run([]string{"run", "--json", "--yes", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(s.events)+1 {
		t.Errorf("%d lines for %d events and the result", len(lines), len(s.events))
	}
	for i, e := range s.events {
		if lines[i] != string(e) {
			t.Errorf("line %d is not the event: %s", i, lines[i])
		}
	}
	var last struct {
		Object string
		Data   runResult
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	r := last.Data
	if last.Object != "run_result" || r.Status != "completed" || r.Answer != "All tests pass." || r.CostMicroUSD != 3000 || !r.CostKnown ||
		len(r.Files) != 2 || r.ModelCallCount != 2 || r.DurationMS <= 0 || r.WorkspacePath != "/ws/run_1" {
		t.Errorf("result %+v", last)
	}
}

// Several errors in one stand below each other; none can pass for a line of another kind.
func TestErrorsBelowEachOther(t *testing.T) {
	a, _, errs := testApp(t)
	if code := a.report("serve", errors.Join(errors.New("first\x1b[2J"), errors.New("second"))); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if want := "hecate serve: first\\x1b[2J\n              second\n"; errs.String() != want {
		t.Errorf("got:\n%s", errs)
	}
}

// Whatever makes no sense is said before anything happens, with exit code 2.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"nonsense"},
		{"run"},
		{"run", " "},
		{"run", "--nonsense", "x"},
		{"run", "--provider", "p", "x"},
		{"run", "--dir", file, "x"},
		{"run", "--dir", filepath.Join(dir, "none"), "x"},
		{"run", "--budget", "much", "x"},
		{"run", "--budget", "0", "x"},
		{"run", "--budget", "-1", "x"},
		{"run", "--timeout", "5", "x"},
		{"run", "--timeout=-5s", "x"},
		{"run", "--server", "host:80", "x"},
		{"run", "-"},
		{"approve"},
		{"approve", "a", "b", "c"},
		{"tasks", "--limit=-1"},
		{"tasks", "--status", "lost"},
		{"projections", "nonsense"},
		{"retry"},
		{"retry", "run_1", "--detach", "--yes"},
		{"resume", "run_1", "--detach", "--timeout", "5s"},
		{"resume", "run_1", "--budget", "0"},
		{"resume", "run_1", "--timeout=-5s"},
		{"continue", "run_1"},
		{"continue", "run_1", " "},
		{"branch", "run_1"},
		{"branch", "run_1", "--call", "0"},
		{"settle", "run_1", "step_1"},
		{"settle", "run_1", "step_1", "--done", "--not-done"},
		{"usage", "--limit", "0"},
		{"usage", "--json", "--events", "--provider", "p"},
		{"provider"},
		{"provider", "check"},
		{"stop", "--wait=-1s"},
	} {
		a, out, errs := testApp(t)
		if code := a.run(args); code != exitUsage || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("hecate %q: exit code %d, stdout %q, stderr %q", args, code, out, errs)
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		err  []string
	}{
		"no provider":   {[]string{"run", "--dir", ".", "x"}, exitFailed, []string{"no model provider is configured", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PROVIDER_NAME_BASE_URL", "hecate demo"}},
		"no server":     {[]string{"approvals"}, exitFailed, []string{"no Hecate server is running", "hecate serve", "HECATE_BASE_URL"}},
		"wrong address": {[]string{"log", "--server", "http://127.0.0.1:1"}, exitFailed, []string{"reach the server at http://127.0.0.1:1", "check --server"}},
		"demo, no one":  {[]string{"demo"}, exitRefused, []string{"hecate demo --yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, _, errs := testApp(t)
			if code := a.run(c.args); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			check(t, errs.String(), c.err)
		})
	}
}

func TestDollars(t *testing.T) {
	for in, want := range map[string]dollars{"0.50": 500_000, "$1": 1_000_000, ".000001": 1, "12.": 12_000_000, "0.1234567": 0, "": 0, ".": 0, "1e3": 0, "-1": 0, "0": 0, "0.0": 0, "99999999999": 0} {
		var d dollars
		if err := d.UnmarshalText([]byte(in)); (err == nil) != (want > 0) || d != want {
			t.Errorf("%q = %d, %v; want %d", in, d, err, want)
		}
	}
}
