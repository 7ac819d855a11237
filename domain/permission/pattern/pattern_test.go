package pattern_test

import (
	"errors"
	"strings"
	"testing"

	"hecate/domain/permission/command"
	"hecate/domain/permission/pattern"
)

func must(t testing.TB, text string) pattern.Pattern {
	t.Helper()
	p, err := pattern.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"shell":                             "shell",
		" shell_exec ":                      "shell",
		"shell_exec(cargo test)":            "shell(cargo test)",
		"terminal_open(npm run dev)":        "background(npm run dev)",
		"file_edit(src/*)":                  "edit(src/*)",
		"read_file(a b/?[x].go)":            "view(a b/?[x].go)",
		"shell(cargo test $(id))":           "shell(cargo test $(id))",
		"shell(a\nb )":                      "shell(a\nb )",
		"exec(cargo) args(*)":               "exec(cargo) args(*)",
		"exec(cargo) args()":                "exec(cargo) args()",
		"exec(cargo)":                       "exec(cargo)",
		"exec(a)b) args(c) args(d))":        "exec(a)b) args(c) args(d))",
		"mcp__fs__read_file":                "mcp__fs__read_file",
		"web_fetch(https://docs.rs/x(y)/*)": "web_fetch(https://docs.rs/x(y)/*)",
		"apply_patch(src/**)":               "apply_patch(src/**)",
		"ls(.)":                             "ls(.)",
		"edit(...)":                         "edit(...)",
	} {
		p, err := pattern.Parse(text)
		if err != nil || p.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, p, err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text    string
		offset  int
		problem string
		remedy  string
	}{
		{"", 0, "empty", "exec(cargo) args(*)"},
		{"cargo", 0, `no tool "cargo"`, "shell, background"},
		{"exec cargo", 0, "no tool", "exec"},
		{"Shell", 0, "no tool", ""},
		{"shell(x", 7, "closing parenthesis", ")"},
		{"shell(x) y", 10, "closing parenthesis", ""},
		{"shell()", 6, "nothing between", "shell alone"},
		{"shell(a\x00)", 7, "NUL", ""},
		{"exec()", 5, "program is missing", "exec(cargo)"},
		{"exec() args(*)", 5, "program is missing", ""},
		{"exec(cargo)  args(*)", 11, "not args(…)", "one blank"},
		{"exec(cargo) arg(*)", 11, "not args(…)", ""},
		{"exec(cargo) args(*", 18, "closing parenthesis", ""},
		{"git_status(x)", 11, "nothing that a pattern could match", "git_status alone"},
		{"mcp__a__b(x)", 10, "nothing that a pattern could match", ""},
		{"mcp__a", 0, "no tool", ""},
		{"edit(/etc/passwd)", 5, "begins with /", "edit(etc/passwd)"},
		{"edit(//etc)", 5, "begins with /", "edit(etc)"},
		{"edit(../x)", 5, "leaves the workspace", ""},
		{"edit(a/../../x)", 5, "leaves the workspace", ""},
		{"file_edit(./a)", 10, "detour", "edit(a)"},
		{"ls(secrets/)", 3, "ends in /", "ls(secrets/**)"},
		{"edit(a//b)", 5, "detour", "edit(a/b)"},
		{"edit(" + strings.Repeat("a", 5000) + ")", 5, "too long", "4096"},
		{"exec(a) args(" + strings.Repeat("a", 5000) + ")", 4109, "too long", "4096"},
		{"shell(" + strings.Repeat("a", 200<<10) + ")", 128 << 10, "too long", "131072"},
	} {
		_, err := pattern.Parse(c.text)
		var e *pattern.Error
		if !errors.As(err, &e) {
			t.Errorf("%q is accepted", c.text)
			continue
		}
		if e.Offset != c.offset || !strings.Contains(e.Problem, c.problem) || !strings.Contains(e.Remedy, c.remedy) || len(e.Error()) > 1200 {
			t.Errorf("%q: at %d %q, %q", c.text, e.Offset, e.Problem, e.Remedy)
		}
	}
}

func TestListsRefuseWhatMisleads(t *testing.T) {
	for text, want := range map[string]string{
		"shell(cargo *)": "exec(program) args(*)", "background(*)": "exec(program) args(*)", "git_exec(push *)": "exec(program)",
		"exec(r*) args(*)": "no wildcards", "web_fetch(docs.rs)": "[network] deny",
		"shell(rm -rf x)": "", "shell": "", "exec(rm)": "", "exec(rm) args(*)": "", "web_fetch(https://docs.rs/*)": "", "web_fetch": "", "web_fetch(*evil*)": "",
		"config_edit(permissions.*)": "", "job_kill(*)": "", "view(secrets/**)": "",
	} {
		err := must(t, text).ForDeny()
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("deny %s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]struct{ warning, refusal string }{
		"shell(cargo *)": {warning: "only itself"}, "background(a*)": {warning: "only itself"}, "job_kill(*)": {warning: "only itself"},
		"exec(r*) args(*)": {warning: "only itself"}, "config_edit": {warning: "covers nothing"}, "browser_flow": {warning: "covers nothing"},
		"web_fetch": {warning: "[network] allow"}, "search_replace(a)": {warning: "write edit"},
		"web_fetch(https://docs.rs/*)": {refusal: "[network] allow"}, "exec(rm)": {refusal: "exec(rm) args(*)"},
		"exec(cargo) args(*)": {}, "shell(ls)": {}, "shell": {}, "edit(src/*)": {}, "exec": {},
	} {
		warning, err := must(t, text).ForApprove()
		refusal := ""
		if err != nil {
			refusal = err.Error()
		}
		if !says(warning, want.warning) || !says(refusal, want.refusal) {
			t.Errorf("approve %s: %q, %q; want %q, %q", text, warning, refusal, want.warning, want.refusal)
		}
	}
}

func says(text, want string) bool {
	return (text == "") == (want == "") && strings.Contains(text, want)
}

func exec(argv ...string) pattern.Facts { return pattern.Facts{Argv: argv} }

func paths(names ...string) pattern.Facts {
	var f pattern.Facts
	for _, n := range names {
		f.Paths = append(f.Paths, pattern.Path{Name: n})
	}
	return f
}

func text(s string) pattern.Facts { return pattern.Facts{Principal: s} }

func TestCovers(t *testing.T) {
	link := pattern.Facts{Paths: []pattern.Path{{Name: "pub/a.key", Resolved: "secrets/a.key"}}}
	away := pattern.Facts{Paths: []pattern.Path{{Name: "pub/a", Resolved: "/etc/a"}}}
	folded := pattern.Facts{Paths: []pattern.Path{{Name: "SRC/É.go"}}, FoldCase: true}
	for _, c := range []struct {
		pattern, tool string
		facts         pattern.Facts
		want          bool
	}{
		{"exec(cargo) args(*)", "exec", exec("cargo"), true},
		{"exec(cargo) args(*)", "exec", exec("cargo", "test", "; rm"), true},
		{"exec(cargo) args(*)", "exec", exec("/bin/cargo", "test"), false},
		{"exec(cargo) args(*)", "exec", exec(), false},
		{"exec(cargo) args(test *)", "exec", exec("cargo", "test"), true},
		{"exec(cargo) args(test *)", "exec", exec("cargo", "test", "--lib"), true},
		{"exec(cargo) args(test *)", "exec", exec("cargo", "testbed"), false},
		{"exec(cargo) args(test *)", "exec", exec("cargo", "test --lib"), false}, // one argument with a blank in it
		{"exec(cargo) args(test --lib)", "exec", exec("cargo", "test --lib"), false},
		{"exec(cargo) args(test --lib)", "exec", exec("cargo", "test", "--lib"), true},
		{"exec(cargo) args(test --lib)", "exec", exec("cargo", "test\x00--lib"), false},
		{"exec(cargo) args()", "exec", exec("cargo"), true},
		{"exec(cargo) args()", "exec", exec("cargo", ""), false},
		{"exec(cargo) args( )", "exec", exec("cargo", "", ""), true},
		{"exec(cargo) args( *)", "exec", exec("cargo"), true},
		{"exec(git) args(*push*)", "exec", exec("git", "-C", "x", "push"), true},
		{"exec(git) args(-c)", "exec", exec("git", "-c"), true},
		{"exec", "exec", exec("x"), true},
		{"exec", "shell", text("x"), false},
		{"exec(ls) args(*)", "shell", pattern.Facts{Principal: "ls", Programs: []command.Program{{Argv: []string{"ls"}}}}, false},
		{"shell(ls *.go)", "shell_exec", text("ls *.go"), true},
		{"shell(ls *.go)", "shell", text("ls x.go"), false},
		{"shell(ls)", "background", text("ls"), false},
		{"shell(ls)", "shell", text(" ls"), false},
		{"edit(src/*)", "edit", paths("src/a"), true},
		{"edit(src/*)", "edit", paths("./src//x/../a"), true},
		{"edit(src/*)", "edit", paths("src/x/a"), false},
		{"edit(src/*)", "edit", paths("src"), false},
		{"edit(src/**)", "edit", paths("src/x/a"), true},
		{"edit(src/**)", "edit", paths("src"), false},
		{"edit(**/a)", "edit", paths("a"), true},
		{"edit(**/a)", "edit", paths("x/y/a"), true},
		{"edit(**/a)", "edit", paths("xa"), false},
		{"edit(a/**/b)", "edit", paths("a/b"), true},
		{"edit(a/**/b)", "edit", paths("a/x/y/b"), true},
		{"edit(a/**/b)", "edit", paths("a/xb"), false},
		{"edit(a**b)", "edit", paths("a/x/b"), true},
		{"edit(**/*.go)", "edit", paths("x.go"), true},
		{"edit(a?b)", "edit", paths("axb"), false},
		{"edit([ab])", "edit", paths("a"), false},
		{"edit([ab])", "edit", paths("[ab]"), true},
		{"edit(src/*)", "create", paths("src/a"), false},
		{"edit(src/*)", "edit", pattern.Facts{}, false},
		{"edit(*)", "edit", paths("../x"), false},
		{"edit(**)", "edit", paths("/etc/passwd"), false},
		{"edit(**)", "edit", away, false},
		{"view(pub/*)", "view", link, true},
		{"view(secrets/*)", "view", link, false},
		{"ls(*)", "ls", paths("."), false},
		{"ls(**)", "ls", paths(""), false},
		{"ls(.)", "ls", paths("./"), true},
		{"ls(.)", "ls", pattern.Facts{Paths: []pattern.Path{{Name: ".", Resolved: "/"}}}, false},
		{"edit(src/é.go)", "edit", folded, true},
		{"edit(src/é.go)", "edit", paths("SRC/é.go"), false},
		{"apply_patch(src/*)", "apply_patch", paths("src/a", "src/b"), true},
		{"apply_patch(src/*)", "apply_patch", paths("src/a", "b"), false},
		{"web_fetch", "web_fetch", text("https://docs.rs/"), true},
		{"web_fetch(*)", "web_fetch", text("https://docs.rs/"), false},
		{"job_kill(job-3)", "job_kill", text("job-3"), true},
		{"job_kill(*)", "job_kill", text("job-3"), false},
		{"mcp__fs__read", "mcp__fs__read", pattern.Facts{}, true},
		{"mcp__fs__read", "mcp__fs__write", pattern.Facts{}, false},
		{"git_status", "no_such_tool", pattern.Facts{}, false},
	} {
		if must(t, c.pattern).Covers(c.tool, c.facts) != c.want {
			t.Errorf("%s covers %s %+v: %t", c.pattern, c.tool, c.facts, !c.want)
		}
	}
	if (pattern.Pattern{}).Covers("shell", text("")) || (pattern.Pattern{}).Reaches("shell", text("")) {
		t.Error("no pattern matches")
	}
}

func TestReaches(t *testing.T) {
	parsed := func(argvs ...[]string) pattern.Facts {
		f := text("some command")
		for _, a := range argvs {
			f.Programs = append(f.Programs, command.Program{Argv: a})
		}
		return f
	}
	linked := exec("./x")
	linked.Resolved = "/usr/bin/rm"
	folded := exec("RM")
	folded.FoldCase = true
	link := pattern.Facts{Paths: []pattern.Path{{Name: "pub/a.key", Resolved: "secrets/a.key"}}}
	for _, c := range []struct {
		pattern, tool string
		facts         pattern.Facts
		want          bool
	}{
		{"exec(rm) args(*)", "exec", exec("/bin/rm", "x"), true},
		{"exec(rm)", "exec", exec("./rm"), true},
		{"exec(rm)", "exec", linked, true},
		{"exec(/usr/bin/rm)", "exec", linked, true},
		{"exec(/usr/bin/rm)", "exec", exec("rm"), false},
		{"exec(rm)", "exec", folded, true},
		{"exec(rm)", "exec", exec("RM"), false},
		{"exec(rm) args(-rf *)", "exec", exec("env", "A=1", "nice", "rm", "-rf", "x"), true},
		{"exec(rm) args(-rf *)", "exec", exec("env", "rm", "x"), false},
		{"exec(rm)", "exec", exec("find", ".", "-exec", "rm", "{}", ";"), true},
		{"exec(rm)", "exec", exec("grep", "rm"), false},
		{"exec(rm)", "shell", parsed([]string{"ls"}, []string{"rm", "x"}), true},
		{"exec(rm)", "background", parsed([]string{"/bin/rm", "x"}), true},
		{"exec(git) args(push *)", "git_exec", parsed([]string{"git", "push"}), true},
		{"exec", "shell", parsed([]string{"rm"}), false},
		{"exec", "exec", exec("x"), true},
		{"shell(ls)", "shell", text("ls"), true},
		{"shell(ls)", "shell", text("ls "), false},
		{"shell", "shell_exec", text("ls"), true},
		{"edit(Cargo.lock)", "create", paths("Cargo.lock"), true},
		{"edit(Cargo.lock)", "apply_patch", paths("a", "./Cargo.lock"), true},
		{"create", "apply_patch", paths("a"), true},
		{"view(secrets/*)", "view", link, true},
		{"view(pub/*)", "view", link, true},
		{"view(secrets/**)", "ls", paths("secrets"), false},
		{"ls(secrets/**)", "ls", paths("secrets/"), true},
		{"ls(secrets/**)", "ls", paths("secrets-old"), false},
		{"view(secrets/*)", "blame", paths("secrets/a"), true},
		{"view(secrets/*)", "edit", paths("secrets/a"), false},
		{"grep(*)", "grep", paths("."), true},
		{"web_fetch(https://docs.rs/internal/*)", "web_fetch", text("https://DOCS.RS/%69nternal/x"), true},
		{"web_fetch(https://docs.rs/internal/*)", "web_fetch", text("https://u@docs.rs:443/a/../internal/x?y"), true},
		{"http_request(https://docs.rs/internal/*)", "http_request", text("https://DOCS.rs:443/a/../%69nternal/x"), true},
		{"http_request(https://docs.rs/internal/*)", "http_request", text("https://docs.rs/serde"), false},
		{"web_search(*plans*)", "web_search", text("our plans"), true},
		{"web_fetch(https://docs.rs/internal/*)", "web_fetch", text("https://docs.rs/serde"), false},
		{"web_fetch(*evil*)", "web_fetch", text("::evil"), true},
		{"config_edit(permissions.*)", "config_edit", text("permissions.approve"), true},
		{"config_edit(permissions.*)", "config_edit", text("network.allow"), false},
		{"job_kill(*)", "terminal_kill", text("job-3"), true},
	} {
		if must(t, c.pattern).Reaches(c.tool, c.facts) != c.want {
			t.Errorf("%s reaches %s %+v: %t", c.pattern, c.tool, c.facts, !c.want)
		}
	}
}

func TestUnclear(t *testing.T) {
	parsed := pattern.Facts{Principal: "ls", Programs: []command.Program{{Argv: []string{"ls"}}}}
	opaque := parsed
	opaque.Opaque = true
	partly := pattern.Facts{Principal: "git $X", Programs: []command.Program{{Argv: []string{"git", command.Unknown}}}}
	for _, c := range []struct {
		pattern, tool string
		facts         pattern.Facts
		want          bool
	}{
		{"exec(rm)", "shell", parsed, false},
		{"exec(rm)", "shell", opaque, true},
		{"exec(rm)", "shell", text("ls"), true},
		{"exec(rm)", "exec", exec("ls"), false},
		{"exec(rm)", "exec", exec("sh", "-c", "ls"), true},
		{"exec(git) args(push *)", "shell", partly, true},
		{"exec(rm) args(*)", "shell", partly, false},
		{"exec", "shell", opaque, false},
		{"shell(x)", "shell", opaque, false},
		{"exec(rm)", "view", paths("x"), false},
		{"exec(rm)", "exec", exec(), true},
		{"view(secrets/**)", "view", pattern.Facts{}, true},
		{"view(secrets/**)", "edit", pattern.Facts{}, false},
		{"view", "view", pattern.Facts{}, false},
		{"web_fetch(https://x/*)", "web_fetch", pattern.Facts{}, true},
		{"edit(a)", "apply_patch", pattern.Facts{}, true},
		{"edit(a)", "nonsense", pattern.Facts{}, false},
	} {
		if must(t, c.pattern).Unclear(c.tool, c.facts) != c.want {
			t.Errorf("%s is unclear about %s %+v: %t", c.pattern, c.tool, c.facts, !c.want)
		}
	}
}

func TestOffer(t *testing.T) {
	for _, c := range []struct {
		tool  string
		facts pattern.Facts
		want  string // "" for none
	}{
		{"exec", exec("cargo", "test"), "exec(cargo) args(*)"},
		{"exec", exec("./cargo"), "exec(./cargo) args(*)"},
		{"exec", exec("cargo) args(*"), ""},
		{"exec", exec("a*b"), "exec(a*b) args(*)"},
		{"exec", exec("a\x00b"), ""},
		{"exec", exec(), ""},
		{"shell_exec", text("cargo test | tail"), "shell(cargo test | tail)"},
		{"shell", text("ls *.go"), "shell(ls *.go)"},
		{"shell", text(""), ""},
		{"background", text("npm run dev"), "background(npm run dev)"},
		{"file_edit", paths("src/a.rs"), "edit(src/*)"},
		{"edit", paths("Cargo.lock"), "edit(*)"},
		{"edit", paths("a*/b"), ""},
		{"edit", paths("../x"), ""},
		{"edit", paths("/x"), ""},
		{"ls", paths("."), "ls(.)"},
		{"ls", paths("src"), "ls(*)"},
		{"apply_patch", paths("src/a", "src/b"), "apply_patch(src/*)"},
		{"apply_patch", paths("src/x/a", "src/y/b"), "apply_patch(src/**)"},
		{"apply_patch", paths("src/a", "b"), ""},
		{"apply_patch", paths("b", "src/a"), ""},
		{"apply_patch", paths("/a", "b"), ""},
		{"apply_patch", pattern.Facts{}, ""},
		{"web_fetch", text("https://x/"), ""},
		{"job_kill", text("*"), "job_kill(*)"}, // which covers the job * alone
		{"mcp__fs__read", pattern.Facts{}, "mcp__fs__read"},
		{"nonsense", pattern.Facts{}, ""},
	} {
		p, ok := pattern.Offer(c.tool, c.facts)
		if p.String() != c.want || ok != (c.want != "") {
			t.Errorf("%s %+v: offered %q, want %q", c.tool, c.facts, p, c.want)
		}
	}
}

func TestMeaning(t *testing.T) {
	const literal = "; only cargo is run, and each argument is passed to it literally, never through a shell"
	for text, want := range map[string]string{
		"exec(cargo) args(*)":          "any exec of cargo, any arguments" + literal,
		"exec(cargo) args(test *)":     "any exec of cargo whose arguments are test, alone or followed by any others" + literal,
		"exec(cargo) args(test --lib)": "any exec of cargo with exactly the arguments test --lib" + literal,
		"exec(cargo) args()":           "any exec of cargo without arguments; only cargo is run, never through a shell",
		"exec(cargo) args(a  b)":       `any exec of cargo with exactly the arguments a "" b` + literal,
		"exec(cargo) args(*x*)":        "any exec of cargo whose arguments match *x*, where a blank is the boundary between two arguments and * any text, boundaries included" + literal,
		"exec(env) args(*)":            "any exec of env, any arguments; env runs what its arguments name, so this can be any command",
		"exec(a\nb) args()":            `any exec of "a\nb" without arguments; only "a\nb" is run, never through a shell`,
		"shell(ls *)":                  "shell with exactly this command, character for character, in the workspace itself; * is part of it and no wildcard",
		"shell":                        "any shell call, whatever its arguments",
		"edit(src/*)":                  "any edit of paths directly in src, not in directories below it",
		"edit(*)":                      "any edit of paths directly in the workspace root, not in directories below it",
		"edit(src/**)":                 "any edit of paths below src, at any depth",
		"edit(src/a.rs)":               "any edit of exactly src/a.rs",
		"ls(.)":                        "any ls of the workspace root itself",
		"apply_patch(src/*)":           "any apply_patch that touches nothing but paths directly in src, not in directories below it",
		"mcp__fs__read":                "any mcp__fs__read call, whatever its arguments",
		"job_kill(job-3)":              "job_kill with exactly this text, whatever else the call says",
		"edit(**/a*)":                  "any edit of paths that match **/a* from the workspace root, where * is any text without a slash, ** any text, and **/ at the beginning of a name also nothing",
	} {
		if got := must(t, text).Meaning(); got != want {
			t.Errorf("%s means %q, want %q", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"shell_exec": "shell (shell_exec)", "exec": "exec", "read_file": "view (read_file)", "mcp__a__b": "mcp__a__b", "nonsense": "nonsense",
	} {
		if got := pattern.Shown(name); got != want {
			t.Errorf("%s is shown as %q", name, got)
		}
	}
	seen := map[string]bool{}
	for _, name := range pattern.Names() {
		if p := must(t, name); p.Tool() != name || !p.Bare() || seen[name] {
			t.Errorf("%s is read as %s", name, p)
		}
		seen[name] = true
		for _, line := range must(t, name).Unreached() {
			if line == "" {
				t.Errorf("%s: an empty line", name)
			}
		}
	}
}
