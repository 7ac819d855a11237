package permission_test

import (
	"strings"
	"testing"

	"hecate/domain/permission"
)

func TestChangeIsChecked(t *testing.T) {
	for _, x := range []struct {
		change permission.Change
		want   string // part of the error; "" for none
	}{
		{permission.Change{Layer: "user", List: permission.ListDeny, Text: "exec(npm)", Reason: "use\npnpm"}, ""},
		{permission.Change{Layer: "project", List: permission.ListPromoted, Text: "shell_exec(ls *)"}, ""},
		{permission.Change{Layer: "project", List: permission.ListHostPromoted, Text: "Docs.RS"}, ""},
		{permission.Change{Layer: "session", List: permission.ListDeny, Text: "exec"}, `no file of "session"`},
		{permission.Change{Layer: "user", List: "deny", Text: "exec"}, `no list "deny"; lists are permissions.deny, `},
		{permission.Change{Layer: "user", List: permission.ListDeny}, "is empty"},
		{permission.Change{Layer: "user", List: permission.ListDeny, Text: "shell(a\xff)"}, "no UTF-8"},
		{permission.Change{Layer: "user", List: permission.ListDeny, Text: "shell", Reason: "\xff"}, "no UTF-8"},
		{permission.Change{Layer: "user", List: permission.ListDeny, Text: "shell", Reason: strings.Repeat("x", 5000)}, "write at most 4096"},
		{permission.Change{Layer: "user", List: permission.ListDeny, Text: "shell(rm *)"}, "an ordinary character"},
		{permission.Change{Layer: "user", List: permission.ListApprove, Text: "exec(go)"}, "the arguments are missing"},
		{permission.Change{Layer: "user", List: permission.ListApprove, Text: "nonsense"}, `no tool "nonsense"`},
		{permission.Change{Layer: "user", List: permission.ListHostAllow, Text: "*.example"}, "no wildcards"},
		{permission.Change{Layer: "user", List: permission.ListHostDeny, Text: "nonsense/", Remove: true}, ""},
		{permission.Change{Layer: "user", List: "x", Text: "exec", Remove: true}, "no list"},
	} {
		err := x.change.Check()
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %q", x.change, err, x.want)
		}
	}
}

// One entry has many spellings.
func TestChangeKnowsItsEntry(t *testing.T) {
	for _, x := range []struct {
		list, text, other string
		want              bool
	}{
		{permission.ListApprove, "shell(ls)", " shell_exec(ls) ", true},
		{permission.ListApprove, "shell(ls)", "shell(ls )", false},
		{permission.ListApprove, "exec(go) args(*)", "exec", false},
		{permission.ListHostAllow, "docs.rs", "DOCS.rs.:443", true},
		{permission.ListHostAllow, "docs.rs", "docs.rs:8443", false},
		{permission.ListDeny, "shell(rm *)", "shell(rm *)", true}, // neither means anything
		{permission.ListDeny, "shell(rm *)", "shell_exec(rm *)", false},
	} {
		if got := (permission.Change{List: x.list, Text: x.text}).Same(x.other); got != x.want {
			t.Errorf("%s: %q and %q: %t", x.list, x.text, x.other, got)
		}
	}
}

func TestWhatGrants(t *testing.T) {
	for _, list := range permission.Lists() {
		deny := list == permission.ListDeny || list == permission.ListHostDeny
		if (permission.Change{List: list}).Grants() == deny {
			t.Errorf("%s grants: %t", list, !deny)
		}
	}
}
