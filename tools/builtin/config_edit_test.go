package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hecate/domain/permission"
	"hecate/tools"
	"hecate/tools/tooltest"
)

func TestConfigEdit(t *testing.T) {
	w := tooltest.New(t)
	add := args{"file": "project", "list": "permissions.deny", "entry": "exec(npm) args(*)", "reason": "use pnpm"}
	if r := w.Call(tool(t, "config_edit"), add); !r.Error || !strings.Contains(r.Text, "nobody is attached") {
		t.Errorf("%+v", r)
	}
	var got []permission.Change
	var fails error
	w.Env.EditConfig = func(_ context.Context, c permission.Change) (string, error) {
		got = append(got, c)
		return "/p/.hecate/config.toml", fails
	}
	r := w.Call(tool(t, "config_edit"), add)
	if r.Error || r.Text != "status=completed\n\"exec(npm) args(*)\" added to permissions.deny of /p/.hecate/config.toml\nIt counts from the next call on." {
		t.Errorf("%+v", r)
	}
	r = w.Call(tool(t, "config_edit"), args{"file": "user", "list": "network.allow", "entry": "docs.rs", "remove": true})
	if r.Error || !strings.Contains(r.Text, `"docs.rs" removed from network.allow`) {
		t.Errorf("%+v", r)
	}
	if len(got) != 2 || got[0] != (permission.Change{Layer: "project", List: "permissions.deny", Text: "exec(npm) args(*)", Reason: "use pnpm"}) ||
		got[1] != (permission.Change{Layer: "user", List: "network.allow", Text: "docs.rs", Remove: true}) {
		t.Errorf("asked for %+v", got)
	}
	fails = errors.New("the file is read-only")
	if r = w.Call(tool(t, "config_edit"), add); r.Text != "config_edit: the file was not changed: the file is read-only" {
		t.Errorf("%+v", r)
	}
}

// A person sees the whole change before saying yes to it.
func TestConfigEditShowsTheChange(t *testing.T) {
	for _, c := range []struct {
		args      args
		line      string
		complete  bool
		principal string
	}{
		{
			args{"file": "user", "list": "permissions.approve", "entry": "exec(go) args(*)"},
			`config_edit add file=user list=permissions.approve entry="exec(go) args(*)"`, true, "user permissions.approve exec(go) args(*)",
		},
		{
			args{"file": "project", "list": "network.deny", "entry": "a.example", "reason": "x\ny \x1b[2J", "remove": true},
			`config_edit remove file=project list=network.deny entry="a.example" reason="x\ny \u001b[2J"`, true, "project network.deny a.example",
		},
	} {
		raw, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		p, err := tool(t, "config_edit").Prepare(raw)
		if err != nil {
			t.Fatal(err)
		}
		if p.Line != c.line || p.Complete != c.complete || p.Facts(tools.Place{}).Principal != c.principal {
			t.Errorf("%q %t %+v", p.Line, p.Complete, p.Facts(tools.Place{}))
		}
	}
	long, err := json.Marshal(args{"file": "user", "list": "permissions.deny", "entry": "exec(x) args(" + strings.Repeat("y", 5000) + ")"})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := tool(t, "config_edit").Prepare(long); err == nil && p.Complete {
		t.Errorf("a line of %d bytes is complete", len(p.Line))
	}
}

func TestConfigEditRefusesWhatMeansNothing(t *testing.T) {
	for want, a := range map[string]args{
		"entry is required":                       {"file": "user", "list": "permissions.deny", "entry": ""},
		`there is no file of "global"`:            {"file": "global", "list": "permissions.deny", "entry": "exec(x)"},
		`there is no list "permissions.anything"`: {"file": "user", "list": "permissions.anything", "entry": "exec(x)"},
		"hosts have no wildcards":                 {"file": "user", "list": "network.allow", "entry": "*.rs"},
		"config_edit: ":                           {"file": "user", "list": "permissions.approve", "entry": "web_fetch(https://x/*)"},
	} {
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tool(t, "config_edit").Prepare(raw); err == nil || !strings.HasPrefix(err.Error(), "config_edit: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", a, err)
		}
	}
}
