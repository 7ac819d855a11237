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
	"slices"
	"strings"
	"syscall"
	"testing"

	"hecate/cmd/hecate/internal/show"
	"hecate/cmd/hecate/internal/terminal"
	"hecate/domain/event"
	"hecate/domain/permission"
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
	kept := func(decision, call string) string {
		return `POST resolve {"decision":"` + decision + `","calls":[{"tool_call_id":"c1",` + call + `}]}`
	}
	denied := `POST resolve {"decision":"reject","continue":true,"calls":[{"tool_call_id":"c1","decision":"deny"`
	for name, c := range map[string]struct {
		in       string
		code     int
		requests []string
		out      []string
	}{
		"yes": {"y\n", exitCompleted, []string{`POST resolve {"decision":"approve"}`}, []string{
			"Level 2 (approve)", "shell (shell_exec)   in a worktree", "    Locks if approved: build-output\n\n    │ go test ./...\n\n      why: Now the tests.\n      note: the file",
			"    a  this session:    shell(go test ./...)\n       = shell with exactly this command, character for character\n",
			"    A  remember:        the same, written to /project/.hecate/config.toml", "approve? y, a, A, e, n, N or q: ",
			"✓ approved by operator", "All tests pass.", "✓ completed",
		}},
		"no":               {"n\n", exitCompleted, []string{denied + `}]}`}, []string{"✗ rejected by operator", "✓ completed"}},
		"no, and why":      {"N\nuse make\n", exitCompleted, []string{denied + `,"note":"use make"}]}`}, []string{"what the model is told: "}},
		"no, without why":  {"N\n \nno\n", exitCompleted, []string{denied + `}]}`}, []string{"no reason was given"}},
		"end it":           {"q\n", exitRefused, []string{`POST resolve {"decision":"reject"}`}, []string{"✗ rejected by operator", "✗ cancelled", "2 model calls", "  approval rejected"}},
		"for the session":  {"a\n", exitCompleted, []string{kept("approve", `"decision":"approve","scope":"session"`)}, nil},
		"for good":         {"A\n", exitCompleted, []string{kept("approve", `"decision":"approve","scope":"project"`)}, nil},
		"edited":           {"e\nexec(make) args(*)\ne\nshell(go test ./a)\na\n", exitCompleted, []string{kept("approve", `"decision":"approve","scope":"session","pattern":"shell(go test ./a)"`)}, []string{"it stays as it was: it is about exec, not about shell", "not this call, which is allowed this once"}},
		"unclear, then no": {"\nYES please\nno\n", exitCompleted, []string{denied + `}]}`}, []string{"please type one of y a A e n N q."}},
		"capital yes":      {"  YES \n", exitCompleted, []string{`POST resolve {"decision":"approve"}`}, nil},
		"end of input":     {"", exitRefused, []string{"cancel"}, []string{"refused, since nobody was there to approve:\n    shell_exec go test ./..."}},
		"half a line":      {"y", exitRefused, []string{"cancel"}, []string{"refused, since nobody"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newContractServer(t, offering(gated("level-2")))
			a, out, errs := testApp(t)
			onTerminal(a, strings.NewReader(c.in))
			if code := a.run([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			check(t, s.requests(), append(c.requests, `POST /tasks/task_1/start {"permissions":{"on_ask":"park","attended":true}}`))
			check(t, out.String()+errs.String(), c.out)
			if strings.Count(s.requests(), "resolve") > 1 {
				t.Errorf("requests %s", s.requests())
			}
		})
	}
}

// The calls of one answer of the model are asked about one after the other, and answered
// together.
func TestAnswersToSeveralCalls(t *testing.T) {
	calls := []obj{
		{"tool_call_id": "c1", "tool_name": "read_file", "input": obj{"path": "a.go"}},
		{"tool_call_id": "c2", "tool_name": "exec", "input": obj{"program": "go", "args": []string{"vet"}}},
		{"tool_call_id": "c3", "tool_name": "exec", "input": obj{"program": "make", "args": []string{"a b"}}},
		{"tool_call_id": "c4", "tool_name": "exec", "input": obj{"program": "go", "args": []string{"test"}}},
	}
	script := append([]scriptedEvent{ev("run.created", obj{}), ev("run.started", obj{"workspace_path": "/ws/run_1"})}, callEvents(1, "", calls...)...)
	asked := []any{obj{"tool_call_id": "c1", "tool_name": "read_file", "ruling": obj{"decision": "allow", "level": 0}}}
	for id, program := range map[string]string{"c2": "go", "c3": "make", "c4": "go"} {
		asked = append(asked, obj{
			"tool_call_id": id, "tool_name": "exec", "ruling": obj{"decision": "ask", "level": 2}, "gates": []string{"level-2"},
			"answers": []string{"y", "a", "e", "n", "N"}, "offer": obj{"scope": "exec(" + program + ") args(*)", "covers": "any exec of " + program},
		})
	}
	script = append(script, ev("approval.requested", obj{"approval_id": "approval_1", "kind": "agent_loop_tool_call", "model_call_index": 1, "calls": asked}))
	script = append(script, ev("run.finished", obj{"final_status": "completed", "model_call_count": 1}))
	s := newContractServer(t, script)
	a, out, _ := testApp(t)
	onTerminal(a, strings.NewReader("A\na\nN\nnot now\n"))
	if code := a.run([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}); code != exitCompleted {
		t.Errorf("exit code %d", code)
	}
	check(t, s.requests(), []string{
		`POST resolve {"decision":"approve","calls":[{"tool_call_id":"c2","decision":"approve","scope":"session"},{"tool_call_id":"c3","decision":"deny","note":"not now"},{"tool_call_id":"c4","decision":"approve","covered_by":"c2"}]}`,
	})
	check(t, out.String(), []string{
		"call 2 of 4", "│ go vet\n", "1  read_file a.go · needs no answer\n", "a and A cover call 4 of the same answer, too\n",
		"call 3 of 4", "│ make 'a b'\n", "2  exec go vet · a: this session, exec(go) args(*)\n", "No model context available for this call.",
		"4  exec go test · covered by exec(go) args(*)\n", "? exec go test                                       covered by exec(go) args(*)\n",
		"please type one of y a e n N q.",
	})
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
		"decided ahead": {gated("level-2"), []string{"--yes", "--yes-really", "--allow-tools", "exec(go) args(test *, x)", "--allow-tools", "view", "--project-config", "/p/c.toml"}, exitRefused, []string{
			`start {"permissions":{"on_ask":"refuse","allow_tools":["exec(go) args(test *, x)","view"],"yes":true,"yes_really":true,"project_config":"/p/c.toml"}}`,
		}, nil},
		"by levels":   {failed, nil, exitFailed, []string{`"permission_posture":"levels"`, `start {"permissions":{"on_ask":"refuse"}}`}, nil},
		"by policies": {failed, []string{"--runtime-policies"}, exitFailed, []string{`"permission_posture":"runtime"`}, nil},
		"nobody there": {refusing(), nil, exitRefused, nil, []string{
			"● model call 1", "✗ refused by policy: shell_exec go test ./...: no one is present", "All tests pass.", "✓ completed", "2 model calls · cost $0.0030",
			"✗ refused, since nobody was there to approve:\n    shell_exec go test ./...\n", "--allow-tools PATTERN",
		}},
		"parked though nobody is there": {gated("runtime-policy"), nil, exitRefused, []string{`cancel {"reason":"approval needed, and nobody was there to answer"}`}, []string{"✗ cancelled", "    shell_exec go test ./...", "--yes"}},
		"failed":                        {failed, nil, exitFailed, nil, []string{"✗ failed", "  agent loop hit per-task cost ceiling"}},
		"cancelled by somebody else":    {cancelled, nil, exitCancelled, nil, []string{"✗ cancelled", "  run cancelled: wrong branch"}},
		"time limit":                    {[]scriptedEvent{ev("run.created", obj{}), ev("hang", nil)}, []string{"--timeout", "20ms"}, exitCancelled, []string{`cancel {"reason":"time limit of 20ms reached"}`}, nil},
		"for code":                      {failed, []string{"--ref", "v1"}, exitFailed, []string{`"execution_profile":"coding_agent"`, `"base_branch":"v1"`, `"working_directory":"/`}, nil},
		"of another place":              {failed, []string{"--repo", "https://example.org/x.git"}, exitFailed, []string{`"repo":"https://example.org/x.git"`}, nil},
		"in place, with all the things": {failed, []string{"--in-place", "--model", "m", "--provider", "p", "--budget", "0.5"}, exitFailed, []string{`"workspace_mode":"in_place"`, `"requested_model":"m"`, `"requested_provider":"p"`, `"budget_micros_usd":500000`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newContractServer(t, c.script)
			a, out, errs := testApp(t)
			t.Chdir(t.TempDir())
			args := append([]string{"run", "--server", s.URL, "Repair it"}, c.args...)
			if code := a.run(args); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, errs)
			}
			check(t, s.requests(), c.requests)
			check(t, out.String()+errs.String(), c.out)
		})
	}
}

// A time limit holds also if the server does not cancel the run at the first time of asking.
func TestTimeLimitOfABusyServer(t *testing.T) {
	t.Parallel()
	s := newContractServer(t, []scriptedEvent{ev("run.created", obj{}), ev("hang", nil)})
	s.busy = 1
	a, out, errs := testApp(t)
	if code := a.run([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "--timeout", "20ms", "Repair it"}); code != exitCancelled {
		t.Errorf("exit code %d", code)
	}
	check(t, out.String()+errs.String(), []string{"cancel run run_1: try again", "✗ cancelled"})
	if n := strings.Count(s.requests(), "/cancel"); n != 2 {
		t.Errorf("%d requests to cancel:\n%s", n, s.requests())
	}
}

// refusing is a run in which a call was refused since nobody was there to ask.
func refusing() []scriptedEvent {
	s := append([]scriptedEvent{ev("run.created", obj{}), ev("run.started", obj{"workspace_path": "/ws/run_1"})}, callEvents(1, "Now the tests.", shellCall)...)
	s = append(s, ev("policy.tool_blocked", obj{"tool_call_id": "c1", "tool_name": "shell_exec", "policy": "unattended", "reason": "no one is present to approve this call", "gates": []string{"level-2"}}))
	s = append(s, ev("workspace.changed", obj{"files": []any{obj{"path": "new\u001b[2J.go", "kind": "add"}}, "files_count": 1}))
	s = append(s, callEvents(2, "All tests pass.")...)
	return append(s, ev("run.finished", obj{"final_status": "completed", "model_call_count": 2}))
}

// What would have helped is said of each refused call, and nothing that would not.
func TestHintsOfRefusedCalls(t *testing.T) {
	a, _, errs := testApp(t)
	var r runResult
	for _, x := range []struct {
		call  string
		gates []permission.Gate
	}{
		{"exec make", []permission.Gate{permission.GateLevel}},
		{"web_fetch a", []permission.Gate{permission.GateHost}},
		{"web_fetch b", []permission.Gate{permission.GatePlainHTTP}},
		{"exec make test", []permission.Gate{permission.GateRuntime}},
		{"exec env", []permission.Gate{permission.GateLevel, permission.GateEnv}},
	} {
		r.refuse(show.Refusal{Call: x.call, Gates: x.gates})
	}
	newFollower(a, nil, false).sayRefused(r)
	want := `✗ refused, since nobody was there to approve:
    exec make
    exec make test
  run it on a terminal, or answer ahead with --allow-tools PATTERN or --yes
    web_fetch a
  run it on a terminal, or answer ahead with --allow-tools web_fetch or --yes-really
    web_fetch b
    exec env
  run it on a terminal: nothing that is said ahead opens this
`
	if errs.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", errs, want)
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
		"something else": {"another digest", exitRefused}, // and then nobody answers any more
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
			a, out, _ := testApp(t)
			onTerminal(a, strings.NewReader("y\n"))
			if code := a.run([]string{"run", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			check(t, s.requests(), []string{`"digest":"` + digestOfShellCall() + `"`})
			if c.code != 0 {
				check(t, out.String(), []string{"answer approval approval_1", "what waits is not what was shown"})
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
	onTerminal(a, strings.NewReader("q\n"))
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
	s := newContractServer(t, refusing())
	a, out, _ := testApp(t)
	if code := a.run([]string{"run", "--json", "--server", s.URL, "--dir", t.TempDir(), "Repair it"}); code != exitRefused {
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
	if !slices.Equal(r.Refused, []string{"shell_exec go test ./..."}) {
		t.Errorf("refused %q", r.Refused)
	}
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
		{"retry", "run_1", "--allow-tools", "exec("},
		{"run", "--allow-tools", "nonsense(", "x"},
		{"approve", "a", "--only"},
		{"approve", "a", "--pattern", "view"},
		{"approve", "a", "--session", "--remember"},
		{"reject", "a", "--reason", "why"},
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
