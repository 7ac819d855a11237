package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hecate/domain/permission"
)

// decidedCase is what a line of the case file expects.
type decidedCase struct {
	ID     string `json:"id"`
	Expect struct {
		Decision          string          `json:"decision"`
		Also              []string        `json:"also"`
		Level             *int            `json:"level"`
		Offered           json.RawMessage `json:"offered_pattern"` // absent: not said; null: none
		ReasonContains    []string        `json:"reason_contains"`
		ReasonNotContains []string        `json:"reason_not_contains"`
	} `json:"expect"`
}

// The cases of the permission text, with the facts that the tools would hand in.
func TestExplainDecidesTheCases(t *testing.T) {
	cases, err := os.ReadFile("../../domain/permission/testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	a, out, errs := testApp(t)
	a.in = strings.NewReader(string(cases))
	if code := a.run([]string{"permissions", "explain", "--jsonl"}); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, caseMax)
	n := 0
	for line := range strings.Lines(string(cases)) {
		n++
		var k decidedCase
		var got caseAnswer
		if err := json.Unmarshal([]byte(line), &k); err != nil || !answers.Scan() {
			t.Fatalf("case %d: %v; %v", n, err, answers.Err())
		}
		if err := json.Unmarshal(answers.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		k.check(t, got)
	}
	if n != 137 || answers.Scan() {
		t.Errorf("there are %d cases, and other answers", n)
	}
}

func (k decidedCase) check(t *testing.T, got caseAnswer) {
	t.Helper()
	want := append(slices.Clone(k.Expect.Also), k.Expect.Decision)
	if slices.Contains(want, "allow") {
		want = append(want, "visible")
	}
	if got.ID != k.ID || got.Error != "" || !slices.Contains(want, got.Decision) {
		t.Errorf("%s: %+v, want %v", k.ID, got, want)
	}
	if k.Expect.Level != nil && *k.Expect.Level != got.Level {
		t.Errorf("%s: level %d", k.ID, got.Level)
	}
	if o := k.Expect.Offered; o != nil {
		offered, err := json.Marshal(got.Offered)
		if err != nil || string(offered) != string(o) {
			var a, b any
			if json.Unmarshal(offered, &a) != nil || json.Unmarshal(o, &b) != nil || a != b {
				t.Errorf("%s: offered is %s, want %s", k.ID, offered, o)
			}
		}
	}
	for _, s := range k.Expect.ReasonContains {
		if !strings.Contains(got.Message, s) {
			t.Errorf("%s: %q lacks %q", k.ID, got.Message, s)
		}
	}
	for _, s := range k.Expect.ReasonNotContains {
		if strings.Contains(got.Message, s) {
			t.Errorf("%s: %q has %q", k.ID, got.Message, s)
		}
	}
}

func TestExplainSaysWhatIsWrongWithACase(t *testing.T) {
	a, out, _ := testApp(t)
	a.in = strings.NewReader("{\n\n" + `{"id":"x","given":{"deny":[{"pattern":"shell(a *)"}]},"call":{"tool":"shell","principal":"a"}}` + "\n")
	if code := a.run([]string{"permissions", "explain", "--jsonl"}); code != 0 {
		t.Fatal(code)
	}
	check(t, out.String(), []string{`{"id":"","level":0,"reasons":[],"offered_pattern":null,"error":"`, `{"id":"x","level":0,"reasons":[],"offered_pattern":null,"error":"refused: [permissions.deny]`})
}

// project is a directory with permission files, and a process in it.
func permissionProject(t *testing.T) (explain func(code int, args ...string) (out, errs string)) {
	dir, home := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(dir, permission.ProjectFile):              "[permissions]\ndeny = [{ pattern = \"exec(npm) args(*)\", reason = \"Use pnpm.\" }, \"edit(sub/**)\"]\napprove = [\"shell\"]\n",
		filepath.Join(home, ".config", "hecate", "config.toml"): "[permissions]\napprove = [\"exec(go) args(test *)\"]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("sub", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	return func(want int, args ...string) (string, string) {
		t.Helper()
		a, out, errs := testApp(t)
		a.environ = []string{"HOME=" + home}
		if code := a.run(append([]string{"permissions", "explain"}, args...)); code != want {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
		}
		return out.String(), errs.String()
	}
}

func TestExplain(t *testing.T) {
	explain := permissionProject(t)
	out, errs := explain(0, "shell_exec", "env A=1 npm ci")
	check(t, out, []string{
		"shell (shell_exec): deny", "decided by deny (permissions.deny), posture levels", "denied by config pattern exec(npm) args(*): Use pnpm.",
		".hecate/config.toml:2: [permissions.deny] exec(npm) args(*) matches", "does not reach:", "[permissions.deny] edit(sub/**) does not match",
	})
	check(t, errs, []string{"! ", "not in force until it is accepted"})
	out, _ = explain(0, "--levels", "exec", "go", "test", "-run", "X")
	check(t, out, []string{"exec: visible", "level 2; decided by answer (permissions.approve), posture levels", "opened by exec(go) args(test *)"})
	out, _ = explain(0, "--levels", "exec", "go", "build")
	check(t, out, []string{"exec: ask", "level 2 asks before exec", "an entry that would cover it: exec(go) args(*) = "})
	out, _ = explain(0, "--json", "edit", "link/f")
	var x struct {
		Tool     string               `json:"tool"`
		Verdict  permission.Verdict   `json:"verdict"`
		Problems []permission.Problem `json:"problems"`
	}
	if err := json.Unmarshal([]byte(out), &x); err != nil || x.Tool != "edit" || x.Verdict.Decision != permission.Deny || len(x.Problems) != 1 {
		t.Errorf("%v: %s", err, out)
	}
	out, _ = explain(0, "exec", "--", "make")
	check(t, out, []string{"exec(make) args(*)", "[permissions.deny] exec(npm) args(*) does not match"})
	if strings.Contains(out, "does not reach") {
		t.Errorf("it says what entries do not reach that do not match:\n%s", out)
	}
	for _, args := range [][]string{{}, {"nonsense"}, {"--jsonl", "exec"}, {"shell"}, {"web_fetch", ""}, {"edit"}} {
		explain(exitUsage, args...)
	}
	_, errs = explain(exitUsage, "exec")
	check(t, errs, []string{"a call of exec is about a program: hecate permissions explain exec PROGRAM"})
	explain(0, "ls")
}
