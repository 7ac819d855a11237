package builtin_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"hecate/tools"
	"hecate/tools/builtin"
)

func scenes() map[string]scene {
	return map[string]scene{
		"exec": {set: project, calls: []attempt{
			does(args{"program": "printf", "args": []string{"%s\n", "a  b", "$HOME"}}),
			does(args{"program": "sh", "args": []string{"-c", "echo to out; echo to err >&2; exit 3"}}),
			does(args{"program": "cat", "args": []string{"main.go"}, "working_directory": "src"}),
			does(args{"program": "sh", "args": []string{"-c", "echo $GREETING"}, "env": args{"GREETING": "hello"}}),
			does(args{"program": "no-such-program"}),
			does(args{"program": "go test ./..."}),
			does(args{"program": "curl", "args": []string{"https://example.com/"}}),
			does(args{"program": "ls", "working_directory": "../elsewhere"}),
			does(args{"program": "env", "env": args{"PATH": "./bin"}}),
			does(args{"program": " "}),
			does(args{"program": []string{"ls"}}),
			{args: args{"program": "touch", "args": []string{"f"}}, with: func(e *tools.Env) { e.ReadOnly = true }},
			{args: args{"program": "seq", "args": []string{"1000"}}, with: func(e *tools.Env) { e.ReadOnly, e.Settings.OutputMaxBytes = false, 20 }},
			{args: args{"program": "sleep", "args": []string{"300"}}, with: func(e *tools.Env) { e.Timeout = 30 * time.Millisecond }},
		}},
		"shell_exec": {set: project, calls: shellCalls()},
		"shell":      {set: project, calls: shellCalls()},
		"git_exec":   {set: repository, calls: gitCalls()},
		"git":        {set: repository, calls: gitCalls()},
		"terminal_open": {calls: []attempt{
			{args: args{"command": "cat"}, is: unhurried},
			{args: args{"command": "sh", "args": []string{"-c", "exec cat"}, "working_directory": "."}, is: unhurried},
			does(args{"command": "no-such-program"}),
			does(args{"command": "setsid", "args": []string{"sleep", "1"}}),
			does(args{"command": "curl", "args": []string{"https://example.com/"}}),
			does(args{"command": " "}),
		}},
		"terminal_write": {set: terminalOf("sh", "-c", "read x; echo you said $x"), calls: []attempt{
			{args: args{"terminal_id": "terminal_1", "input": "hello\n"}, is: unhurried},
			{args: args{"terminal_id": "terminal_1", "input": "more\n"}, with: awaitEnd},
			does(args{"terminal_id": "terminal_9", "input": "hello\n"}),
			does(args{"input": "hello\n"}),
		}},
		"terminal_read": {set: terminalOf("sh", "-c", "echo ready; exec cat"), calls: []attempt{
			does(args{"terminal_id": "terminal_1"}),
			does(args{"terminal_id": "terminal_1", "max_bytes": 3}),
			does(args{"terminal_id": "terminal_9"}),
			does(args{"terminal_id": ""}),
		}},
		"terminal_wait": {set: terminalOf("sh", "-c", "echo ready; read x; echo bad >&2; exit 3"), calls: []attempt{
			does(args{"terminal_id": "terminal_1", "timeout_ms": 1}),
			{args: args{"terminal_id": "terminal_1"}, with: func(e *tools.Env) { typeInto(e, "\n") }},
			does(args{"terminal_id": "terminal_9"}),
			does(args{"terminal_id": "terminal_1", "timeout_ms": "soon"}),
		}},
		"terminal_kill": {set: terminalOf("sh", "-c", "echo ready; exec cat"), calls: []attempt{
			does(args{"terminal_id": "terminal_1"}),
			does(args{"terminal_id": "terminal_1"}),
			does(args{"terminal_id": "terminal_9"}),
			does(args{}),
		}},
		"file_write": {set: project, calls: writeCalls()},
		"file":       {set: project, calls: writeCalls()},
		"file_edit": {set: project, calls: []attempt{
			does(args{"path": "notes.txt", "old_text": "second", "new_text": "2nd"}),
			does(args{"path": "notes.txt", "old_text": "line", "new_text": "row", "replace_all": true}),
			does(args{"path": "notes.txt", "old_text": "first", "new_text": "1st", "propose": true}),
			does(args{"path": "notes.txt", "old_text": "absent", "new_text": "x"}),
			does(args{"path": "notes.txt", "old_text": "row", "new_text": "x"}),
			does(args{"path": "notes.txt", "old_text": "first", "new_text": "first"}),
			does(args{"path": "nope.txt", "old_text": "a", "new_text": "b"}),
			does(args{"path": "src", "old_text": "a", "new_text": "b"}),
			does(args{"path": "big.txt", "old_text": "a", "new_text": "b"}),
			does(args{"path": "../x", "old_text": "a", "new_text": "b"}),
			does(args{"path": "", "old_text": "a", "new_text": "b"}),
			does(args{"path": "notes.txt", "old_text": "", "new_text": "b"}),
			does(args{"path": "notes.txt", "old_text": "first"}),
			{args: args{"path": "notes.txt", "old_text": "first", "new_text": "1st"}, with: func(e *tools.Env) { e.ReadOnly = true }},
		}},
		"apply_patch": {set: project, calls: []attempt{
			does(args{"patch_text": patch("*** Update File: notes.txt", "@@", " first line", "-second line", "+2nd line", "*** Add File: docs/new.txt", "+text")}),
			does(args{"patch_text": patch("*** Update File: notes.txt", "@@", "-first line", "+1st line"), "propose": true}),
			does(args{"patch_text": patch("*** Delete File: docs/new.txt")}),
			does(args{"patch_text": patch("*** Add File: notes.txt", "+x")}),
			does(args{"patch_text": patch("*** Update File: notes.txt", "@@", " absent", "+x")}),
			does(args{"patch_text": patch("*** Update File: notes.txt", "@@", "-absent", "+x")}),
			does(args{"patch_text": patch("*** Update File: notes.txt", "@@", " first line")}),
			does(args{"patch_text": patch("*** Update File: nope.txt", "@@", "-a", "+b")}),
			does(args{"patch_text": patch("*** Add File: ok.txt", "+x", "*** Update File: notes.txt", "@@", "-absent", "+x")}),
			does(args{"patch_text": patch("*** Add File: ../x", "+x")}),
			does(args{"patch_text": patch("*** Move File: notes.txt")}),
			does(args{"patch_text": patch("*** Delete File: notes.txt"), "propose": true}),
			does(args{"patch_text": patch()}),
			does(args{"patch_text": "*** Begin Patch\n*** Delete File: notes.txt"}),
			does(args{"patch_text": "--- a/notes.txt\n+++ b/notes.txt"}),
			does(args{}),
			{args: args{"patch_text": patch("*** Delete File: notes.txt")}, with: func(e *tools.Env) { e.ReadOnly = true }},
		}},
		"read_file": {set: project, calls: []attempt{
			does(args{"path": "notes.txt"}),
			does(args{"path": "notes.txt", "start_line": 2, "end_line": 2}),
			does(args{"path": "notes.txt", "max_bytes": 8}),
			does(args{"path": "empty.txt"}),
			does(args{"path": "nope.txt"}),
			does(args{"path": "src"}),
			does(args{"path": "data.bin"}),
			does(args{"path": "link.txt"}),
			does(args{"path": "../x"}),
			does(args{"path": "/etc/passwd"}),
			does(args{"path": "notes.txt", "start_line": 99}),
			does(args{}),
			does(`{"path": "notes.txt"`),
			does(`{"path": "a.txt", "path": "b.txt"}`),
			does(args{"path": 1}),
		}},
		"list_dir": {set: project, calls: []attempt{
			{args: args{}, is: func(r *tools.Result) { r.Text = dirSizes(r.Text) }},
			does(args{"path": "src"}),
			does(args{"path": "nope"}),
			does(args{"path": "notes.txt"}),
			does(args{"path": "../x"}),
		}},
		"grep": {set: project, calls: []attempt{
			does(args{"pattern": "line"}),
			does(args{"pattern": "FUNC", "case_sensitive": false, "include": "*.go", "path": "src"}),
			does(args{"pattern": "line", "max_matches": 1}),
			does(args{"pattern": "absent"}),
			does(args{"pattern": "("}),
			does(args{"pattern": ""}),
			does(args{"pattern": "x", "path": "nope"}),
			does(args{"pattern": "x", "path": "/etc"}),
		}},
		"glob": {set: project, calls: []attempt{
			does(args{"pattern": "*.txt"}),
			does(args{"pattern": "src/**"}),
			does(args{"pattern": "**", "max_matches": 1}),
			does(args{"pattern": "["}),
			does(args{"pattern": "*", "path": "notes.txt"}),
			does(args{"pattern": "*", "path": "../x"}),
		}},
		"stat": {set: project, calls: []attempt{
			does(args{"path": "notes.txt"}),
			{args: args{"path": "link.txt"}, is: func(r *tools.Result) {
				r.Text = regexp.MustCompile(`mode=\S+ modified=\S+`).ReplaceAllString(r.Text, "mode=Lrwxrwxrwx modified=2026-01-02T03:04:05Z")
			}},
			does(args{"path": "nope.txt"}),
			does(args{"path": "../x"}),
		}},
		"artifact_read": {set: artifacts, calls: []attempt{
			does(args{"artifact_id": "artifact_1"}),
			does(args{"artifact_id": "artifact_1", "max_bytes": 5}),
			does(args{"artifact_id": "artifact_of_another_task"}),
			does(args{"artifact_id": "../artifact_1"}),
			does(args{"artifact_id": ""}),
			{args: args{"artifact_id": "artifact_1"}, with: func(e *tools.Env) {
				e.Artifact = func(context.Context, string) (tools.Artifact, bool, error) {
					return tools.Artifact{}, false, errors.New("the log cannot be read")
				}
			}},
		}},
		"git_status": {set: repository, calls: []attempt{does(args{}), {args: args{}, with: withoutRepository}}},
		"git_diff": {set: repository, calls: []attempt{
			does(args{}),
			does(args{"staged": true}),
			does(args{"path": "notes.txt", "max_bytes": 40}),
			does(args{"path": "../x"}),
			{args: args{}, with: withoutRepository},
		}},
		"blame": {set: repository, calls: []attempt{
			does(args{"path": "kept.txt"}),
			does(args{"path": "kept.txt", "start_line": 2, "end_line": 2}),
			does(args{"path": "new.txt"}),
			does(args{"path": "kept.txt", "start_line": 9}),
			does(args{"path": "nope.txt"}),
			{args: args{"path": "kept.txt"}, with: withoutRepository},
		}},
		"http_request": {set: website, tool: func(*testing.T) tools.Tool { return builtin.NewHTTPRequest(loopback()) }, calls: []attempt{
			does(args{"url": "http://example.com/data.json"}),
			does(args{"url": "http://example.com/echo", "method": "post", "headers": args{"Content-Type": "text/plain"}, "body": "hello"}),
			does(args{"url": "http://example.com/none"}),
			does(args{"url": "http://example.com/away"}),
			does(args{"url": "ftp://example.com/"}),
			does(args{"url": "https:///x"}),
			does(args{"url": "http://example.com/", "method": "BREW"}),
			does(args{"url": "http://example.com/", "headers": args{"Host": "other.example"}}),
			{args: args{"url": "http://example.com/long"}, with: func(e *tools.Env) { e.Settings.HTTP.ResponseMaxBytes = 10 }},
			{args: args{"url": "http://example.com/data.json"}, with: func(e *tools.Env) { e.Settings.HTTP.AllowPrivateIPs = false }},
			{args: args{"url": "http://example.com/data.json"}, with: func(e *tools.Env) { e.Settings.HTTP.AllowedHosts = []string{"docs.example"} }},
		}},
		"web_fetch": {set: website, tool: func(*testing.T) tools.Tool { return builtin.NewWebFetch(loopback()) }, calls: []attempt{
			does(args{"url": "http://example.com/page"}),
			does(args{"url": "http://example.com/away"}),
			does(args{"url": "http://example.com/long", "max_bytes": 12}),
			does(args{"url": "http://example.com/none"}),
			does(args{"url": "http://example.com/image"}),
			does(args{"url": "file:///etc/passwd"}),
			does(args{"url": "example.com"}),
			{args: args{"url": "http://example.com/page"}, with: func(e *tools.Env) { e.Settings.HTTP.AllowPrivateIPs = false }},
		}},
		"web_search": {tool: searchOf, calls: []attempt{
			does(args{"query": "go http"}),
			does(args{"query": "nothing"}),
			does(args{"query": "too often"}),
			does(args{"query": " "}),
			does(args{"query": "go", "freshness": "now"}),
		}},
		"config_edit": {set: permissionFiles, calls: []attempt{
			does(args{"file": "project", "list": "permissions.approve", "entry": "exec(go) args(test *)"}),
			does(args{"file": "user", "list": "network.allow", "entry": "docs.example", "remove": true}),
			does(args{"file": "project", "list": "permissions.approve", "entry": "exec(absent) args(*)", "remove": true}),
			does(args{"file": "project", "list": "permissions.approve", "entry": ""}),
			does(args{"file": "project", "list": "permissions.approve", "entry": "exec("}),
			does(args{"file": "other", "list": "permissions.approve", "entry": "exec(go) args(*)"}),
			{args: args{"file": "user", "list": "permissions.deny", "entry": "exec(rm) args(*)"}, with: func(e *tools.Env) { e.EditConfig = nil }},
		}},
	}
}

func shellCalls() []attempt {
	return []attempt{
		does(args{"command": "grep -c line notes.txt && ls src"}),
		does(args{"command": "pwd | grep -o '[^/]*$'", "working_directory": "src"}),
		does(args{"command": "echo to out; echo to err >&2; exit 3"}),
		does(args{"command": "curl https://example.com/"}),
		does(args{"command": "ls", "working_directory": "../elsewhere"}),
		does(args{"command": ""}),
		does(args{"command": 1}),
		{args: args{"command": "touch f"}, with: func(e *tools.Env) { e.ReadOnly = true }},
		{args: args{"command": "curl http://127.0.0.1/"}, with: func(e *tools.Env) { e.ReadOnly, e.Network = false, true }},
		{args: args{"command": "curl https://other.example/"}, with: func(e *tools.Env) { e.Settings.ShellAllowedHosts = []string{"docs.example"} }},
		{args: args{"command": "seq 1000"}, with: func(e *tools.Env) { e.Settings.OutputMaxBytes = 20 }},
		{args: args{"command": "sleep 300"}, with: func(e *tools.Env) { e.Timeout = 30 * time.Millisecond }},
	}
}

func gitCalls() []attempt {
	return []attempt{
		does(args{"command": "log --oneline"}),
		does(args{"command": "show HEAD:kept.txt | head -1"}),
		does(args{"command": "cat-file -e nothing"}),
		does(args{"command": "fetch origin"}),
		does(args{"command": ""}),
		{args: args{"command": "add -A"}, with: func(e *tools.Env) { e.ReadOnly = true }},
		{args: args{"command": "ls-remote https://10.0.0.1/x.git"}, with: func(e *tools.Env) { e.ReadOnly, e.Network = false, true }},
		{args: args{"command": "--version >/dev/null; sleep 300"}, with: func(e *tools.Env) { e.Timeout = 200 * time.Millisecond }},
	}
}

func writeCalls() []attempt {
	return []attempt{
		does(args{"path": "docs/new.txt", "content": "text\n"}),
		does(args{"path": "docs/new.txt", "content": "more\n", "operation": "append"}),
		does(args{"path": "src", "content": "x"}),
		does(args{"path": "../x", "content": "x"}),
		does(args{"path": "link.txt", "content": "x"}),
		does(args{"path": "", "content": "x"}),
		does(args{"path": "docs/new.txt", "content": "x", "operation": "truncate"}),
		does(args{"path": "docs/new.txt"}),
		{args: args{"path": "docs/new.txt", "content": "x"}, with: func(e *tools.Env) { e.ReadOnly = true }},
	}
}
