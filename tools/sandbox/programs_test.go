package sandbox_test

import (
	"strings"
	"testing"

	"hecate/domain/permission/command"
	"hecate/tools/sandbox"
)

func TestPrograms(t *testing.T) {
	for script, want := range map[string]string{
		"ls -l":                             "ls|-l",
		"a && (b; c) | d &":                 "a / b / c / d",
		`"r"m -r\f 'a b'`:                   "rm|-rf|a b",
		"if x; then y; fi; f() { z; }":      "x / y / z",
		"A=1 B=$(inner q) cmd $HOME":        "cmd|? / inner|q",
		"cat <<E\n$(deep)\nE":               "cat / deep",
		"/bin/r? x; ~/bin/tool; {rm,-rf,x}": "/bin/r??|x / ~/bin/tool? / {rm,-rf,x}?",
		"echo *.go 'a*' [ x ]":              "echo|*.go?|a*|[|x|]",
		"$X y":                              "?|y",
		`$'r\x6d' x`:                        "rm|x",
	} {
		programs, whole := sandbox.Programs(script)
		var all []string
		for _, p := range programs {
			all = append(all, strings.ReplaceAll(strings.Join(p.Argv, "|"), command.Unknown, "?"))
		}
		got := strings.Join(all, " / ")
		if got != want || !whole {
			t.Errorf("%s starts %s (%t), want %s", script, got, whole, want)
		}
	}
	for _, script := range []string{"if", "alias ls=rm\nls x", "a; " + strings.Repeat("b ", 100_000)} {
		if p, whole := sandbox.Programs(script); whole {
			t.Errorf("%.20s was read whole: %v", script, p)
		}
	}
}
