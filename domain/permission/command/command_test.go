package command_test

import (
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"hecate/domain/permission/command"
)

// parse reads a script as a tool would.
func parse(script string) (out []command.Program, whole bool) {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, false
	}
	whole = true
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		var p command.Program
		for _, w := range call.Args {
			text := w.Lit()
			if text == "" {
				var b strings.Builder
				if len(w.Parts) == 1 {
					if q, ok := w.Parts[0].(*syntax.SglQuoted); ok {
						b.WriteString(q.Value)
					}
				}
				if text = b.String(); text == "" {
					text = command.Unknown
				}
			}
			p.Argv = append(p.Argv, text)
		}
		out = append(out, p)
		return true
	})
	return out, whole
}

func names(all []command.Program) []string {
	var out []string
	for _, p := range all {
		out = append(out, p.Argv[0])
	}
	return out
}

func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		argv  []string
		want  string // programs, joined with blanks
		whole bool
	}{
		{[]string{"rm", "-rf", "x"}, "rm", true},
		{[]string{"env", "rm", "x"}, "env rm", true},
		{[]string{"env", "-i", "-u", "B", "A=1", "rm"}, "env rm", true},
		{[]string{"env", "-", "rm"}, "env rm", true},
		{[]string{"env", "-S", "rm -rf", "x"}, "env env rm", true},
		{[]string{"env", "-iSrm -rf"}, "env env rm", true},
		{[]string{"/usr/bin/nice", "-n", "5", "rm"}, "/usr/bin/nice rm", true},
		{[]string{"nice", "-5", "rm"}, "nice rm", true},
		{[]string{"nohup", "timeout", "-k", "5", "60", "rm"}, "nohup timeout rm", true},
		{[]string{"timeout", "--signal=KILL", "60", "rm"}, "timeout rm", true},
		{[]string{"xargs", "-0", "-n1", "-I", "{}", "rm", "{}"}, "xargs rm", true},
		{[]string{"sudo", "-u", "root", "--", "rm"}, "sudo rm", true},
		{[]string{"sudo", "--unheard", "of", "rm"}, "sudo of rm", true},
		{[]string{"sudo", "--unheard", "-u", "root", "rm"}, "sudo rm root", true},
		{[]string{"sh", "-c", "echo a; rm x"}, "sh echo rm", true},
		{[]string{"bash", "-euo", "pipefail", "-c", "rm x"}, "bash rm", true},
		{[]string{"sh", "-c", "-e", "--", "rm x"}, "sh rm", true},
		{[]string{"sh", "-c", "sh -c 'sh -c rm'"}, "sh sh sh rm", true},
		{[]string{"sh", "-c", "$(cat x)"}, "sh " + command.Unknown + " cat", false},
		{[]string{"sh", "-c", "if"}, "sh", false},
		{[]string{"sh"}, "sh", false},
		{[]string{"bash", "-s", "x"}, "bash", false},
		{[]string{"sh", "build.sh"}, "sh", true},
		{[]string{"find", ".", "-exec", "rm", "{}", "+", "-o", "-ok", "mv", "{}", ";"}, "find rm mv", true},
		{[]string{"git", "-c", "alias.x=!rm -rf y", "x"}, "git rm", false},
		{[]string{"git", "-c", "user.name=a", "-C", "d", "commit", "-m", "rm"}, "git", true},
		{[]string{"git", "-c", "core.fsmonitor=rm x", "status"}, "git", false},
		{[]string{"git", "zz"}, "git", false},
		{[]string{"git", "bisect", "run", "rm", "x"}, "git rm", true},
		{[]string{"git", "submodule", "foreach", "--recursive", "rm x"}, "git rm", true},
		{[]string{"git", "rebase", "-x", "rm x", "main"}, "git rm", true},
		{[]string{"git", "clone", "ext::sh -c rm", "d"}, "git", false},
		{[]string{"find", "/bin/rm", "-exec", "{}", "-rf", ";"}, "find " + command.Unknown, false},
		{[]string{"xargs", "-I%", "sh", "-c", "%"}, "xargs sh " + command.Unknown, false},
		{[]string{"xargs", "sh", "-c"}, "xargs sh sh " + command.Unknown, false},
		{[]string{"xargs", "rm"}, "xargs rm rm", true},
		{[]string{"setpriv", "--reuid", "1", "rm"}, "setpriv 1 rm", true},
		{[]string{"prlimit", "rm"}, "prlimit rm", true},
		{[]string{"linux64", "rm"}, "linux64 rm", true},
		{[]string{"runuser", "-u", "x", "--", "rm"}, "runuser rm", true},
		{[]string{"bwrap", "--ro-bind", "/", "/", "--", "rm", "x"}, "bwrap rm", false},
		{[]string{"systemd-run", "rm"}, "systemd-run", false},
		{[]string{"hash", "-p", "/bin/rm", "x"}, "hash", false},
		{[]string{"git", "push"}, "git", true},
		{[]string{"command", "-v", "rm"}, "command", true},
		{[]string{"busybox", "rm", "x"}, "busybox rm", true},
		{[]string{"watch", "-n", "1", "rm", "x"}, "watch rm", true},
		{[]string{"su", "-lc", "rm x", "root"}, "su rm", true},
		{[]string{"flock", "lock", "-c", "rm x"}, "flock rm", true},
		{[]string{"flock", "-n", "lock", "rm", "x"}, "flock rm", true},
		{[]string{"timeout", command.Unknown, "rm"}, "timeout rm", true},
		{[]string{command.Unknown, "rm"}, command.Unknown, false},
		{[]string{"grep", "rm", "x"}, "grep", true},
	} {
		all, whole := command.Programs([]command.Program{{Argv: c.argv}}, parse)
		if got := strings.Join(names(all), " "); got != c.want || whole != c.whole {
			t.Errorf("%q: %q, whole %t; want %q, %t", c.argv, got, whole, c.want, c.whole)
		}
	}
	if _, whole := command.Programs([]command.Program{{Argv: []string{"sh", "-c", "ls"}}}, nil); whole {
		t.Error("a script that nobody read counts as read")
	}
}

func TestWrappersAreSeenThrough(t *testing.T) {
	layers := [][]string{
		{"env", "A=1"},
		{"env", "-i"},
		{"nice", "-n", "3"},
		{"nohup"},
		{"timeout", "5"},
		{"xargs", "-r"},
		{"sudo", "-E", "-u", "x"},
		{"stdbuf", "-oL"},
		{"setsid", "-w"},
		{"command"},
		{"busybox"},
		{"find", ".", "-exec"},
	}
	rapid.Check(t, func(t *rapid.T) {
		argv := []string{"rm", "-rf", "x"}
		for range rapid.IntRange(0, 6).Draw(t, "depth") {
			if rapid.IntRange(0, 4).Draw(t, "shell") == 0 {
				argv = []string{"sh", "-c", command.Quote(argv)}
				continue
			}
			argv = slices.Concat(rapid.SampledFrom(layers).Draw(t, "layer"), argv)
		}
		all, _ := command.Programs([]command.Program{{Argv: argv}}, quoted)
		if !slices.ContainsFunc(all, func(p command.Program) bool { return slices.Equal(p.Argv, []string{"rm", "-rf", "x"}) }) {
			t.Fatalf("rm is hidden in %q: %q", argv, all)
		}
	})
}

// quoted reads a script of one command that Quote wrote.
func quoted(script string) ([]command.Program, bool) {
	var p command.Program
	for script != "" {
		var word string
		word, script = firstWord(script)
		p.Argv = append(p.Argv, word)
	}
	return []command.Program{p}, true
}

func firstWord(s string) (word, rest string) {
	inside := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\'':
			inside = !inside
		case s[i] == '\\' && !inside:
			i++
			word += s[i : i+1]
		case s[i] == ' ' && !inside:
			return word, s[i+1:]
		default:
			word += s[i : i+1]
		}
	}
	return word, ""
}

func TestFile(t *testing.T) {
	for argv, want := range map[string]string{
		"./x": "./x", "a/x y": "a/x", "sh build.sh -v": "build.sh", "python3 t.py": "t.py",
		"": "", "ls a": "", "/bin/ls a": "", "sh -c x": "", "sh": "", "/bin/sh a.sh": "a.sh",
	} {
		file, ok := command.File(strings.Fields(argv))
		if file != want || ok != (want != "") {
			t.Errorf("%q runs %q", argv, file)
		}
	}
}

func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z' \\"$;]{0,6}`), 1, 5).Draw(t, "words")
		if got, _ := quoted(command.Quote(words)); !slices.Equal(got[0].Argv, words) {
			t.Fatalf("%q came back as %q", words, got[0].Argv)
		}
	})
}

func TestChoosing(t *testing.T) {
	for _, name := range []string{
		"LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "RUSTC_WRAPPER", "PATH", "NODE_OPTIONS", "BASH_ENV", "PYTHONSTARTUP",
		"GIT_SSH_COMMAND", "HOME", "http_proxy", "CARGO_BUILD_RUSTC_WRAPPER", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
		"GOCACHEPROG", "GOAUTH", "GOCACHE", "GOMODCACHE", "RSYNC_RSH", "CCACHE_PREFIX", "CMAKE_C_COMPILER_LAUNCHER", "CARGO_REGISTRY_CREDENTIAL_PROVIDER",
		"PYTEST_ADDOPTS", "SUDO_ASKPASS", "MAKE", "FC", "SOME_TOOL_COMMAND", "MYAPP_HOOKS", "BASH_FUNC_ls%%", "", "A=B", "A B", "Path",
	} {
		if len(command.Choosing(map[string]string{name: "x"})) != 1 {
			t.Errorf("%q passes for harmless", name)
		}
	}
	for _, name := range []string{"RUST_BACKTRACE", "GIT_AUTHOR_NAME", "LANG", "TZ", "NO_COLOR", "CI", "GOFLAGS", "GOOS", "CARGO_TERM_COLOR", "RUST_LOG", "CARGO_BUILD_JOBS"} {
		if got := command.Choosing(map[string]string{name: "-mod=mod"}); len(got) != 0 {
			t.Errorf("%q passes for dangerous", name)
		}
	}
	for value, n := range map[string]int{"1": 0, "debug": 0, "en_US.UTF-8": 0, "./x": 1, "/bin/sh": 1, "a;b": 1, "$(id)": 1, "a|b": 1} {
		if len(command.Choosing(map[string]string{"FOO": value})) != n {
			t.Errorf("FOO=%s is not judged by what it says", value)
		}
	}
	for _, flags := range []string{"-toolexec=./x", "-count=1 -exec ./x", "--overlay=o.json", "-modfile=x"} {
		if len(command.Choosing(map[string]string{"GOFLAGS": flags})) != 1 {
			t.Errorf("GOFLAGS=%s passes for harmless", flags)
		}
	}
	if got := command.Choosing(map[string]string{"PATH": "", "A": "", "HOME": "", "CC": ""}); !slices.Equal(got, []string{"CC", "HOME", "PATH"}) {
		t.Errorf("names: %q", got)
	}
}

func FuzzPrograms(f *testing.F) {
	f.Add("env\x00-S\x00sh -c rm")
	f.Add("sudo\x00--x\x00--y\x00-\x00xargs")
	f.Add("sh\x00-c\x00sh -c 'sh -c rm'")
	f.Fuzz(func(t *testing.T, joined string) {
		argv := strings.Split(joined, "\x00")
		again := func(script string) ([]command.Program, bool) {
			return []command.Program{{Argv: strings.Fields(script)}}, true
		}
		all, _ := command.Programs([]command.Program{{Argv: argv}}, again)
		if len(all) == 0 || !slices.Equal(all[0].Argv, argv) {
			t.Fatalf("%q is not its own first program: %q", argv, all)
		}
		for _, p := range all {
			if len(p.Argv) == 0 {
				t.Fatalf("%q: an empty program", argv)
			}
		}
	})
}
