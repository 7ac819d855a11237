package builtin_test

import (
	"strings"
	"testing"

	"hecate/tools/builtin"
	"hecate/tools/tooltest"
)

// touch makes what the facts of a call should name.
func touch(paths ...string) tooltest.Touch { return tooltest.Touch{Paths: paths} }

func runs(principal string, programs ...string) tooltest.Touch {
	return tooltest.Touch{Principal: principal, Programs: programs}
}

// cases say of every tool what it takes, touches, changes and bounds. A tool without one
// fails the test.
var cases = map[string]tooltest.Case{
	"exec": {
		Args:  args{"program": "echo", "args": []string{"x"}, "env": args{"A": "b"}, "working_directory": "."},
		Paths: []string{"working_directory"}, Touches: runs("", "echo x"), Mutates: args{"program": "touch", "args": []string{"made"}},
		Slow: slowCommand(func(script string) args { return args{"program": "sh", "args": []string{"-c", script}} }),
		Long: always(args{"program": "seq", "args": []string{"20000"}}),
	},
	"shell_exec": shellCase(), "shell": shellCase(), "git_exec": gitCase(), "git": gitCase(),
	"terminal_open": {
		Args:  args{"command": "cat", "args": []string{"-u"}, "working_directory": ".", "pty": false},
		Paths: []string{"working_directory"}, Touches: runs("cat -u", "cat -u"), Mutates: args{"command": "sh", "args": []string{"-c", "touch made; echo; sleep 300"}},
	},
	"terminal_write": {
		Args: args{"terminal_id": "terminal_1", "input": "x"}, Set: terminalIn("sh"), Touches: runs("x", "x"),
		Long: terminalThatShows(args{"input": ""}),
	},
	"terminal_read": {
		Args: args{"terminal_id": "terminal_1", "max_bytes": 10}, Set: terminalIn("cat"), Touches: runs(tooltest.Any),
		Long: terminalThatShows(args{}),
	},
	"terminal_wait": {
		Args: args{"terminal_id": "terminal_1", "timeout_ms": 10}, Set: terminalIn("cat"), Touches: runs(tooltest.Any),
		Slow: slowWait, Long: terminalThatShows(args{"timeout_ms": 1}),
	},
	"terminal_kill": {
		Args: args{"terminal_id": "terminal_1"}, Set: terminalIn("cat"), Touches: runs(tooltest.Any),
		Long: terminalThatShows(args{}),
	},
	"file_write": writeCase(), "file": writeCase(),
	"file_edit": {
		Args:  args{"path": "f", "old_text": "a", "new_text": "x", "replace_all": true, "propose": false},
		Paths: []string{"path"}, Touches: touch("f"), Changes: []string{"f"},
	},
	"apply_patch": {
		Args: args{"propose": false, "patch_text": patch(
			"*** Add File: new/n", "+x", "*** Update File: f", "@@", "-a", "+x", "*** Delete File: sub/g")},
		Touches: touch("new/n", "f", "sub/g"), Changes: []string{"f", "new", "new/n", "sub/g"},
	},
	"read_file": {
		Args:  args{"path": "f", "max_bytes": 10, "start_line": 1, "end_line": 2},
		Paths: []string{"path"}, Touches: touch("f"), Long: withFile("long", 2<<20, args{"path": "long"}),
	},
	"list_dir": {
		Args: args{"path": "."}, Paths: []string{"path"}, Touches: touch("."), Long: withFiles(600, args{}),
	},
	"stat": {
		Args: args{"path": "."}, Paths: []string{"path"}, Links: true, Touches: touch("."),
	},
	"grep": {
		Args:  args{"pattern": "x", "path": ".", "include": "*", "case_sensitive": true, "max_matches": 5},
		Paths: []string{"path"}, Touches: touch("."), Long: withFile("long", 1<<20, args{"pattern": "x", "max_matches": 500}),
		Says: "truncated=true scan_limit=match_limit",
	},
	"glob": {
		Args:  args{"pattern": "*", "path": ".", "max_matches": 5},
		Paths: []string{"path"}, Touches: touch("."), Long: withFiles(600, args{"pattern": "*"}), Says: "truncated=true scan_limit=match_limit",
	},
	"artifact_read": {
		Args: args{"artifact_id": "artifact_1", "max_bytes": 10}, Touches: runs("artifact_1"),
		Slow: slowArtifact, Long: longArtifact, Says: "truncated=true",
	},
	"git_status": {Args: args{}, Set: inRepository, Touches: touch("."), Long: withUntracked(600, args{}), Says: "truncated=true"},
	"git_diff": {
		Args: args{"path": ".", "staged": true, "max_bytes": 10}, Set: inRepository, Paths: []string{"path"}, Touches: touch("."),
		Long: withDiff(args{}), Says: "truncated=true",
	},
	"blame": {
		Args: args{"path": "f", "start_line": 1, "end_line": 2}, Set: inRepository, Paths: []string{"path"}, Touches: touch("f"),
		Long: withDiff(args{"path": "long"}), Says: "truncated=true",
	},
	"web_fetch": {
		Tool: builtin.NewWebFetch(loopback()), Args: args{"url": "http://127.0.0.1:1/x", "max_bytes": 10}, Touches: runs("http://127.0.0.1:1/x"),
		Slow: slowSite, Long: longSite,
	},
	"http_request": {
		Tool:    builtin.NewHTTPRequest(loopback()),
		Args:    args{"url": "http://127.0.0.1:1/x?y", "method": "POST", "headers": args{"Accept": "*/*"}, "body": "b"},
		Touches: runs("http://127.0.0.1:1/x?y"), Slow: slowSite, Long: longSite,
	},
	"web_search": {
		Args: args{
			"query": "x", "count": 1, "offset": 1, "freshness": "pd", "country": "DE", "search_lang": "de", "safe_search": "off",
		},
		Tool: builtin.WebSearch(builtin.Search{Provider: "brave", Endpoint: "http://127.0.0.1:1/"}), Touches: runs("x"),
	},
	"config_edit": {
		Args:    args{"file": "user", "list": "permissions.deny", "entry": "exec(x) args(*)", "reason": "why", "remove": false},
		Touches: runs("user permissions.deny exec(x) args(*)"),
	},
}

func shellCase() tooltest.Case {
	return tooltest.Case{
		Args:  args{"command": "echo x | cat", "working_directory": "."},
		Paths: []string{"working_directory"}, Touches: runs("echo x | cat", "echo x", "cat"), Mutates: args{"command": "echo x >made"},
		Slow: slowCommand(func(script string) args { return args{"command": script} }), Long: always(args{"command": "seq 20000"}),
	}
}

func gitCase() tooltest.Case {
	return tooltest.Case{
		Args: args{"command": "--version; id", "working_directory": "."}, Set: inRepository,
		Paths: []string{"working_directory"}, Touches: runs("--version; id", "git --version", "id"), Mutates: args{"command": "rm -q f"},
		Slow: slowCommand(func(script string) args { return args{"command": "--version; " + script} }), Long: always(args{"command": "--version; seq 20000"}),
	}
}

func writeCase() tooltest.Case {
	return tooltest.Case{
		Args:  args{"path": "new/n", "content": "x", "operation": "append"},
		Paths: []string{"path"}, Touches: touch("new/n"), Changes: []string{"new", "new/n"},
	}
}

func TestEveryToolConforms(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range append(catalogue(), builtin.Direct()...) {
		c, ok := cases[x.Name]
		if !ok {
			t.Errorf("%s has no case", x.Name)
			continue
		}
		if seen[x.Name] {
			t.Errorf("there are two tools %s", x.Name)
		}
		seen[x.Name] = true
		if c.Tool.Name == "" {
			c.Tool = x
		}
		t.Run(x.Name, func(t *testing.T) { t.Parallel(); tooltest.Conformance(t, c) })
	}
}

// The order of the catalogue is the order in which models see the tools.
func TestCatalogue(t *testing.T) {
	const order = "exec shell_exec terminal_open terminal_write terminal_read terminal_wait terminal_kill git_exec file_write file_edit read_file grep glob " +
		"artifact_read list_dir stat git_status git_diff blame apply_patch web_fetch http_request config_edit web_search"
	var names []string
	for _, x := range catalogue() {
		names = append(names, x.Name)
		if x.Direct {
			t.Errorf("%s is offered to models", x.Name)
		}
	}
	if got := strings.Join(names, " "); got != order {
		t.Errorf("the order is\n%s, want\n%s", got, order)
	}
	for _, x := range builtin.Direct() {
		if !x.Direct {
			t.Errorf("%s is not marked as direct", x.Name)
		}
	}
}
