package builtin_test

import (
	"testing"

	"hecate/tools/builtin"
	"hecate/tools/tooltest"
)

// examples are arguments that each tool accepts, and which of them are paths.
var examples = map[string]tooltest.Case{
	"shell_exec":     {Args: args{"command": "echo x", "working_directory": "."}, Paths: []string{"working_directory"}},
	"exec":           {Args: args{"program": "echo", "args": []string{"x"}, "env": args{"A": "b"}, "working_directory": "."}, Paths: []string{"working_directory"}},
	"terminal_open":  {Args: args{"command": "cat", "args": []string{"-u"}, "working_directory": "."}, Paths: []string{"working_directory"}},
	"stat":           {Args: args{"path": "."}, Paths: []string{"path"}, Links: true},
	"blame":          {Args: args{"path": "f", "start_line": 1, "end_line": 2}, Paths: []string{"path"}},
	"web_fetch":      {Args: args{"url": "http://127.0.0.1:1/x", "max_bytes": 10}},
	"http_request":   {Args: args{"url": "http://127.0.0.1:1/x?y", "method": "POST", "headers": args{"Accept": "*/*"}, "body": "b"}},
	"config_edit":    {Args: args{"file": "user", "list": "permissions.deny", "entry": "exec(x) args(*)", "reason": "why", "remove": false}},
	"git_exec":       {Args: args{"command": "--version", "working_directory": "."}, Paths: []string{"working_directory"}},
	"shell":          {Args: args{"command": "echo x", "working_directory": "."}, Paths: []string{"working_directory"}},
	"git":            {Args: args{"command": "--version", "working_directory": "."}, Paths: []string{"working_directory"}},
	"file":           {Args: args{"path": "f", "content": "x", "operation": "write"}, Paths: []string{"path"}},
	"file_write":     {Args: args{"path": "f", "content": "x", "operation": "append"}, Paths: []string{"path"}},
	"file_edit":      {Args: args{"path": "f", "old_text": "a", "new_text": "b", "replace_all": true, "propose": false}, Paths: []string{"path"}},
	"apply_patch":    {Args: args{"patch_text": "*** Begin Patch\n*** Add File: f\n+x\n*** End Patch", "propose": false}},
	"read_file":      {Args: args{"path": "f", "max_bytes": 10, "start_line": 1, "end_line": 2}, Paths: []string{"path"}},
	"list_dir":       {Args: args{"path": "."}, Paths: []string{"path"}},
	"grep":           {Args: args{"pattern": "x", "path": ".", "include": "*", "case_sensitive": true, "max_matches": 5}, Paths: []string{"path"}},
	"glob":           {Args: args{"pattern": "*", "path": ".", "max_matches": 5}, Paths: []string{"path"}},
	"terminal_write": {Args: args{"terminal_id": "terminal_1", "input": "x"}},
	"terminal_read":  {Args: args{"terminal_id": "terminal_1", "max_bytes": 10}},
	"terminal_wait":  {Args: args{"terminal_id": "terminal_1", "timeout_ms": 10}},
	"terminal_kill":  {Args: args{"terminal_id": "terminal_1"}},
	"artifact_read":  {Args: args{"artifact_id": "artifact_1", "max_bytes": 10}},
	"git_status":     {Args: args{}},
	"git_diff":       {Args: args{"path": ".", "staged": true, "max_bytes": 10}},
}

func TestEveryToolConforms(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range every() {
		c, ok := examples[x.Name]
		if !ok {
			t.Errorf("%s has no example", x.Name)
			continue
		}
		if seen[x.Name] {
			t.Errorf("there are two tools %s", x.Name)
		}
		seen[x.Name] = true
		c.Tool = x
		t.Run(x.Name, func(t *testing.T) { tooltest.Conformance(t, c) })
	}
}

// The order of the catalogue is the order in which models see the tools.
func TestCatalogue(t *testing.T) {
	order := []string{
		"exec", "shell_exec", "terminal_open", "terminal_write", "terminal_read", "terminal_wait", "terminal_kill", "git_exec", "file_write", "file_edit", "read_file", "grep", "glob", "artifact_read", "list_dir", "stat",
		"git_status", "git_diff", "blame", "apply_patch", "web_fetch", "http_request", "config_edit",
	}
	at := 0
	for _, x := range builtin.All() {
		for at < len(order) && order[at] != x.Name {
			at++
		}
		if at == len(order) {
			t.Errorf("%s is not in its place", x.Name)
		}
		if x.Direct {
			t.Errorf("%s is offered to models", x.Name)
		}
	}
	for _, x := range builtin.Direct() {
		if !x.Direct {
			t.Errorf("%s is not marked as direct", x.Name)
		}
	}
}
