package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hecate/cmd/hecate/internal/client"
	"hecate/cmd/hecate/internal/operators"
	"hecate/domain/run"
	"hecate/runtime/model/scripted"
	"hecate/tools/process"
)

// asHecate makes the test binary behave as hecate.
const asHecate = "HECATE_TEST_AS_HECATE"

func TestMain(m *testing.M) {
	process.SuperviseIfAsked()
	if os.Getenv(asHecate) != "" {
		os.Exit(newApp().run(os.Args[1:]))
	}
	// By the environment, before anybody has looked: libraries that are linked here read the clock in
	// goroutines of their own from the start, and time.Local must not be written beside them.
	if err := os.Setenv("TZ", "UTC"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"hecate": func() { os.Exit(newApp().run(os.Args[1:])) }})
}

// deceit is a command that repaints itself as ls, and would write to the clipboard.
const deceit = "rm -rf ./x\r\x1b[2Kls\b\b\x1b]52;c;aGk=\a\u009b2K\u009d0;title\u009c \u202elper\u200b"

// typed is the beginning of an answer, with what makes lines hard to measure.
const typed = "The first lines of it are gone from view by the time that the last ones come.\n\n日本語の文章は二倍の幅で、どこでも折り返すことができます。🙂✅ are wide, too.\n\n" +
	"```\naVeryLongWordThatFitsOnNoLineOfANarrowTerminalAndIsBrokenWhereverThatIsNecessary\n\ttabs\x1b[2J\n```\nAnd here it sto"

// e2eModel answers what the scripts ask for, by a word of the prompt.
func e2eModel() *scripted.Server {
	cost := int64(1500)
	say := func(text string, calls ...scripted.Call) scripted.Reply {
		return scripted.Reply{Text: text, Calls: calls, Usage: &[2]int64{100, 10}, Cost: &cost}
	}
	write := scripted.ToolCall("call_1", "file_write", map[string]any{"path": "made.txt", "content": "by the agent\n"})
	shell := scripted.ToolCall("call_2", "shell_exec", `{ "command": "cat made.txt" }`) // as some models write it
	return scripted.New(
		scripted.Script{Marker: "gated", ByTurn: true, Replies: []scripted.Reply{
			say("First the file.", write), say("Now a look at it.", shell), say("The file is there."),
		}},
		scripted.Script{Marker: "twice", ByTurn: true, Replies: []scripted.Reply{
			say("One.", scripted.ToolCall("call_1", "exec", map[string]any{"program": "echo", "args": []string{"one", "two"}})),
			say("Two.", scripted.ToolCall("call_2", "exec", map[string]any{"program": "echo", "args": []string{"one", "three"}})),
			say("Both said."),
		}},
		scripted.Script{Marker: "deceives", ByTurn: true, Replies: []scripted.Reply{
			say("Just a look.\x1b[2J\x1b]0;title\a", scripted.ToolCall("call_1", "shell_exec", map[string]any{"command": deceit})), say("Seen."),
		}},
		// The replies to these go out in the order of the requests, whichever run asks.
		scripted.Script{Marker: "trips", Replies: []scripted.Reply{
			say("First the file.", write),
			{HTTP: 400, Body: []byte(`{"error":{"message":"out of order","type":"invalid_request_error"}}`)},
			say("On its feet again."), say("There is more to say."), say("Said differently."), say("From the beginning."),
		}},
		scripted.Script{Marker: "crashes", ByTurn: true, Replies: []scripted.Reply{
			say("This takes a while.", scripted.ToolCall("call_1", "shell_exec", map[string]any{"command": "touch ../../../begun; sleep 60"})),
			say("I don't know whether that worked."), say("Then all is well."),
		}},
		scripted.Script{Marker: "busy", Replies: []scripted.Reply{
			{HTTP: 529, Body: []byte(`{"error":{"message":"come back later","type":"overloaded_error"}}`)}, say("Got through."),
		}},
		scripted.Script{Marker: "types", Replies: []scripted.Reply{say("Let me see.", write), {HangAfterText: true, Text: typed}}},
		scripted.Script{Marker: "hangs", Replies: []scripted.Reply{{Hang: true}}, Repeat: true},
		scripted.Script{Marker: "refused", Repeat: true, Replies: []scripted.Reply{{HTTP: 400, Body: []byte(`{"error":{"message":"no such thing","type":"invalid_request_error"}}`)}}},
		scripted.Script{Repeat: true, Replies: []scripted.Reply{say("Nothing to do.")}},
	)
}

// e2eEnviron is the environment of a hecate with its data below dir and the scripted
// model, which runs until stop is called.
func e2eEnviron(dir string) (environ []string, stop func(), err error) {
	base, stop, err := e2eModel().Start("127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	tmp := filepath.Join(dir, "tmp")
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + tmp, "TERM=xterm", "LANG=C.UTF-8", "TZ=UTC",
		"HECATE_DATA_DIR=" + filepath.Join(dir, "data"), "HECATE_ADDRESS=127.0.0.1:0",
		"PROVIDER_FAKE_PRECONFIGURED=true", "PROVIDER_FAKE_KIND=local", "PROVIDER_FAKE_BASE_URL=" + base,
	}, stop, os.MkdirAll(tmp, 0o755)
}

// The scripts under testdata/script run the real binary, with its server where it has one.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			environ, stop, err := e2eEnviron(e.WorkDir)
			if err != nil {
				return err
			}
			e.Defer(stop)
			for _, entry := range environ {
				name, value, _ := strings.Cut(entry, "=")
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "waitfile": waitFile, "start": startTask, "waitpending": waitPending, "latest": latest, "direct": startDirect,
			"private": private, "operator": asOperator, "firstoperator": firstOfList,
		},
	})
}

// exits CODE program args… runs a program that must end with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE program [args...]")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		got = exited.ExitCode()
	} else {
		ts.Check(err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || got != want {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// patience is how long something may take that takes a moment on an idle machine.
const patience = 2 * time.Minute

// until polls for what another process does.
func until(ts *testscript.TestScript, what string, done func() bool) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if done() {
			return
		}
	}
	ts.Fatalf("not within %v: %s", patience, what)
}

// waitFile FILE [TEXT] waits until the file is there, and holds the text.
func waitFile(ts *testscript.TestScript, _ bool, args []string) {
	until(ts, strings.Join(args, " holds "), func() bool {
		raw, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && strings.Contains(string(raw), strings.Join(args[1:], " "))
	})
}

// private FILE fails if others than its owner may do something with the file.
func private(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if info.Mode().Perm() != 0o600 {
		ts.Fatalf("%s has mode %v", args[0], info.Mode())
	}
}

// operator FILE makes the commands that follow use the token in the file.
func asOperator(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv("HECATE_OPERATOR_TOKEN", strings.TrimSpace(ts.ReadFile(args[0])))
}

// firstoperator sets FIRST to the name of the first operator.
func firstOfList(ts *testscript.TestScript, _ bool, _ []string) {
	list, err := operators.Read(ts.MkAbs("data/operators.json"))
	ts.Check(err)
	ts.Setenv("FIRST", list[0].Name)
}

// serverOf is a client of the server that runs in the script's data directory.
func serverOf(ts *testscript.TestScript) *client.Client {
	a := &app{environ: []string{"HECATE_DATA_DIR=" + ts.Getenv("HECATE_DATA_DIR")}}
	servers := a.localServers()
	if len(servers) == 0 {
		ts.Fatalf("no server runs")
	}
	c, err := client.New(servers[0], "", nil)
	ts.Check(err)
	return c
}

// latest sets TASK and RUN to the latest task and its latest run.
func latest(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Exec("hecate", "tasks", "--limit", "1", "--json"))
	var tasks []struct {
		ID  string `json:"id"`
		Run string `json:"latest_run_id"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &tasks))
	ts.Setenv("TASK", tasks[0].ID)
	ts.Setenv("RUN", tasks[0].Run)
}

// start PROMPT starts a task on the script's server and sets TASK and RUN.
func startTask(ts *testscript.TestScript, _ bool, args []string) {
	ctx, c := context.Background(), serverOf(ts)
	task, _, err := c.CreateTask(ctx, client.NewTask{Prompt: args[0], ExecutionKind: "agent_loop", WorkspaceMode: "ephemeral", WorkingDirectory: ts.MkAbs("project")})
	ts.Check(err)
	run, err := c.StartTask(ctx, task.ID, run.Ahead{})
	ts.Check(err)
	ts.Setenv("TASK", task.ID)
	ts.Setenv("RUN", run.ID)
}

// direct COMMAND starts a task without a model and sets TASK and RUN.
func startDirect(ts *testscript.TestScript, _ bool, args []string) {
	ctx, c := context.Background(), serverOf(ts)
	body, err := json.Marshal(map[string]any{"execution_kind": "shell", "shell_command": args[0], "working_directory": ts.MkAbs("project")})
	ts.Check(err)
	res, err := http.Post(c.BaseURL()+"/hecate/v1/tasks", "application/json", bytes.NewReader(body))
	ts.Check(err)
	defer res.Body.Close()
	var made struct{ Data client.Task }
	ts.Check(json.NewDecoder(res.Body).Decode(&made))
	run, err := c.StartTask(ctx, made.Data.ID, run.Ahead{})
	ts.Check(err)
	ts.Setenv("TASK", made.Data.ID)
	ts.Setenv("RUN", run.ID)
}

// waitpending waits for an approval of TASK and sets APPROVAL.
func waitPending(ts *testscript.TestScript, _ bool, _ []string) {
	until(ts, "an approval waits", func() bool {
		approvals, err := serverOf(ts).Approvals(context.Background(), ts.Getenv("TASK"))
		ts.Check(err)
		for _, p := range approvals {
			if p.Status == "pending" {
				ts.Setenv("APPROVAL", p.ID)
				checkDigest(ts, p)
				return true
			}
		}
		return false
	})
}

// checkDigest makes sure that what is shown of an approval is what its digest covers.
func checkDigest(ts *testscript.TestScript, p client.Approval) {
	q, err := (&app{}).questionOf(context.Background(), serverOf(ts), p)
	ts.Check(err)
	if q.Digest == "" || q.Shown(p.RunID) != q.Digest {
		ts.Fatalf("approval %s has the digest %s, which is not that of what is shown", p.ID, q.Digest)
	}
}
